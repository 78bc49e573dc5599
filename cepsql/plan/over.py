"""Window functions over a stream, SELECT ... agg(x) OVER (...), become an ordered operator."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.frames import reach_of
from cepsql.analysis.over import plan_over
from cepsql.analysis.plain_sql import sql_of
from cepsql.analysis.positions import span_of
from cepsql.analysis.resolve import flat_name, resolve, table_name
from cepsql.analysis.running_calls import with_plain_argument
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.plan.markers import inline_ctes
from cepsql.plan.nodes import Node, Over, Sql
from cepsql.plan.reader import Reader
from cepsql.plan.rows_below import AROUND, RowsBelow, read_nodes, spoken_type

Checked = Callable[[Reader, Sql, str], Sql]
"""Returns the input of an operator as it can be read in order, or raises what is wrong with it."""


def hoist_over(below: Sql, checked: Checked, place: Span) -> Sql:
    """Return plain SQL in which each SELECT with window functions over a stream reads an operator that computes them.

    Raises NotSupportedError and ProgrammingError for calls whose frames cannot be told on a stream.
    """
    if below.query.find(exp.Window) is None or not below.resolved.streaming:
        return below
    resolved = resolve(inline_ctes(below.query), lambda table: below.inputs[table_name(table)].properties)
    query, nodes = resolved.qualified, {flat_name(name): node for name, node in below.inputs.items()}
    found = False
    while (select := _windowed(query, nodes)) is not None:
        found = True
        outer = _hoisted(select, nodes, checked, span_of(select, place) or place, select is query)
        if select is query:
            query = outer
        else:
            select.replace(outer)
    return Sql(query, read_nodes(query, nodes), below.view) if found else below


@dataclass(frozen=True)
class _Calls:
    """The window functions that go over the rows of a SELECT, as a reader of these rows."""

    order_by: tuple[exp.Ordered, ...]
    span: Span


def _windowed(query: exp.Query, nodes: Mapping[str, Node]) -> exp.Select | None:
    """Return an innermost SELECT with window functions of its own that reads a stream."""
    found = [
        select
        for select in query.find_all(exp.Select)
        if _calls(select) and any(node.properties.streaming for node in read_nodes(select, nodes).values())
    ]
    return found[-1] if found else None


def _calls(select: exp.Select) -> list[exp.Window]:
    """Return the window functions of a SELECT's own, each once."""
    parts = [*select.expressions, *([select.args["qualify"]] if select.args.get("qualify") else [])]
    calls = [call for part in parts for call in part.find_all(exp.Window) if call.find_ancestor(exp.Query) is select]
    return list(dict.fromkeys(call for call in calls if call.find_ancestor(exp.Window) is None))


def _hoisted(select: exp.Select, nodes: dict[str, Node], checked: Checked, place: Span, whole: bool) -> exp.Select:
    """Return a SELECT over the operators of its window functions, which are new entries of `nodes`."""
    calls, columns = _calls(select), RowsBelow()
    _refuse(select, calls, place)
    alone = {call: _with_own_window(call, select, columns, place) for call in calls}
    groups: dict[tuple, list[exp.Window]] = {}
    # Rows that wait for other rows have no event time that another operator could go by: they come last.
    for call in sorted(calls, key=lambda call: bool(reach_of(alone[call], "", place).after)):
        groups.setdefault(_rows_of(alone[call], place), []).append(call)
    given = {call: f"__w{number}" for number, call in enumerate(calls)}
    last = f"__over_{len(nodes) + len(groups) - 1}"
    outer = _outer(select, columns, given, last, whole)
    inner = columns.select(select)
    rows = Sql(inner, read_nodes(inner, nodes))
    for group in groups.values():
        name = f"__over_{len(nodes)}"
        order = alone[group[0]].args.get("order")
        reader = _Calls(tuple(order.expressions) if order else (), span_of(group[0], place) or place)
        rows = checked(reader, rows, "OVER")
        found = rows.properties
        asked = [(given[call], spoken_type(call), alone[call]) for call in group]
        nodes[name] = Over(plan_over(name, found.columns, found.watermark, asked, reader.span), (rows,))
        rows = Sql(exp.select("*").from_(exp.to_table(name)), {name: nodes[name]})
    return outer


