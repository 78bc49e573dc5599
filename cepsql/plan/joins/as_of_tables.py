"""ASOF JOIN with a bounded table becomes a plain join: each of its rows is the nearest one for a range of times."""

import re

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import conjuncts
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import ORIGIN, PLACE
from cepsql.analysis.sql.resolve import catalog_tables, flat_name, table_name
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.rewriting.temporal_joins import AS_OF, VERSION_AT, temporal_call
from cepsql.plan.joins.as_of_condition import (
    NO_VERSIONS,
    AsOfCondition,
    as_of_condition,
    compared_columns,
    equality,
    refuse_hidden,
)
from cepsql.plan.joins.as_of_lists import find_in_lists
from cepsql.plan.joins.view_versions import join_versions, view_read
from cepsql.plan.names.hidden_column import carry_column
from cepsql.plan.tree.arrival_order import keeps_arrival
from cepsql.plan.tree.join_order import relations
from cepsql.plan.tree.markers import join_kind
from cepsql.plan.tree.nodes import Node, Read, Sql, sql_over

_PROCESSING_TIME = re.compile(r"\s*(?:proctime|now|current_timestamp)\s*\(\s*\)\s*|current_timestamp", re.IGNORECASE)
"""An expression that is the time at which a row is processed."""

_EDGE, _TIME = "__edge", "__time"
_NESTED = ("array", "map", "struct", "variant", "unknown")


def join_tables_as_of(below: Sql, place: Span) -> Sql:
    """Return plain SQL without an ASOF JOIN whose right side is a bounded table.

    Raises ProgrammingError and NotSupportedError for conditions that do not say which row is the nearest.
    """
    if not any(temporal_call(call) for call in below.query.find_all(exp.Anonymous)):
        return below
    query, nodes = below.inlined.qualified.copy(), {flat_name(name): node for name, node in below.inputs.items()}
    streams = {name for name, node in nodes.items() if node.properties.streaming}
    changed = False
    # The innermost first: what is rewritten is put into another place.
    for select in reversed(list(query.find_all(exp.Select))):
        for number, join in enumerate(select.args.get("joins") or []):
            parts = conjuncts(join.args.get("on"))
            refuse_hidden(join.args.get("on"), parts, span_of(join, place) or place)
            calls = [temporal_call(part) for part in parts]
            if not any(calls) or _reads(join.this, streams):
                if any(calls) and not any(_reads(item, streams) for item in relations(select)[: number + 1]):
                    raise NotSupportedError(
                        "a join of a table with the nearest row of a stream is not supported",
                        span_of(join, place),
                        "replay the table as a stream, or put the stream first",
                    )
                continue
            if VERSION_AT in calls and _is_lookup(select, parts, nodes):
                rest = [part for part in parts if temporal_call(part) is None]
                join.set("on", exp.and_(*(part.copy() for part in rest)) if rest else None)
                changed = True
                continue
            if VERSION_AT in calls and view_read(join.this, nodes) is not None:
                left = relations(select)[: number + 1]
                join_versions(left, join, nodes, streams, span_of(join, place) or place)
                changed = True
                continue
            if VERSION_AT in calls:
                raise ProgrammingError(
                    NO_VERSIONS,
                    span_of(join.this, place),
                    "a plain JOIN reads a table as it is now, ASOF JOIN finds its nearest row",
                )
            _rewrite(select, join, nodes, span_of(join, place) or place)
            changed = True
    return sql_over(query, nodes, below.view) if changed else below


def _is_lookup(select: exp.Select, parts: list[exp.Expr], nodes: dict[str, Node]) -> bool:
    """Tell whether FOR SYSTEM_TIME AS OF names the time at which rows are processed: a table is read as it is then."""
    (call,) = (part for part in parts if temporal_call(part) == VERSION_AT)
    time = call.expressions[0]
    if isinstance(time, exp.Column):
        for item in relations(select):
            node = nodes.get(item.name.lower()) if isinstance(item, exp.Table) else None
            if item.alias_or_name.lower() == time.table.lower() and isinstance(node, Read):
                computed = {column.name.lower(): column.expression for column in node.relation.columns}
                return bool(_PROCESSING_TIME.fullmatch(computed.get(time.name.lower()) or ""))
        return False
    return bool(_PROCESSING_TIME.fullmatch(time.sql()))


