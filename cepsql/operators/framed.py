"""Window functions over the rows around a row: totals, extremes and single rows of frames that slide."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.operators.frame_rows import GIVEN, FrameRows
from cepsql.operators.running import as_decimals, mean_of, nearest_doubles, unscaled
from cepsql.operators.time_ranges import TimeRanges
from cepsql.ordered.columns import integers, take_rows
from cepsql.ordered.operator import OrderedRows
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.sort import by_time

FRAMED_FUNCTIONS = (
    "count", "sum", "avg", "min", "max", "first", "last", "row", "stddev_samp", "stddev_pop", "var_samp", "var_pop",
)  # fmt: skip
"""What a `FramedCall` may compute; "row" is the value of the only row of its frame."""

_EXACT = 2**53
_BEGIN_COST = 1000
"""What a call of NumPy costs, in numbers added."""

_SAFE = 2**62


@dataclass(frozen=True)
class FramedCall:
    """One function of the rows of a frame.

    name:         of the output column.
    function:     one of FRAMED_FUNCTIONS.
    column:       the column that it reads; None for "count" of rows.
    first, last:  where the frame begins and ends, after the row, or before it where they are negative.
    times:        they are microseconds of event time, and all rows of one time are in the frame or none; else rows.
    ignore_nulls: `first` and `last` pass over NULL, as all others do anyway.
    """

    name: str
    function: str
    column: str | None
    first: int
    last: int
    times: bool = False
    ignore_nulls: bool = False


@dataclass(frozen=True)
class Framed(FrameRows):
    """Gives out each row once, when all rows of its frames are there, with the values of functions over them and
    without its key.

    What it keeps is what `FrameRows` keeps. Values are Spark's to the last bit: sums of floats are added in the order
    of the rows, anew for each frame.

    calls: their frames lie within the reach of the operator.
    types: of the output column of each call.
    wraps: sums of integers that outgrow BIGINT begin at its other end; else they raise OperationalError.
    """

    calls: tuple[FramedCall, ...] = ()
    types: tuple[pa.DataType, ...] = ()
    wraps: bool = True

    def _output(self, ordered: OrderedRows, ranges: TimeRanges, first: np.ndarray, decided: np.ndarray) -> pa.Table:
        sizes = decided - first
        if not sizes.any():
            return pa.table({})
        fresh = np.arange(sizes.sum()) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
        output = take_rows(ordered.rows.drop_columns([GIVEN, *self.layout.key_names]), fresh)
        frames: dict[tuple[int, int, bool], Spans] = {}
        for call, kind in zip(self.calls, self.types, strict=True):
            reach = call.first, call.last, call.times
            if reach not in frames:
                frames[reach] = Spans(*_bounds(call, ordered, ranges, fresh))
            column = None if call.column is None else ordered.rows[call.column].chunk(0)
            output = output.append_column(call.name, frame_value(call, kind, frames[reach], column, self.wraps))
        return by_time(output, "t")


def frame_value(call: FramedCall, kind: pa.DataType, frames: "Spans", column: pa.Array | None, wraps: bool) -> pa.Array:
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
    call: FramedCall, kind: pa.DataType, frames: "Spans", column: pa.Array, count: np.ndarray, wraps: bool
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


def _integers(call: FramedCall, frames: "Spans", numbers: np.ndarray, wraps: bool) -> np.ndarray:
    if not wraps and frames.differences(np.abs(numbers.astype(np.float64))).max(initial=0) > _SAFE:
        greatest = frames.greatest_sum(numbers.astype(object))
        if greatest >= 2**63:
            raise OperationalError(
                f"{call.function.upper()} of a frame outgrows its type BIGINT", hint="CAST its argument to DOUBLE"
            )
    return frames.differences(numbers)


class Spans:
    """The rows of frames, each a range of places.

    begins, ends: of each frame; an empty one ends where it begins.
    """

    def __init__(self, begins: np.ndarray, ends: np.ndarray):
        self.begins, self.ends = begins, np.maximum(begins, ends)
        self.sizes = self.ends - self.begins

    def counts(self, valid: np.ndarray) -> np.ndarray:
        """Return how many places of each frame are valid."""
        return self.sizes if valid.all() else self.differences(valid.astype(np.int64))

    def differences(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of each frame, by those of all places before its ends."""
        total = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values)])
        return total[self.ends] - total[self.begins]

    def sums(self, values: np.ndarray, whole: bool) -> np.ndarray:
        """Return the sum of floats of each frame, added in order; `whole`: they are whole numbers."""
        if whole and np.abs(values).sum() < _EXACT:
            return self.differences(values)
        found = np.zeros(len(self.begins))
        begins, frame = np.unique(self.begins, return_inverse=True)
        ends = np.zeros(len(begins), np.int64)
        np.maximum.at(ends, frame, self.ends)
        if _BEGIN_COST * len(begins) + (ends - begins).sum() < self.sizes.sum() + _BEGIN_COST * self.sizes.max(
            initial=0
        ):
            # Frames that begin together are the first places of one series.
            of_begin = np.argsort(frame, kind="stable")
            first = np.searchsorted(frame[of_begin], np.arange(len(begins) + 1))
            for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
                own = of_begin[first[number] : first[number + 1]]
                total = np.concatenate([[0.0], np.cumsum(values[begin:end])]) + 0.0
                found[own] = total[self.sizes[own]]
            return found

        def add(frames: np.ndarray, places: np.ndarray) -> None:
            found[frames] += values[places]

        self._in_order(add)
        return found

    def greatest_sum(self, values: np.ndarray) -> int:
        """Return how great the sum of some first places of a frame gets, below zero or above."""
        found, most = np.zeros(len(self.begins), object), [0]

        def add(frames: np.ndarray, places: np.ndarray) -> None:
            found[frames] += values[places]
            most.append(max(found.max(), -1 - found.min()))

        self._in_order(add)
        return max(most)

    def moments(self, values: np.ndarray, valid: np.ndarray) -> np.ndarray:
        """Return the sum of the squares of the differences from the mean of each frame, as Spark adds them up."""
        count, mean, squares = (np.zeros(len(self.begins)) for _ in range(3))

        def add(frames: np.ndarray, places: np.ndarray) -> None:
            there = valid[places]
            frames, places = frames[there], places[there]
            count[frames] += 1.0
            away = values[places] - mean[frames]
            step = away / count[frames]
            mean[frames] += step
            squares[frames] += away * (away - step)

        with np.errstate(invalid="ignore"):
            self._in_order(add)
        return squares

    def end(self, chosen: np.ndarray | None, last: bool) -> np.ndarray:
        """Return the first place of each frame, or the last one, among those chosen; -1 where there is none."""
        if chosen is None:
            return np.where(self.sizes > 0, self.ends - 1 if last else self.begins, -1)
        places = np.flatnonzero(chosen)
        if last:
            found = np.append(-1, places)[np.searchsorted(places, self.ends)]
            return np.where(found >= self.begins, found, -1)
        found = np.append(places, len(chosen))[np.searchsorted(places, self.begins)]
        return np.where(found < self.ends, found, -1)

    def least(self, values: np.ndarray, valid: np.ndarray) -> np.ndarray:
        """Return the place of the least valid value of each frame, of equal ones the first; -1 where there is none.

        Least places of ranges that double in size are found first; two that overlap make up each frame.
        """
        places = np.where(valid, np.arange(len(values)), -1)
        found = np.full(len(self.begins), -1)
        size = 1
        level = np.where(self.sizes > 0, np.log2(np.maximum(self.sizes, 1)).astype(np.int64), -1)
        for step in range(int(level.max(initial=-1)) + 1):
            chosen = np.flatnonzero(level == step)
            found[chosen] = _lesser(values, places[self.begins[chosen]], places[self.ends[chosen] - size])
            places = _lesser(values, places[:-size], places[size:])
            size *= 2
        return found

    def _in_order(self, add: Callable[[np.ndarray, np.ndarray], None]) -> None:
        """Call `add` with frames and a place of each: with all first places, then all second ones, and so on."""
        by_size = np.argsort(-self.sizes, kind="stable")
        begins, shorter = self.begins[by_size], -self.sizes[by_size]
        for offset in range(int(self.sizes.max(initial=0))):
            longer = np.searchsorted(shorter, -offset)
            add(by_size[:longer], begins[:longer] + offset)


