"""FOR SYSTEM_TIME AS OF the time of a row reads a materialized view by its versions, which are a stream."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.analysis.sql.positions import span_of
from cepsql.catalog.view_store import OLDEST, UNTIL, VERSION, ViewSource, versions_at_rest, view_versions
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.rewriting.temporal_joins import VERSION_AT, temporal_call
from cepsql.plan.joins.as_of_condition import equality, version_condition
from cepsql.plan.tree.markers import join_kind
from cepsql.plan.tree.nodes import Node, Read, sql_over


def view_read(item: exp.Expr, nodes: dict[str, Node]) -> ViewSource | None:
    """Return the materialized view, as a table at rest, that a relation in FROM is; None for another one."""
    node = nodes.get(item.name.lower()) if isinstance(item, exp.Table) else None
    relation = node.relation if isinstance(node, Read) else None
    return relation if isinstance(relation, ViewSource) and not relation.streaming else None


def join_versions(
    left: Sequence[exp.Expr], join: exp.Join, nodes: dict[str, Node], streams: set[str], place: Span
) -> str:
    """Let a join FOR SYSTEM_TIME AS OF read the versions of a view; return the name under which `nodes` has them.

    left:    the relations before it.
    streams: the names of the nodes that are streams; the versions are one if one of them is on the left.
    Raises ProgrammingError for a view without key, and for an ON that does not say which row is meant.
    """
    view = view_read(join.this, nodes)
    assert view is not None
    view_name, where = view.view.name, span_of(join.this, place)
    if not view.view.key:
        raise ProgrammingError(
            f"FOR SYSTEM_TIME AS OF needs view {view_name} to have a key",
            where,
            "CREATE MATERIALIZED VIEW ... PRIMARY KEY (...) names its columns",
        )
    name = next(f"__versions_{n}" for n in range(len(nodes) + 1) if f"__versions_{n}" not in nodes)
    kind = _time_type(join, left, nodes)
    if not any(table.name.lower() in streams for item in left for table in item.find_all(exp.Table)):
        nodes[name] = Read(versions_at_rest(view, kind))
        _join_at_rest(join, name, view, place)
        return name
    streams.add(name)
    nodes[name] = Read(view_versions(view, kind))
    alias = join.this.alias_or_name
    join.set("this", exp.alias_(exp.to_table(name), alias, table=True))
    return name


def _join_at_rest(join: exp.Join, name: str, view: ViewSource, place: Span) -> None:
    """Let a join of a table read the versions of a view, which `nodes` has under a name, by plain conditions."""
    kind = join_kind(join)
    if kind not in ("INNER", "CROSS", "LEFT"):
        raise NotSupportedError(
            f"{kind} JOIN with the version at a time is not supported", place, "JOIN and LEFT JOIN are"
        )
    on, right = conjuncts(join.args["on"]), join.this.alias_or_name
    (call,) = (part for part in on if temporal_call(part) == VERSION_AT)
    time: Any = call.expressions[0].unnest()
    owner, column = (time.table.lower(), time.name) if isinstance(time, exp.Column) else ("", "ts")
    versions = replace(view, name=view.view.name, key=view.view.key)
    asked = version_condition(on, (owner, [column.lower()]), (right.lower(), [VERSION]), versions, place)
    began, ended = exp.column(VERSION, table=right), exp.column(UNTIL, table=right)
    keys = [equality(i in asked.null_safe)(this=a.copy(), expression=b.copy()) for i, (a, b) in enumerate(asked.keys)]
    keys[0].set("this", _kept(keys[0].this, time, exp.column(OLDEST, table=f"{name}_kept"), view.view.name))
    holds = exp.and_(
        exp.LTE(this=began, expression=time.copy()),
        exp.or_(ended.copy().is_(exp.null()), exp.LT(this=time.copy(), expression=ended)),
    )
    # One row, which each row of the left meets, also those that meet no version.
    oldest = exp.alias_(exp.Max(this=exp.column(OLDEST, table=name)), OLDEST)
    select, one = join.parent, exp.select(oldest).from_(exp.to_table(name)).subquery(f"{name}_kept")
    assert select is not None
    joins = select.args["joins"]
    joins.insert(joins.index(join), exp.Join(this=one, kind="CROSS"))
    select.set("joins", joins)
    join.set("this", exp.alias_(exp.to_table(name), right, table=True))
    join.set("on", exp.and_(*keys, holds, *(part.copy() for part in (*asked.own[0], *asked.after))))
    join.set("kind", None if kind == "CROSS" else join.args.get("kind"))


def _kept(key: exp.Expr, time: exp.Expr, oldest: exp.Expr, view: str) -> exp.Expr:
    """Return the key of a row, which raises an error if its time is before all versions that are kept."""
    said = [
        exp.Literal.string(f"view {view} keeps no version as of "),
        exp.cast(time.copy(), "string"),
        exp.Literal.string(": its oldest is of "),
        exp.cast(oldest.copy(), "string"),
    ]
    refused = exp.Anonymous(this="raise_error", expressions=[exp.Concat(expressions=said)])
    return exp.If(this=exp.LT(this=time.copy(), expression=oldest), true=refused, false=key)


def _time_type(join: exp.Join, left: Sequence[exp.Expr], nodes: dict[str, Node]) -> str:
    """Return the type of the time that the join names, if it is one of times without zone, else TIMESTAMP."""
    (call,) = (part for part in conjuncts(join.args["on"]) if temporal_call(part) == VERSION_AT)
    time: Any = call.expressions[0].unnest()
    item = next((one for one in left if one.alias_or_name.lower() == getattr(time, "table", "").lower()), None)
    if item is None:
        return "timestamp"
    query = exp.select("*").from_(item.copy())
    columns = sql_over(query, nodes).properties.columns
    kind = next((column.type for column in columns if column.name.lower() == time.name.lower()), "timestamp")
    return kind if kind.lower() == "timestamp_ntz" else "timestamp"
