"""GROUP BY with a window of event time over a stream, below an ordered operator, becomes an ordered operator itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.aggregate_calls import aggregate_call
from cepsql.analysis.positions import span_of
from cepsql.analysis.window_groups import plan_window, plan_window_groups
from cepsql.catalog import ColumnDefinition
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span
from cepsql.operators.windows import END, START
from cepsql.plan.nodes import Node, Sql, WindowAggregate
from cepsql.plan.over import Checked
from cepsql.plan.reader import Reader
from cepsql.plan.rows_below import AROUND, RowsBelow, hoist_selects, read_nodes, spoken_type

_WINDOWS = ("WINDOW", "SESSION_WINDOW")


def hoist_window_groups(below: Sql, reader: Reader, checked: Checked) -> Sql:
    """Return plain SQL in which each SELECT with windows of a stream in GROUP BY reads an operator with the groups,
    also in the views that it reads.

    reader:  what reads the rows: of the two bounds of a window they are followed by the one that it orders by.
    Raises NotSupportedError and ProgrammingError for groups that no operator makes.
    """
    views = {name: node for name, node in below.inputs.items() if isinstance(node, Sql)}
    hoisted = {name: hoist_window_groups(view, reader, checked) for name, view in views.items()}
    if any(hoisted[name] is not view for name, view in views.items()):
        below = replace(below, inputs={**below.inputs, **hoisted})
    if below.query.find(exp.Group) is None or not below.resolved.streaming:
        return below
    names = [item.this.name.lower() for item in reader.order_by]
    found: list[Sql] = []
    refused: list[Error] = []
    for given in (END, START):
        try:
            query = hoist_selects(below, _is_windowed, partial(_hoisted, given, checked), reader.span)
        except Error as error:
            refused.append(error)
            continue
        if query is below or (query.properties.watermark is not None and _time(query) in names):
            return query
        found.append(query)
    if not found:
        raise refused[0]
    return next((query for query in found if query.properties.watermark is not None), found[0])


def _time(query: Sql) -> str:
    return query.properties.event_time.column.lower()


@dataclass(frozen=True)
class _Rows:
    """The groups as a reader of their rows."""

    order_by: tuple[exp.Ordered, ...]
    span: Span


def _is_windowed(select: exp.Select) -> bool:
    return _window_key(select) is not None


def _window_key(select: exp.Select) -> exp.Anonymous | None:
    """Return the call of a window in GROUP BY."""
    group = select.args.get("group")
    keys = group.expressions if group is not None else []
    return next((call for call in map(_window_call, keys) if call is not None), None)


def _window_call(node: exp.Expr) -> exp.Anonymous | None:
    """Return the window that an expression is, or of which it is a bound."""
    node = node.unnest()
    if isinstance(node, exp.Dot):
        node = node.this.unnest()
    if isinstance(node, exp.Anonymous) and node.name.upper() in _WINDOWS and len(node.expressions) > 1:
        return node
    return None


def _is_bound(node: exp.Expr) -> bool:
    """Tell whether an expression is a bound of the window in GROUP BY, such as window.end."""
    return isinstance(node, exp.Column) and node.table.upper() in _WINDOWS and node.name.lower() in ("start", "end")


def _hoisted(
    given: str, checked: Checked, select: exp.Select, nodes: dict[str, Node], place: Span, whole: bool
) -> exp.Select:
    """Return a SELECT over the groups, which are a new entry of `nodes`."""
    call = _window_key(select)
    assert call is not None
    place = span_of(call, place) or place
    _refuse(select, place)
    columns, window = RowsBelow(frozenset({START, END})), plan_window(call, place)
    time = columns.take(call.expressions[0])
    keys = [key for key in select.args["group"].expressions if _window_call(key) is None and not _is_bound(key)]
    names = {key: columns.take(key).name for key in keys}
    calls = _aggregates(select)
    aggregates = [
        (ColumnDefinition(f"__a{i}", spoken_type(one)), columns.replace_in(one)) for i, one in enumerate(calls)
    ]
    name = f"__groups_{len(nodes)}"
    given_names = names | {one: column.name for one, (column, _) in zip(calls, aggregates, strict=True)}
    inner = columns.select(select)
    order = exp.Ordered(this=time.copy(), nulls_first=True)
    rows = checked(_Rows((order,), place), Sql(inner, read_nodes(inner, nodes)), "GROUP BY")
    found = rows.properties
    if found.watermark is None or found.watermark.column.lower() != time.name.lower():
        raise ProgrammingError(
            "windows of a stream must be of its event time",
            span_of(call.expressions[0], place),
            "window(ts, '1 minute') of the column that WATERMARK FOR says in CREATE STREAM, as it is",
        )
    if not found.event_time_type.lower().startswith("timestamp"):
        raise NotSupportedError(
            f"windows of a stream by a {found.event_time_type.upper()} are not supported",
            span_of(call.expressions[0], place),
            "declare a computed column, such as at TIMESTAMP AS CAST(... AS TIMESTAMP), with the watermark",
        )
    groups = plan_window_groups(name, found.columns, found.watermark, list(names.values()), window, aggregates, given)
    nodes[name] = WindowAggregate(groups, (rows,))
    return _outer(select, given_names, call, name)


def _refuse(select: exp.Select, place: Span) -> None:
    group = select.args["group"]
    if group.args.get("all") or group.find(exp.Cube, exp.Rollup, exp.GroupingSets):
        raise NotSupportedError(
            "GROUPING SETS, CUBE, ROLLUP and ALL beside a window over a stream are not supported here", place
        )
    for part in (*select.expressions, select.args.get("having")):
        if part is not None and part.find(exp.Query) is not None:
            raise NotSupportedError("a subquery beside a window over a stream is not supported", span_of(part, place))
    if any(part.find(exp.Window) for part in select.expressions):
        raise NotSupportedError(
            "OVER beside GROUP BY on a stream is not supported", place, "aggregate in a subquery, and write OVER around"
        )


def _aggregates(select: exp.Select) -> list[exp.Expr]:
    """Return the aggregates of a SELECT's own, each once."""
    found: dict[exp.Expr, None] = {}

    def gather(node: exp.Expr) -> None:
        if aggregate_call(node) is not None or isinstance(node.unnest(), exp.First | exp.Last):
            found[node] = None
            return
        for child in node.iter_expressions():
            gather(child)

    for part in (*select.expressions, select.args.get("having")):
        if part is not None:
            gather(part)
    return list(found)


