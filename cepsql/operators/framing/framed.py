"""Window functions over the rows around a row: totals, extremes and single rows of frames that slide."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.operators.framing.excluded_rows import Exclusion, without
from cepsql.operators.framing.frame_rows import EMITTED, FrameRows
from cepsql.operators.framing.spans import Spans
from cepsql.operators.running import as_decimals, mean_of, nearest_doubles, unscaled
from cepsql.operators.time_ranges import TimeRanges
from cepsql.ordered.operator import OrderedRows
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import integers, take_rows
from cepsql.ordered.sorting import by_time

FRAMED_FUNCTIONS = (
    "count", "sum", "avg", "min", "max", "first", "last", "row", "stddev_samp", "stddev_pop", "var_samp", "var_pop",
)  # fmt: skip
"""What a `FramedCall` may compute; "row" is the value of the only row of its frame."""

_SAFE = 2**62


@dataclass(frozen=True)
class FramedCall:
    """One function of the rows of a frame.

    name:         of the output column.
    function:     one of FRAMED_FUNCTIONS.
    column:       the column that it reads; None for "count" of rows.
    first, last:  where the frame begins and ends, after the row, or before it where they are negative; None: it begins
                  with the partition.
    times:        they are microseconds of event time, and all rows of one time are in the frame or none; else rows.
    groups:       they are groups of rows that are equal in the order.
    excluded:     what the frame leaves out.
    ignore_nulls: `first` and `last` pass over NULL, as all others do anyway.
    """

    name: str
    function: str
    column: str | None
    first: int | None
    last: int
    times: bool = False
    groups: bool = False
    excluded: Exclusion | None = None
    ignore_nulls: bool = False


@dataclass(frozen=True)
class Framed(FrameRows):
    """Emits each row once, when its frames are complete, with the values of functions over them and without its key.

    Its state is that of `FrameRows`. Values are Spark's to the last bit: sums of floats are added in the order of the
    rows, from the first row of each frame.

    calls: the functions; their frames lie within the reach of the operator.
    types: the type of each call's output column.
    wraps: sums of integers beyond BIGINT wrap around; otherwise they raise OperationalError.
    """

    calls: tuple[FramedCall, ...] = ()
    types: tuple[pa.DataType, ...] = ()
    wraps: bool = True

    def _output(self, ordered: OrderedRows, ranges: TimeRanges, first: np.ndarray, decided: np.ndarray) -> pa.Table:
        sizes = decided - first
        if not sizes.any():
            return pa.table({})
        fresh = np.arange(sizes.sum()) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
        output = take_rows(ordered.rows.drop_columns([EMITTED, *self.layout.key_names]), fresh)
        frames: dict[tuple, Spans] = {}
        for call, kind in zip(self.calls, self.types, strict=True):
            reach = call.first, call.last, call.times, call.groups, call.excluded
            if reach not in frames:
                frames[reach] = _frames(call, ordered, ranges, fresh)
            column = None if call.column is None else ordered.rows[call.column].chunk(0)
            output = output.append_column(call.name, frame_value(call, kind, frames[reach], column, self.wraps))
        return by_time(output, "t")


def frame_value(call: FramedCall, kind: pa.DataType, frames: Spans, column: pa.Array | None, wraps: bool) -> pa.Array:
    """Return the value of a function of the rows of each frame.

    kind:   its type.
    column: what it reads, of all rows; None for the number of rows.
    wraps:  as of `Framed`.
    """
    if column is None:
        return pa.array(frames.sizes).cast(kind)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    place = None
    match call.function:
        case "row" | "first" | "last":
            place = frames.end(valid if call.ignore_nulls else None, last=call.function == "last")
        case "min" | "max":
            order = ordinals(column, equal_zeros=True)
            place = frames.least(~order if call.function == "max" else order, valid)
    if place is not None:
        return column.take(pa.array(np.maximum(place, 0), mask=place < 0)).cast(kind)
    count = frames.counts(valid)
    match call.function:
        case "count":
            return pa.array(count).cast(kind)
        case "sum" | "avg":
            return _total(call, kind, frames, column, count, wraps)
    return _moment(call.function, frames.moments(nearest_doubles(column), valid), count).cast(kind)


def _total(
    call: FramedCall, kind: pa.DataType, frames: Spans, column: pa.Array, count: np.ndarray, wraps: bool
) -> pa.Array:
    none = count == 0
    if pa.types.is_decimal(column.type):
        total = as_decimals(frames.differences(unscaled(column)), pa.decimal128(38, column.type.scale))
        value = total if call.function == "sum" else mean_of(total, count, kind)
    elif pa.types.is_integer(column.type) and call.function == "sum":
        value = pa.array(_integers(call, frames, integers(column.fill_null(0)).astype(np.int64), wraps))
    else:
        sums = frames.sums(nearest_doubles(column), pa.types.is_integer(column.type))
        value = pa.array(sums if call.function == "sum" else sums / np.maximum(count, 1))
    return _without(value, none).cast(kind)


def _integers(call: FramedCall, frames: Spans, numbers: np.ndarray, wraps: bool) -> np.ndarray:
    if not wraps and frames.differences(np.abs(numbers.astype(np.float64))).max(initial=0) > _SAFE:
        greatest = frames.greatest_sum(numbers.astype(object))
        if greatest >= 2**63:
            raise OperationalError(
                f"{call.function.upper()} of a frame outgrows its type BIGINT", hint="CAST its argument to DOUBLE"
            )
    return frames.differences(numbers)


def _frames(call: FramedCall, ordered: OrderedRows, ranges: TimeRanges, rows: np.ndarray) -> Spans:
    """Return the frames of these rows."""
    frames = Spans(*_bounds(call, ordered, ranges, rows))
    if call.excluded is None:
        return frames
    return without(frames, call.excluded, rows, Spans(ranges.group_starts(rows, 0), ranges.group_starts(rows, 1)))


def _bounds(
    call: FramedCall, ordered: OrderedRows, ranges: TimeRanges, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the frames of these rows begin and end."""
    partition = ranges.partition[rows]
    starts, ends = ordered.starts[partition], ordered.starts[partition + 1]
    if call.groups:
        begins = starts if call.first is None else np.maximum(ranges.group_starts(rows, call.first), starts)
        return begins, np.clip(ranges.group_starts(rows, call.last + 1), starts, ends)
    if call.times:
        times = ranges.times[rows]
        ends = ranges.first_after(partition, times + call.last) if call.last else ranges.end_alike[rows]
        if call.first is None:
            return starts, ends
        begins = ranges.first_from(partition, times + call.first) if call.first else ranges.first_alike[rows]
        return begins, ends
    begins = starts if call.first is None else np.clip(rows + call.first, starts, ends)
    return begins, np.clip(rows + call.last + 1, starts, ends)


def _moment(function: str, squares: np.ndarray, count: np.ndarray) -> pa.Array:
    sample = function.endswith("samp")
    value = squares / np.maximum(count - sample, 1)
    return _without(pa.array(np.sqrt(value) if function.startswith("stddev") else value), count <= sample)


def _without(values: pa.Array, chosen: np.ndarray) -> pa.Array:
    """Return values with NULL where chosen."""
    if not chosen.any():
        return values
    return values.take(pa.array(np.arange(len(values)), mask=chosen))
