"""FOR SYSTEM_TIME AS OF the time of a row reads a materialized view by its versions, which are a stream."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.analysis.sql.positions import span_of
from cepsql.catalog.view_store import ViewSource, view_versions
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.temporal_joins import VERSION_AT, temporal_call
from cepsql.plan.tree.nodes import Node, Read, Sql
from cepsql.plan.tree.rows_below import read_nodes


def view_read(item: exp.Expr, nodes: dict[str, Node]) -> ViewSource | None:
    """Return the materialized view, as a table at rest, that a relation in FROM is; None for another one."""
    node = nodes.get(item.name.lower()) if isinstance(item, exp.Table) else None
    relation = node.relation if isinstance(node, Read) else None
    return relation if isinstance(relation, ViewSource) and not relation.streaming else None


def join_versions(
    left: Sequence[exp.Expr], join: exp.Join, nodes: dict[str, Node], streams: Collection[str], place: Span
) -> str:
    """Let a join FOR SYSTEM_TIME AS OF read the versions of a view; return the name under which `nodes` has them.

    left:    the relations before it.
    streams: the names of the nodes that are streams.
    Raises ProgrammingError for a view without key, NotSupportedError for a join with a table at rest.
    """
    view = view_read(join.this, nodes)
    assert view is not None
    spoken, where = view.view.name, span_of(join.this, place)
    if not any(table.name.lower() in streams for item in left for table in item.find_all(exp.Table)):
        raise NotSupportedError(
            f"a join of a table with the versions of view {spoken} is not supported",
            where,
            f"replay the table as a stream, or read one version: {spoken} FOR SYSTEM_TIME AS OF TIMESTAMP '...'",
        )
    if not view.view.key:
        raise ProgrammingError(
            f"FOR SYSTEM_TIME AS OF needs view {spoken} to have a key",
            where,
            "CREATE MATERIALIZED VIEW ... PRIMARY KEY (...) names its columns",
        )
    name = next(f"__versions_{n}" for n in range(len(nodes) + 1) if f"__versions_{n}" not in nodes)
    nodes[name] = Read(view_versions(view, _time_type(join, left, nodes)))
    alias = join.this.alias_or_name
    join.set("this", exp.alias_(exp.to_table(name), alias, table=True))
    return name


def _time_type(join: exp.Join, left: Sequence[exp.Expr], nodes: dict[str, Node]) -> str:
    """Return the type of the time that the join names, if it is one of times without zone, else TIMESTAMP."""
    (call,) = (part for part in conjuncts(join.args["on"]) if temporal_call(part) == VERSION_AT)
    time: Any = call.expressions[0].unnest()
    item = next((one for one in left if one.alias_or_name.lower() == getattr(time, "table", "").lower()), None)
    if item is None:
        return "timestamp"
    query = exp.select("*").from_(item.copy())
    columns = Sql(query, read_nodes(query, nodes)).properties.columns
    found = next((column.type for column in columns if column.name.lower() == time.name.lower()), "timestamp")
    return found if found.lower() == "timestamp_ntz" else "timestamp"
