"""Window functions over some rows or some time around a row, as far as an operator computes them itself."""

from collections.abc import Callable
from functools import partial

from sqlglot import exp

from cepsql.analysis.clauses.frame_reach import EVERY_ROW, bounds_of, exclusion, row_count
from cepsql.analysis.clauses.over_calls import Frames, is_whole
from cepsql.analysis.clauses.running_calls import OF_COLUMNS
from cepsql.analysis.sql.constant_intervals import interval_micros
from cepsql.analysis.sql.positions import span_of
from cepsql.base.calendar import DAY
from cepsql.errors import Error, NotSupportedError, Span, answer
from cepsql.operators.framing.excluded_rows import Exclusion
from cepsql.operators.framing.framed import FramedCall

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
    if is_whole(frames.time, frames.keys) or (frames.reach.before == EVERY_ROW and not excludes(frames)):
        return None
    calls_framed = []
    for call in frames.calls:
        framed = answer(partial(_framed, frames, call.column.name, call.call))
        if framed is None or isinstance(framed, Error):
            return None
        calls_framed.append(framed)
    return tuple(calls_framed)


def excludes(frames: Frames) -> bool:
    """Tell whether frames leave rows out, which Spark does not know."""
    return any(exclusion(call.call) is not None for call in frames.calls)


def check_excluding(frames: Frames, place: Span) -> None:
    """Raise NotSupportedError for frames that leave rows out, and that no operator computes."""
    if excludes(frames) and framed_calls(frames) is None:
        raise refused_exclusion(place)


def refused_exclusion(place: Span | None = None) -> NotSupportedError:
    """Return why a frame that leaves rows out is not computed over a stream."""
    return NotSupportedError(
        "EXCLUDE in this frame over a stream is not supported",
        place,
        "COUNT, SUM, AVG, MIN, MAX, FIRST_VALUE, LAST_VALUE, STDDEV and VARIANCE of a column take it, in frames of "
        "ROWS, GROUPS, and RANGE of less than a day",
    )


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


def _neighbour(name: str, function: exp.Lag | exp.Lead, type_of: Callable[[str], str | None]) -> FramedCall | None:
    column, offset = _column(function.this, type_of), function.args.get("offset") or exp.Literal.number(1)
    if column is None or function.args.get("default") is not None:
        return None
    ahead = row_count(offset, span_of(function)) * (1 if isinstance(function, exp.Lead) else -1)
    return FramedCall(name, "row", column, ahead, ahead)


def _column(argument: exp.Expr | None, type_of: Callable[[str], str | None]) -> str | None:
    return type_of(argument.name.lower()) if isinstance(argument, exp.Column) else None


def _bounds(frames: Frames, call: exp.Window) -> tuple[int | None, int, bool, bool, Exclusion | None] | None:
    """Return where a frame begins and ends, whether by time, whether by groups, and what it leaves out; None where that
    is not told by rows or a length."""
    kind, start, end = bounds_of(call)
    excluded = exclusion(call)
    if end is None or (excluded is None and (start is None or kind == "GROUPS")):
        return None
    if kind in ("ROWS", "GROUPS"):
        first, last = (None if one is None else one[0] * row_count(one[1], span_of(call)) for one in (start, end))
        return first, last or 0, False, kind == "GROUPS", excluded
    if kind != "RANGE":
        return None
    lengths = [one for one in (start, end) if one is not None and one[0]]
    if len(frames.order) > 1 and (lengths or excluded is None):
        return None
    if len(frames.order) > 1:
        # Up to the rows that are equal to the row.
        return None if start is None else 0, 0, False, True, excluded
    time = next(column.type.lower() for column in frames.columns if column.name == frames.time)
    if not time.startswith("timestamp"):
        return None
    first, last = (
        None if one is None else 0 if not one[0] else one[0] * interval_micros(one[1]) for one in (start, end)
    )
    if max(abs(first or 0), abs(last or 0)) >= DAY and not time.startswith("timestamp_ntz"):
        # Spark adds days by the session's calendar.
        return None
    return first, last or 0, True, False, excluded