def _outer(
    select: exp.Select,
    names: Mapping[exp.Expr, str],
    call: exp.Expr,
    table: str,
) -> exp.Select:
    """Return the SELECT over the groups: keys, bounds and aggregates are columns."""
    bounds = {"start": START, "end": END}

    def taken(node: exp.Expr) -> exp.Expr:
        if node in names:
            return exp.column(names[node], table=table)
        if isinstance(node, exp.Dot) and node.this.unnest() == call and node.expression.name.lower() in bounds:
            return exp.column(bounds[node.expression.name.lower()], table=table)
        if _is_bound(node):
            return exp.column(bounds[node.name.lower()], table=table)
        if node == call:
            parts = [exp.Literal.string("start"), exp.column(START, table=table)]
            return exp.func("named_struct", *parts, exp.Literal.string("end"), exp.column(END, table=table))
        if isinstance(node, exp.Column) and node.table != table and not isinstance(node.this, exp.Star):
            raise ProgrammingError(
                f"{node.name} is neither in GROUP BY nor in an aggregate", span_of(node), "add it to GROUP BY"
            )
        return node

    outer = exp.select(*(item.copy().transform(taken) for item in select.expressions)).from_(exp.to_table(table))
    if select.args.get("having") is not None:
        outer.set("where", exp.Where(this=select.args["having"].this.copy().transform(taken)))
    for part in AROUND:
        if select.args.get(part) is not None:
            outer.set(part, select.args[part].copy())
    return outer
