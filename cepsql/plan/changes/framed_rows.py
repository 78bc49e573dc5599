"""SELECTs with window functions over a table that changes: what they ask of the operator that computes them."""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.clauses.frame_reach import (
    OF_ALL_ROWS,
    RANKS,
    bounds_of,
    call_name,
    check_order,
    exclusion,
    row_count,
)
from cepsql.analysis.clauses.framed_calls import OF_FRAMES
from cepsql.analysis.row_pattern.aggregate_calls import (
    AggregateCall,
    aggregate_call,
    called_function,
    is_group_aggregate,
)
from cepsql.analysis.sql.constant_intervals import interval_micros, interval_months
from cepsql.analysis.sql.plain_sql import relation, spoken_type, sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.catalog import ColumnDefinition
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.plan.changes.aggregate_parts import where
from cepsql.plan.changes.composed_aggregates import OF_VALUES, composed_aggregate, constant_fraction
from cepsql.plan.operators.retracting_frames import FrameEnd, FrameEnds, PlannedWindow, RetractingFrames
from cepsql.plan.rows.window_functions import named_item, refuse_nested, window_calls, with_own_window
from cepsql.plan.tree.nodes import Sql
from cepsql.plan.tree.rows_below import RowsBelow

_OF_ORDER: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist", exp.Ntile: "ntile",
}  # fmt: skip
_AROUND = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
_CHOOSING = ("first", "last", "nth")
_WHOLE = FrameEnds("rows", None, None)
_SO_FAR = FrameEnds("range", None, (0, None))


def framed_select(
    select: exp.Select, name: str, changes: Callable[[exp.Select], Sql], place: Span
) -> tuple[RetractingFrames, exp.Select]:
    """Return the operator for the window functions of a SELECT that go over its rows in one order, and the SELECT over
    it, which may have others.

    name:    what that calls the operator.
    changes: makes the node of a SELECT that gives changes.
    Raises NotSupportedError and ProgrammingError for functions and frames that cannot be computed, and for what cannot
    stand beside.
    """
    select = with_composed(select, place)
    calls = window_calls(select)
    refuse_nested(calls, place)
    own = {call: with_own_window(call, select) for call in calls}
    asked = [call for call in calls if same_rows(own[call]) == same_rows(own[calls[0]])]
    columns = RowsBelow(frozenset({OPERATION, IDENTITY, CHANGE}))
    keys, order = columns.rows_of(own[calls[0]])
    results: dict[exp.Expr, str] = {}
    planned = []
    for number, call in enumerate(asked):
        results[call] = f"__w{number}_{name}"
        column = ColumnDefinition(results[call], spoken_type(call))
        planned.append(replace(planned_window(own[call], columns, place), column=column))

    def computed(node: exp.Expr) -> exp.Expr:
        return exp.column(results[node], table=name) if node in results else node

    def over(part: exp.Expr) -> exp.Expr:
        return columns.replace_in(part.copy().transform(computed), name)

    outer = exp.select(*(over(named_item(item)) for item in select.expressions)).from_(relation(name))
    if select.args.get("distinct"):
        outer.set("distinct", select.args["distinct"].copy())
    if select.args.get("windows"):
        outer.set("windows", [over(window) for window in select.args["windows"]])
    if select.args.get("qualify"):
        condition = over(select.args["qualify"].this)
        further = len(asked) < len(calls)
        outer.set("qualify" if further else "where", (exp.Qualify if further else exp.Where)(this=condition))
    if not window_calls(outer):
        outer.set("windows", None)
    used = dict.fromkeys(column.name for column in outer.find_all(exp.Column, bfs=False))
    rows = changes(columns.select(select))
    shown = tuple(one for one in used if one not in results.values())
    return RetractingFrames(name, (rows,), tuple(key.name for key in keys), tuple(order), tuple(planned), shown), outer