def _refuse(select: exp.Select, calls: Sequence[exp.Window], place: Span) -> None:
    aggregate = next((a for a in select.find_all(exp.AggFunc) if _outside(a, select)), None)
    if select.args.get("group") is not None or select.args.get("having") is not None or aggregate is not None:
        raise NotSupportedError(
            "OVER beside GROUP BY or an aggregate on a stream is not supported",
            span_of(calls[0], place),
            "aggregate in a subquery, and write OVER around it",
        )
    for part in (*select.expressions, select.args.get("qualify")):
        if part is not None and part.find(exp.Query) is not None:
            raise NotSupportedError("a subquery beside OVER on a stream is not supported", span_of(part, place))


def _outside(node: exp.Expr, select: exp.Select) -> bool:
    return node.find_ancestor(exp.Query) is select and node.find_ancestor(exp.Window) is None


def _with_own_window(call: exp.Window, select: exp.Select, columns: RowsBelow, place: Span) -> exp.Window:
    """Return a call over columns of the operator's rows, with what a named window says in its OVER."""
    copy = call.copy()
    named = call.args.get("alias")
    while named is not None:
        found = (w for w in select.args.get("windows") or [] if w.name.lower() == named.name.lower())
        window = next(found, None)
        if window is None:
            raise ProgrammingError(f"there is no window {named.name}", span_of(named, span_of(call)))
        for part in ("partition_by", "order", "spec"):
            if not copy.args.get(part) and window.args.get(part):
                value = window.args[part]
                copy.set(part, [one.copy() for one in value] if isinstance(value, list) else value.copy())
        named = window.args.get("alias")
    copy.set("alias", None)
    keys = [columns.take(key) for key in copy.args.get("partition_by") or []]
    order = [_taken(item, columns) for item in copy.args["order"].expressions] if copy.args.get("order") else []
    copy.set("partition_by", None)
    copy.set("order", None)
    if reach_of(copy, "", place).before is None:
        whole: exp.Expr = with_plain_argument(copy, columns.take, place)
    else:
        whole = columns.replace_in(copy)
    assert isinstance(whole, exp.Window)
    whole.set("partition_by", keys)
    whole.set("order", exp.Order(expressions=order) if order else None)
    return whole


def _taken(item: exp.Expr, columns: RowsBelow) -> exp.Expr:
    copy = item.copy()
    copy.set("this", columns.take(item.this))
    return copy


def _rows_of(call: exp.Window, place: Span) -> tuple:
    """Return what calls have in common that go over the same rows in the same order."""
    order = call.args.get("order")
    keys = frozenset(key.name for key in call.args.get("partition_by") or [])
    running = reach_of(call, "", place).before is None
    return running, keys, tuple(sql_of(item) for item in order.expressions) if order else ()


def _outer(
    select: exp.Select, columns: RowsBelow, given: Mapping[exp.Window, str], table: str, whole: bool
) -> exp.Select:
    """Return the SELECT over the rows of the last operator."""

    def over(part: exp.Expr) -> exp.Expr:
        computed = part.copy().transform(
            lambda node: exp.column(given[node], table=table) if isinstance(node, exp.Window) else node
        )
        return columns.replace_in(computed, table)

    named = [_named(item) if whole else item for item in select.expressions]
    outer = exp.select(*(over(item) for item in named)).from_(exp.to_table(table))
    if select.args.get("qualify") is not None:
        outer.set("where", exp.Where(this=over(select.args["qualify"].this)))
    for part in AROUND:
        if select.args.get(part) is not None:
            outer.set(part, select.args[part].copy())
    return outer


def _named(item: exp.Expr) -> exp.Expr:
    """Return an item of the outermost SELECT; one without a name gets that of its text."""
    if not re.fullmatch(r"_col_\d+", item.alias):
        return item
    plain = item.unalias().copy()
    for column in plain.find_all(exp.Column):
        column.set("table", None)
    return exp.alias_(item.unalias().copy(), sql_of(plain), quoted=True)
