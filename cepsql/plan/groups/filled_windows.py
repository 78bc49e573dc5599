"""FILL after WINDOW TUMBLING (...): the SELECT that groups these windows reads an operator that adds rows."""

from collections.abc import Mapping
from functools import partial

from sqlglot import exp

from cepsql.analysis.clauses.assigned_window_calls import HOPPING, TUMBLING
from cepsql.analysis.clauses.fill_clause import HIDDEN_END, calendar_grid, plan_fill, value_fillers, windows_filled
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.operators.windowing.fill import Filler, FillKind
from cepsql.operators.windowing.windows import END, START, TIME
from cepsql.plan.groups.assigned_windows import read_windows
from cepsql.plan.operators.fill import Fill
from cepsql.plan.rows.top_rows import place_of_selected
from cepsql.plan.rows.window_functions import named_item, window_calls
from cepsql.plan.tree.nodes import Node, RowWindows, Sql, sql_over
from cepsql.plan.tree.reader import Checked, RowsInOrder
from cepsql.plan.tree.rows_below import hoist_selects

_BOUNDS = {START: FillKind.START, END: FillKind.END, TIME: FillKind.TIME}


def hoist_fill(below: Sql, checked: Checked, place: Span) -> Sql:
    """Return plain SQL in which each SELECT that groups windows with FILL reads an operator that fills gaps.

    Raises NotSupportedError and ProgrammingError for groups that cannot be filled.
    """
    if not any(isinstance(node, Sql) and _asks(node.windows) for node in below.inputs.values()):
        return below

    def wanted(select: exp.Select, nodes: Mapping[str, Node]) -> bool:
        windows = read_windows(select, nodes)
        return windows is not None and _asks(windows[1])

    return hoist_selects(below, wanted, partial(_hoisted, checked), place, of_streams=False)


def _asks(windows: RowWindows | None) -> bool:
    return windows is not None and windows.assigned.fill is not None


def _hoisted(checked: Checked, select: exp.Select, nodes: dict[str, Node], place: Span, whole: bool) -> exp.Select:
    """Return a SELECT over the filled groups, which are a new entry of `nodes`."""
    windows = read_windows(select, nodes)
    assert windows is not None and windows[1].assigned.fill is not None
    table, assigned = windows[0].alias_or_name.lower(), windows[1].assigned
    clause = windows[1].assigned.fill
    assert clause is not None
    if assigned.kind not in (TUMBLING, HOPPING):
        raise NotSupportedError(
            "FILL of windows of other kinds than TUMBLING and HOPPING is not supported",
            clause.span,
            "WINDOW TUMBLING (SIZE 1 DAY) FILL (...)",
        )
    _refuse(select, clause.span)
    written = select.expressions
    inner = select.copy()
    order, limit = inner.args.pop("order", None), inner.args.pop("limit", None)
    inner.set("expressions", [named_item(item).copy() if whole else item.copy() for item in written])
    names = [item.alias_or_name for item in inner.expressions]
    kinds: dict[str, Filler] = {}
    keys = []
    for number, key in enumerate(select.args["group"].expressions):
        if _bound(key, table) is not None:
            continue
        at = place_of_selected(key, written)
        name = f"__k{number}" if at is None else names[at]
        if at is None:
            inner.append("expressions", exp.alias_(key.copy(), name, quoted=True))
        keys.append(name)
        kinds[name] = Filler(FillKind.KEY)
    for item, name in zip(written, names, strict=True):
        bound = _bound(item.unalias(), table)
        if bound is not None:
            kinds[name] = Filler(bound)
    time = next((name for name, filler in kinds.items() if filler.kind == FillKind.END), None)
    if time is None:
        time, end = HIDDEN_END, exp.column(END, table=table)
        inner.append("expressions", exp.alias_(end, time, quoted=True))
        if all(_bound(key, table) != FillKind.END for key in inner.args["group"].expressions):
            inner.args["group"].append("expressions", end.copy())
        kinds[time] = Filler(FillKind.END)
    kinds |= value_fillers(clause, [name for name in names if name not in kinds])
    for item in inner.expressions:
        if kinds[item.alias_or_name].kind == FillKind.LINEAR:
            item.set("this", exp.cast(item.this.copy(), "double"))
    rows = sql_over(inner, nodes)
    if rows.resolved.streaming:
        by_end = exp.Ordered(this=exp.column(exp.to_identifier(time, quoted=True)), nulls_first=True)
        rows = checked(RowsInOrder((by_end,), place), rows, "FILL")
    name = f"__filled_{len(nodes)}"
    lengths = assigned.size.longest, assigned.step.longest, windows_filled(clause, assigned.step)
    grid = calendar_grid(assigned)
    nodes[name] = Fill(plan_fill(name, rows.properties.columns, keys, time, kinds, lengths, grid), (rows,))
    columns = [exp.alias_(exp.column(exp.to_identifier(n, quoted=True), table=name), n, quoted=True) for n in names]
    outer = exp.select(*columns).from_(exp.to_table(name))
    outer.set("limit", limit)
    if order is not None:
        outer.set("order", exp.Order(expressions=[_ordered(item, written, names, place) for item in order.expressions]))
    return outer


def _refuse(select: exp.Select, place: Span) -> None:
    group = select.args.get("group")
    if group is None:
        raise ProgrammingError(
            "FILL needs the groups of its windows", place, "GROUP BY window_start, window_end, with keys beside them"
        )
    if group.args.get("all") or group.find(exp.Cube, exp.Rollup, exp.GroupingSets):
        raise NotSupportedError("FILL beside GROUP BY ALL and grouping sets is not supported", place, "name the keys")
    around = next((part for part in ("having", "qualify", "distinct") if select.args.get(part)), None)
    if around is not None or window_calls(select):
        clause_name = "OVER" if around is None else around.upper()
        raise NotSupportedError(
            f"{clause_name} beside FILL is not supported",
            span_of(select.args[around], place) if around is not None else place,
            "write it around: SELECT ... FROM (SELECT ... FILL (...) GROUP BY ...)",
        )


def _bound(expression: exp.Expr, table: str) -> FillKind | None:
    """Return which bound of the windows of a table an expression is, None if it is none."""
    if not isinstance(expression, exp.Column) or expression.table.lower() != table:
        return None
    return _BOUNDS.get(expression.name.lower())


def _ordered(item: exp.Expr, written: list[exp.Expr], names: list[str], place: Span) -> exp.Expr:
    """Return an item of ORDER BY that names a column of the result."""
    place_of_item = place_of_selected(item.this, written)
    if place_of_item is None:
        raise NotSupportedError("ORDER BY beside FILL goes by columns of the result", span_of(item, place), "select it")
    copy = item.copy()
    copy.set("this", exp.column(exp.to_identifier(names[place_of_item], quoted=True)))
    return copy