def with_groups_below(select: exp.Select, name: Callable[[str], str]) -> exp.Select:
    """Return a SELECT with window functions over the groups of a subquery; the same one if it has not both.

    name: returns a new name for a relation.
    """
    if not window_calls(select):
        return select
    grouped = select.args.get("group") is not None or select.args.get("having") is not None
    if not grouped and not any(map(_plain_aggregates, (*select.expressions, select.args.get("qualify")))):
        return select
    keys = list(select.args["group"].expressions) if select.args.get("group") else []
    table, columns = name("__grouped"), dict[exp.Expr, str]()

    def over(node: exp.Expr, inside: bool) -> exp.Expr:
        """Return a part of the SELECT over the groups; `inside`: it is the function of a call with OVER."""
        if node in keys or (not inside and _is_aggregate(node)):
            new_name = columns.setdefault(node.copy(), f"__g{len(columns)}")
            return exp.column(new_name, table=table, quoted=True)
        if isinstance(node, exp.Query):
            return node
        for key, value in list(node.args.items()):
            function = isinstance(node, exp.Window) or (inside and isinstance(node, _AROUND))
            if isinstance(value, exp.Expr):
                node.set(key, over(value, function and key == "this"))
            elif isinstance(value, list):
                node.set(key, [over(one, False) if isinstance(one, exp.Expr) else one for one in value])
        return node

    items = [exp.alias_(item.unalias().copy(), item.alias_or_name, quoted=True) for item in select.expressions]
    outer = exp.select(*(over(item, False) for item in items))
    for clause in ("qualify", "distinct"):
        if select.args.get(clause):
            outer.set(clause, over(select.args[clause].copy(), False))
    if select.args.get("windows"):
        outer.set("windows", [over(window.copy(), False) for window in select.args["windows"]])
    inner = select.copy()
    for clause in ("qualify", "distinct", "windows"):
        inner.set(clause, None)
    made = [exp.alias_(value.copy(), column, quoted=True) for value, column in columns.items()]
    inner.set("expressions", made or [exp.alias_(exp.Literal.number(1), "__one")])
    return outer.from_(inner.subquery(table))


def _is_aggregate(node: exp.Expr) -> bool:
    of_order = (*RANKS, *OF_ALL_ROWS, exp.Lag, exp.Lead)
    return not isinstance(called_function(node), of_order) and is_group_aggregate(node)


def _plain_aggregates(part: exp.Expr | None) -> bool:
    """Tell whether a part of a SELECT has an aggregate of its own that is no window function."""
    if part is None or isinstance(part, exp.Query):
        return False
    if isinstance(part, exp.Window):
        inner = called_function(part.this).iter_expressions()
        others = [part.args.get("order"), *(part.args.get("partition_by") or [])]
        return any(map(_plain_aggregates, (*inner, *others)))
    return _is_aggregate(part) or any(map(_plain_aggregates, part.iter_expressions()))


def same_rows(call: exp.Window) -> tuple[frozenset[exp.Expr], tuple[exp.Expr, ...]]:
    """Return what calls have in common that go over the same rows in the same order."""
    order = call.args.get("order")
    return frozenset(call.args.get("partition_by") or []), tuple(order.expressions if order else ())


def with_composed(
    select: exp.Select, place: Span, chosen: Callable[[exp.Window], bool] = lambda call: True
) -> exp.Select:
    """Return a SELECT whose chosen window functions are those that the operator knows, and expressions over them."""
    made: dict[exp.Expr, exp.Expr] = {}
    for call in filter(chosen, window_calls(select)):
        function = called_function(call.this)
        native = type(function) in (*OF_FRAMES, *_OF_ORDER, exp.Lag, exp.Lead, exp.NthValue, exp.CountIf)
        if native and not _count_of_several(call.this):
            continue
        composed = composed_aggregate(call.this, place)
        if composed is None:
            continue

        def windowed(node: exp.Expr, call: exp.Window = call) -> exp.Expr:
            if aggregate_call(node) is None or (node.parent is not None and aggregate_call(node.parent) is not None):
                return node
            window = call.copy()
            window.set("this", node.copy())
            return window

        made[call] = exp.paren(composed.transform(_listed_count).transform(windowed))
    if not made:
        return select
    copy = select.copy()
    copy.set("expressions", [item.transform(lambda node: made.get(node, node)) for item in copy.expressions])
    if copy.args.get("qualify"):
        copy.set("qualify", copy.args["qualify"].transform(lambda node: made.get(node, node)))
    return copy


def _listed_count(node: exp.Expr) -> exp.Expr:
    """Return the number of different values as that of the list of these, which frames know."""
    if not isinstance(node, exp.Count) or not isinstance(node.this, exp.Distinct):
        return node
    return exp.cast(exp.func("size", exp.ArrayAgg(this=node.this.copy())), "bigint")


def _count_of_several(call: exp.Expr) -> bool:
    taken = aggregate_call(call)
    return taken is not None and len(taken.arguments) > 1