def _reads(item: exp.Expr, streams: set[str]) -> bool:
    return any(table.name.lower() in streams for table in item.find_all(exp.Table))


def _rewrite(select: exp.Select, join: exp.Join, nodes: dict[str, Node], place: Span) -> None:
    kind, right = join_kind(join), join.this.alias_or_name.lower()
    if kind not in ("INNER", "CROSS", "LEFT"):
        raise NotSupportedError(f"{kind} JOIN with the nearest row is not supported", place, "JOIN and LEFT JOIN are")
    on = conjuncts(join.args["on"])
    (call,) = (part for part in on if temporal_call(part) == AS_OF)
    compared = list(call.find_all(exp.Column)) or compared_columns(on, right)
    left = next((column for column in compared if column.table.lower() != right), None)
    other = next((column for column in compared if column.table.lower() == right), None)
    # Without a stream any column may be the time; two of them are compared.
    sides = [
        (name, [column.name.lower()] if column is not None else ["ts"])
        for name, column in ((left.table.lower() if left is not None else "the other", left), (right, other))
    ]
    condition = as_of_condition(on, sides[0], sides[1], place)
    assert left is not None
    if any(part not in condition.apart for part in condition.further):
        find_in_lists(select, join, condition, left, nodes, place)
        return
    inner = exp.select("*").from_(join.this.copy())
    rows = sql_over(inner, nodes).properties
    names = [
        c.name for c in rows.columns if not c.type.lower().startswith(_NESTED) and c.name.lower() != _last(condition)
    ]
    time = exp.column(_last(condition), table=right)
    order = [time, *(exp.column(name, table=right, quoted=True) for name in names)]
    edge = exp.Anonymous(this="lag" if condition.forward else "lead", expressions=[time.copy()])
    window = exp.Window(
        this=edge,
        partition_by=[one.copy() for _, one in condition.keys],
        order=exp.Order(expressions=[exp.Ordered(this=column, nulls_first=True) for column in order]),
    )
    inner = inner.select(exp.alias_(window, _EDGE)).where(time.copy().is_(exp.null()).not_())
    for part in condition.own[1]:
        inner = inner.where(part.copy())
    join.set("this", inner.subquery(right))
    join.set("on", exp.and_(*(part.copy() for part in _met(condition, left, right))))
    join.set("kind", None)


def with_places(query: exp.Query) -> exp.Query:
    """Return a query in which rows of one time of the tables that ASOF JOIN reads come in the order of arrival.

    Such tables must then have the columns ORIGIN and PLACE. The query itself is returned if there are none.
    """
    if not any(alias.alias == _EDGE for alias in query.find_all(exp.Alias)):
        return query
    copy = query.copy()
    for edge in [alias for alias in copy.find_all(exp.Alias) if alias.alias == _EDGE]:
        inner = edge.parent
        assert isinstance(inner, exp.Select)
        edge.pop()
        tables = catalog_tables(inner)
        if len(tables) == 1 and keeps_arrival(inner):
            time, *rest = edge.this.args["order"].expressions
            places = [exp.Ordered(this=exp.column(n, table=time.this.table), nulls_first=True) for n in (ORIGIN, PLACE)]
            edge.this.args["order"].set("expressions", [time, *places, *rest])
            for name in (ORIGIN, PLACE):
                inner.set("from_", carry_column(inner, table_name(tables[0]), name).args["from_"])
        inner.append("expressions", edge)
    return copy


def _met(condition: AsOfCondition, left: exp.Column, right: str) -> list[exp.Expr]:
    """Return what holds of a row of the left and the nearest one of the right."""
    time, edge = exp.column(_last(condition), table=right), exp.column(_EDGE, table=right)
    beyond = exp.LT if condition.strict else exp.LTE
    within = exp.LTE if condition.strict else exp.LT
    if condition.forward:
        near, far = beyond(this=left, expression=time), within(this=edge, expression=left)
    else:
        near, far = beyond(this=time, expression=left), within(this=left, expression=edge)
    safe = condition.null_safe
    keys = [equality(i in safe)(this=one, expression=other) for i, (one, other) in enumerate(condition.keys)]
    return [
        *keys,
        *condition.own[0],
        *condition.apart,
        near,
        exp.paren(exp.or_(far.copy(), edge.copy().is_(exp.null()))),
    ]


def _last(condition: AsOfCondition) -> str:
    return condition.times[1]
