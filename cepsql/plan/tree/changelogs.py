"""Which streams are read as tables that change, and what cannot stand over them."""

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.analysis.sql.resolve import table_name
from cepsql.catalog import Source
from cepsql.errors import NotSupportedError, Span
from cepsql.language.rewriting.temporal_joins import temporal_call
from cepsql.plan.tree.nodes import Node, Read, Sql


def is_changelog(node: Node) -> bool:
    """Tell whether a node is a stream with a PRIMARY KEY, whose rows are changes of a table."""
    return isinstance(node, Read) and isinstance(node.relation, Source) and bool(node.relation.key)


def changelog_read(root: Sql) -> str | None:
    """Return a stream with a PRIMARY KEY that a query reads, itself or in a view, as a table that changes.

    What FOR SYSTEM_TIME AS OF and ASOF JOIN read is none: they look at single changes.
    """
    for node in _read_rows(root):
        name = node.relation.name if is_changelog(node) and isinstance(node, Read) else None
        name = changelog_read(node) if isinstance(node, Sql) else name
        if name is not None:
            return name
    return None


def emitted_read(root: Sql) -> bool:
    """Tell whether a query reads a subquery with EMIT whose rows change, itself or in a view."""
    read = [node for node in root.inputs.values() if isinstance(node, Sql)]
    return any(node.properties.changes or emitted_read(node) for node in read)


def refuse_changelog(root: Sql, reader: str | None, place: Span | None) -> None:
    """Raise NotSupportedError for a query over a table that changes, whose changes would be taken for rows.

    reader: what reads the rows of the query, None if nothing does.
    """
    name = changelog_read(root)
    if name is None:
        if emitted_read(root):
            raise _refused_emission(reader, place)
        return
    again = f"define a stream without PRIMARY KEY over the source of {name}: its rows are the changes, as events"
    if reader is not None:
        raise NotSupportedError(f"{reader} over {name}, a table that changes, is not supported", place, again)
    raise NotSupportedError(
        f"{name} has a PRIMARY KEY: it is a table that changes, and so is the result of a query over it",
        place,
        f"end the query with EMIT CHANGES; or {again}",
    )


def _refused_emission(reader: str | None, place: Span | None) -> NotSupportedError:
    hint = "without EMIT in the subquery its windows come out once, when they are complete"
    if reader is not None:
        return NotSupportedError(f"{reader} over windows with EMIT, whose rows change, is not supported", place, hint)
    said = "a subquery with EMIT gives rows that change, and so does a query over it"
    return NotSupportedError(said, place, f"end the query with EMIT CHANGES; or {hint}")


def _read_rows(root: Sql) -> list[Node]:
    """Return what a query reads, but for the right sides of joins with the nearest row or a version."""
    versions = {
        id(join.this)
        for join in root.query.find_all(exp.Join)
        if any(temporal_call(part) for part in conjuncts(join.args.get("on")))
    }
    return [root.inputs[table_name(t)] for t in root.tables if id(t) not in versions]