def planned_window(call: exp.Window, columns: RowsBelow, place: Span) -> PlannedWindow:
    """Return what the operator computes for a call, without the name of its column."""
    place = span_of(call, place) or place
    function, text = called_function(call.this), sql_of(without_tables(call))
    nothing = ColumnDefinition("", "unknown")
    ignores = call.this.find(exp.IgnoreNulls) is not None
    if type(function) in _OF_ORDER or isinstance(function, exp.Lag | exp.Lead):
        if not call.args.get("order"):
            raise ProgrammingError(f"{call_name(call)} needs ORDER BY", place, "OVER (... ORDER BY x)")
        if call.args.get("spec"):
            raise NotSupportedError(f"a frame of {call_name(call)} is not supported", place, "leave the frame out")
    if type(function) in _OF_ORDER:
        number = row_count(function.this, place) if isinstance(function, exp.Ntile) else 1
        if number < 1:
            raise ProgrammingError("NTILE needs a number of parts, at least 1", place)
        return PlannedWindow(nothing, text, _OF_ORDER[type(function)], None, _WHOLE, number)
    if isinstance(function, exp.Lag | exp.Lead):
        offset, default = function.args.get("offset"), function.args.get("default")
        number = 1 if offset is None else row_count(offset, place)
        return PlannedWindow(
            nothing, text, "neighbour", columns.take(function.this).name, _WHOLE,
            number if isinstance(function, exp.Lead) else -number,
            None if default is None or isinstance(default, exp.Null) else columns.take(default).name, ignores,
        )  # fmt: skip
    taken = (
        AggregateCall(function, "FIRST") if isinstance(function, exp.First | exp.Last) else aggregate_call(call.this)
    )
    frame = _frame(call, place)
    if isinstance(function, exp.NthValue):
        number = row_count(function.args["offset"], place)
        return PlannedWindow(nothing, text, "nth", columns.take(function.this).name, frame, number, None, ignores)
    kind = OF_FRAMES.get(type(function))
    if isinstance(function, exp.CountIf) and taken is not None:
        argument = where(taken.filter, where(function.this, exp.Literal.number(1)))
        return PlannedWindow(nothing, text, "count", columns.take(argument).name, frame)
    if taken is not None:
        kind = kind or OF_VALUES.get(taken.name)
    if (
        taken is None
        or kind is None
        or taken.order is not None
        or (taken.distinct and kind not in ("list", "min", "max"))
    ):
        raise NotSupportedError(
            f"the window function {sql_of(without_tables(call.this))} over a table that changes is not supported",
            place,
            "aggregates without DISTINCT, LAG, LEAD, NTH_VALUE and ranks are",
        )
    arguments, fraction = list(taken.arguments), None
    if kind == "percentile" and len(arguments) == 2:
        fraction = constant_fraction(arguments.pop())
    argument = next(iter(arguments), exp.Star())
    incomplete = kind == "percentile" and fraction is None
    if incomplete or len(arguments) > 1 or (kind in _CHOOSING and taken.filter is not None):
        raise NotSupportedError(
            f"the window function {sql_of(without_tables(call.this))} over a table that changes is not supported",
            place,
            "PERCENTILE(x, 0.95): the share is a constant from 0 to 1" if incomplete else None,
        )
    if kind == "count" and isinstance(argument, exp.Star | exp.Literal) and taken.filter is None:
        return PlannedWindow(nothing, text, "count", None, frame)
    argument = exp.Literal.number(1) if isinstance(argument, exp.Star) else argument
    column = columns.take(where(taken.filter, argument)).name
    return PlannedWindow(nothing, text, kind, column, frame, 1, None, ignores, taken.distinct, fraction)


def _frame(call: exp.Window, place: Span) -> FrameEnds:
    """Return the frame of a call."""
    spec = call.args.get("spec")
    if spec is None:
        return _SO_FAR if call.args.get("order") else _WHOLE
    kind, start, end = bounds_of(call)
    order = call.args["order"].expressions if call.args.get("order") else []
    sides = str(spec.args.get("start_side") or "").upper(), str(spec.args.get("end_side") or "").upper()
    if (start is None and sides[0] == "FOLLOWING") or (end is None and sides[1] == "PRECEDING"):
        raise ProgrammingError("the frame of OVER ends before it begins", place, "the earlier bound comes first")
    ends = list[FrameEnd | None]()
    for bound in (start, end):
        if bound is None or bound[0] == 0:
            ends.append(None if bound is None else (0, None))
        elif kind == "RANGE":
            if len(order) != 1:
                raise ProgrammingError(
                    "RANGE with a distance needs one column in ORDER BY", place, "ROWS and GROUPS take any order"
                )
            _check_distance(bound[1], place)
            ends.append((bound[0], bound[1]))
        else:
            ends.append((bound[0] * row_count(bound[1], place), None))
    if kind != "RANGE":
        first, last = (None if one is None else int(one[0]) for one in ends)
        check_order(start, end, first, last, place)
    if kind == "GROUPS" and not order:
        raise ProgrammingError("GROUPS needs ORDER BY", place)
    return FrameEnds(kind.lower(), ends[0], ends[1], exclusion(call))


def _check_distance(distance: exp.Expr, place: Span) -> None:
    """Refuse an interval that is less than zero, or has months among other parts."""
    place, length = span_of(distance, place) or place, distance.unnest()
    months = interval_months(length) if isinstance(length, exp.Interval) else None
    if months is not None and months >= 0:
        return
    if isinstance(length, exp.Interval | exp.Neg) and length.find(exp.Interval) and interval_micros(length, place) < 0:
        raise ProgrammingError("the distance of a frame's bound must not be negative", place)
