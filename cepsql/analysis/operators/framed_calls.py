"""Window functions over some rows or some time around a row, as far as an operator computes them itself."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.operators.frames import EVERY_ROW, bounds_of, row_count
from cepsql.analysis.operators.over import Frames, is_whole
from cepsql.analysis.operators.running_calls import OF_COLUMNS
from cepsql.analysis.sql.intervals import interval_micros
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import Error
from cepsql.operators.framed import FramedCall

_DAY = 86_400_000_000
OF_FRAMES: dict[type[exp.Expr], str] = {
    **OF_COLUMNS,
    exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp", exp.VariancePop: "var_pop",
}  # fmt: skip
"""What an operator computes of the values of a frame, by what calls it."""


def framed_calls(frames: Frames) -> tuple[FramedCall, ...] | None:
    """Return what an operator computes for calls whose frames do not hold all rows so far; None where it cannot for
    each of them: where only Spark knows the function, what it reads is no column, or the calendar says where its frame
    begins."""
    if is_whole(frames.time, frames.keys) or frames.reach.before == EVERY_ROW:
        return None
    found = []
    for call in frames.calls:
        try:
            framed = _framed(frames, call.column.name, call.call)
        except Error:
            return None
        if framed is None:
            return None
        found.append(framed)
    return tuple(found)


def _framed(frames: Frames, name: str, call: exp.Window) -> FramedCall | None:
    function, ignore = call.this, False
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls):
        ignore |= isinstance(function, exp.IgnoreNulls)
        function = function.this
    names = {column.name.lower(): f"v{i}" for i, column in enumerate(frames.columns)}
    if isinstance(function, exp.Lag | exp.Lead):
        return None if ignore else _neighbour(name, function, names.get)
    kind, argument = OF_FRAMES.get(type(function)), function.this
    bounds = _bounds(frames, call)
    if kind is None or bounds is None or function.args.get("expressions"):
        return None
    if kind == "count" and (argument is None or isinstance(argument, exp.Star | exp.Literal)):
        return FramedCall(name, kind, None, *bounds)
    column = _column(argument, names.get)
    return None if column is None else FramedCall(name, kind, column, *bounds, ignore)


def _neighbour(name: str, function: exp.Lag | exp.Lead, known: Callable[[str], str | None]) -> FramedCall | None:
    column, offset = _column(function.this, known), function.args.get("offset") or exp.Literal.number(1)
    if column is None or function.args.get("default") is not None:
        return None
    ahead = row_count(offset, span_of(function)) * (1 if isinstance(function, exp.Lead) else -1)
    return FramedCall(name, "row", column, ahead, ahead)


def _column(argument: exp.Expr | None, known: Callable[[str], str | None]) -> str | None:
    return known(argument.name.lower()) if isinstance(argument, exp.Column) else None


def _bounds(frames: Frames, call: exp.Window) -> tuple[int, int, bool] | None:
    """Return where a frame begins and ends, and whether by time; None where that is not told by rows or a length."""
    kind, start, end = bounds_of(call)
    if start is None or end is None:
        return None
    if kind == "ROWS":
        first, last = (direction * row_count(value, span_of(call)) for direction, value in (start, end))
        return first, last, False
    if kind != "RANGE" or len(frames.order) > 1:
        return None
    time = next(column.type.lower() for column in frames.columns if column.name == frames.time)
    if not time.startswith("timestamp"):
        return None
    first, last = (0 if not direction else direction * interval_micros(value) for direction, value in (start, end))
    if max(abs(first), abs(last)) >= _DAY and not time.startswith("timestamp_ntz"):
        # Spark adds days by the session's calendar.
        return None
    return first, last, True
