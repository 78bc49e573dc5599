"""What is asked of window functions over a stream: calls with OVER of one PARTITION BY and one ORDER BY."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.operators.frames import RANKS, Reach, reach_of
from cepsql.analysis.operators.running_calls import running_call, whole_reach
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import order_hint
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import ProgrammingError, Span
from cepsql.language.bloom_filters import is_seen
from cepsql.language.tokens import quoted
from cepsql.operators.running import RunningCall
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout


@dataclass(frozen=True)
class FrameCall:
    """A call of a window function.

    column: the column with what it gives; its type is "unknown" where only Spark can tell.
    call:   the call over columns of the input, with OVER and all that belongs to it.
    reach:  how far its frame reaches.
    """

    column: ColumnDefinition
    call: exp.Window
    reach: Reach


@dataclass(frozen=True)
class Frames:
    """Window functions over rows with an event time.

    name:    the placeholder table in the query around it.
    columns: of the rows, which come out with the columns of the calls behind them.
    keys:    PARTITION BY: names of columns.
    time:    the column with the event time.
    order:   ORDER BY: names of columns with their direction, the event time first.
    layout:  the columns that travel; the values v0, v1, ... are `columns`.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[str, ...]
    time: str
    order: tuple[exp.Ordered, ...]
    calls: tuple[FrameCall, ...]
    layout: RowLayout

    @property
    def running(self) -> bool:
        """Whether the frames hold all rows of the key so far; else none of them does."""
        return self.reach.before is None

    @property
    def running_calls(self) -> tuple[RunningCall, ...]:
        """What an operator computes that goes on from batch to batch; of running frames."""
        names = {column.name.lower(): f"v{i}" for i, column in enumerate(self.columns)}
        return tuple(running_call(call.column.name, call.call, lambda n: names[n.lower()]) for call in self.calls)

    @property
    def reach(self) -> Reach:
        """Return which rows all frames together hold."""
        found = Reach()
        for call in self.calls:
            found |= call.reach
        return found


def plan_over(
    name: str,
    columns: tuple[ColumnDefinition, ...],
    watermark: Watermark | None,
    calls: Sequence[tuple[str, str, exp.Window]],
    place: Span,
    others: Sequence[Watermark] = (),
) -> Frames:
    """Plan calls over a stream with these columns and this event time.

    watermark: the event time; of a table what `time_of_order` gives.
    calls: the name and the type of each call's column, and the call; its PARTITION BY, which all have in common, and
           its ORDER BY, too, hold columns only.
    others: further event times by which the rows could be followed.
    All rows with the same event time come out together: a partition by it is whole, and takes any frame and order.
    Raises ProgrammingError and NotSupportedError, with positions.
    """
    first = calls[0][2]
    keys = tuple(key.name for key in first.args.get("partition_by") or [])
    order = tuple(first.args["order"].expressions) if first.args.get("order") else ()
    seen = any(is_seen(call.this) for _, _, call in calls)
    if watermark is not None and is_whole(watermark.column, keys) and not seen:
        time, later = watermark.column, order
        frames = tuple(FrameCall(ColumnDefinition(n, t), call, Reach()) for n, t, call in calls)
    else:
        ranks = any(isinstance(call.this, RANKS) for _, _, call in calls)
        time, later = _check_order(order, watermark, others, place, ranks), order[1:]
        kind = next(column.type.lower() for column in columns if column.name == time)
        reaches = [whole_reach(call, reach_of(call, kind, place)) for _, _, call in calls]
        frames = tuple(
            FrameCall(ColumnDefinition(n, t), call, reach) for (n, t, call), reach in zip(calls, reaches, strict=True)
        )
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(key)) for i, key in enumerate(keys)),
        Column("t", quoted(time)),
        tuple(
            OrderColumn(f"o{i}", quoted(o.this.name), bool(o.args.get("desc")), bool(o.args.get("nulls_first")))
            for i, o in enumerate(later)
        ),
        tuple(Column(f"v{i}", quoted(column.name)) for i, column in enumerate(columns)),
        by_arrival=True,
    )
    return Frames(name, columns, keys, time, order, frames, layout)


def time_of_order(call: exp.Window, columns: Sequence[ColumnDefinition]) -> Watermark | None:
    """Return the first column of the order of a call over a table, if it is a time."""
    order = call.args.get("order")
    name = order.expressions[0].this.name.lower() if order is not None else None
    times = (c.name for c in columns if c.name.lower() == name and c.type.lower().startswith("timestamp"))
    return next((Watermark(time, 0) for time in times), None)


def is_whole(time: str, keys: Sequence[str]) -> bool:
    """Tell whether partitions with these keys are whole as soon as their rows come out: if the event time is a key."""
    return time.lower() in (key.lower() for key in keys)


def _check_order(
    order: Sequence[exp.Ordered],
    watermark: Watermark | None,
    others: Sequence[Watermark],
    place: Span,
    ranks: bool,
) -> str:
    """Return the column with the event time, by which the rows must be in order; `ranks`: a call ranks them."""
    hint = "ORDER BY the event time of the stream: the column that WATERMARK FOR names in CREATE STREAM, unchanged"
    if watermark is not None and others:
        hint = order_hint((watermark, *others))
    if not order:
        raise ProgrammingError("OVER on a stream needs ORDER BY", place, hint)
    if ranks:
        hint = f"EMIT CHANGES at the end of the query gives ranks that later rows change; or {hint}"
    if watermark is None or order[0].this.name.lower() != watermark.column.lower():
        raise ProgrammingError(
            "on a stream the ORDER BY of OVER must begin with the event time", span_of(order[0], place), hint
        )
    if order[0].args.get("desc"):
        raise ProgrammingError("on a stream the event time must be in ascending order", span_of(order[0], place), hint)
    return watermark.column