def _bounds(
    call: FramedCall, ordered: OrderedRows, ranges: TimeRanges, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the frames of these rows begin and end."""
    partition = ranges.partition[rows]
    starts, ends = ordered.starts[partition], ordered.starts[partition + 1]
    if call.times:
        times = ranges.times[rows]
        begins = ranges.first_from(partition, times + call.first) if call.first else ranges.first_alike[rows]
        ends = ranges.first_after(partition, times + call.last) if call.last else ranges.end_alike[rows]
        return begins, ends
    return np.clip(rows + call.first, starts, ends), np.clip(rows + call.last + 1, starts, ends)


def _lesser(values: np.ndarray, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return of each two places that with the lesser value, the first if they are equal; -1 is none."""
    other = (some < 0) | ((others >= 0) & (values[others] < values[some]))
    return np.where(other, others, some)


def _moment(function: str, squares: np.ndarray, count: np.ndarray) -> pa.Array:
    sample = function.endswith("samp")
    value = squares / np.maximum(count - sample, 1)
    return _without(pa.array(np.sqrt(value) if function.startswith("stddev") else value), count <= sample)


def _without(values: pa.Array, chosen: np.ndarray) -> pa.Array:
    """Return values with NULL where chosen."""
    if not chosen.any():
        return values
    return values.take(pa.array(np.arange(len(values)), mask=chosen))
