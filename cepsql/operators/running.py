"""Window functions over all rows of a key so far: running totals, numbers and ranks of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError
from cepsql.operators.exact_sums import as_doubles, as_integers
from cepsql.operators.one_relation import OneRelation
from cepsql.operators.seen_values import SeenValues
from cepsql.operators.segments import Segments
from cepsql.ordered.keys import find_keys, key_codes
from cepsql.ordered.operator import KeyedSections, OrderedRows, Step
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import decimal_halves, integers, one_chunk, stack
from cepsql.ordered.row_layout import RowLayout
from cepsql.ordered.sorting import by_time

RUNNING_FUNCTIONS = ("row_number", "rank", "dense_rank", "count", "sum", "avg", "min", "max", "first", "last", "seen")
"""What a `RunningCall` may compute."""

_KEPT = "running"
ROWS, _PEERS = "rows", "peers"


@dataclass(frozen=True)
class RunningCall:
    """One function of the rows of a key up to a row.

    name:         of the output column.
    function:     one of RUNNING_FUNCTIONS.
    column:       the column that it reads; None for functions of rows, and for "count" of rows.
    rows:         the frame ends at the row itself; else at the last row that is equal to it in the order.
    ignore_nulls: `first` and `last` pass over NULL, as all others do anyway.
    distinct:     "count", "sum" and "avg" take each value once; not for the operator, and for all rows of a key alone.
    """

    name: str
    function: str
    column: str | None = None
    rows: bool = False
    ignore_nulls: bool = False
    distinct: bool = False


@dataclass(frozen=True)
class SeenCall(RunningCall):
    """Whether the key might have had the value of a row, whose hash is `column`, in a row before.

    expected, error: as of `SeenValues`.
    """

    expected: int = 0
    error: float = 0.0


@dataclass(frozen=True)
class RunningOperator(KeyedSections, OneRelation):
    """Gives out each row with the values of functions over all rows of its key up to it.

    It remembers for each key, for ever, how many rows it had and what each function needs to go on. Values and their
    types are Spark's: sums of integers are BIGINT, of decimals ten digits longer, of others DOUBLE, added in order.

    layout: the rows, which are given out with the columns that they have.
    types:  of the output column of each call.
    Raises OperationalError where a sum outgrows its type.
    """

    layout: RowLayout
    calls: tuple[RunningCall, ...]
    types: tuple[pa.DataType, ...]

    sections: ClassVar[dict[str, int]] = {_KEPT: 1}
    hold = 0

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,), stored = rows, sections.get(_KEPT)
        if ordered is None:
            return Step(pa.table({}), [None], {} if stored is None else {_KEPT: stored})
        keys = [ordered.rows[name].chunk(0).take(pa.array(ordered.starts[:-1])) for name in self.layout.key_names]
        before = Remembered(stored, self.layout.key_names, keys, len(ordered.pending))
        columns, remembered = RunningBatch(self.layout, self.calls, self.types, ordered, before).computed()
        output = ordered.rows
        for name, column in columns.items():
            output = output.append_column(name, column)
        output = by_time(output, "t")
        remembered = pa.table({**dict(zip(self.layout.key_names, keys, strict=True)), **remembered})
        return Step(output, [None], {_KEPT: before.replaced_by(remembered)})


class Remembered:
    """What was remembered of the keys of a batch."""

    def __init__(self, stored: pa.Table | None, names: list[str], keys: list[pa.Array], count: int):
        self._stored, self._count = stored, count
        # The key of the batch that each remembered one is, -1 for none.
        self._owner = np.zeros(0, np.int64)
        self._place: pa.Array = pa.nulls(count, pa.int64())
        if stored is not None and stored.num_rows:
            held = [one_chunk(stored[name]) for name in names]
            place = find_keys(held, stored.num_rows, keys, count) if names else np.zeros(1, np.int64)
            self._owner = place
            positions = np.full(count, -1)
            positions[place[place >= 0]] = np.flatnonzero(place >= 0)
            self._place = pa.array(positions, mask=positions < 0)

    def column(self, name: str, kind: pa.DataType) -> pa.Array:
        """Return what is remembered under a name, NULL for keys that are new, or had no value yet."""
        if self._stored is None or not self._stored.num_rows or name not in self._stored.column_names:
            return pa.nulls(self._count, kind)
        return one_chunk(self._stored[name]).take(self._place)

    def numbers(self, name: str) -> np.ndarray:
        """Return the numbers that are remembered under a name, 0 for keys that are new."""
        return integers(self.column(name, pa.int64()).fill_null(0))

    def others(self, chosen: np.ndarray | None = None) -> pa.Table | None:
        """Return what is remembered of other keys than those chosen, by default all of the batch; None for nothing."""
        other = self._owner < 0
        if chosen is not None:
            other |= ~chosen[self._owner]
        return self._stored.filter(pa.array(other)) if self._stored is not None and other.any() else None

    def replaced_by(self, rows: pa.Table, chosen: np.ndarray | None = None) -> pa.Table:
        """Return what to remember, with `rows` for the keys chosen, by default all of the batch."""
        others = self.others(chosen)
        return rows if others is None else stack([others, rows])


class RunningBatch:
    """The rows of a batch, each key's after one place that stands for all rows of the key before."""

    def __init__(
        self,
        layout: RowLayout,
        calls: Sequence[RunningCall],
        types: Sequence[pa.DataType],
        ordered: OrderedRows,
        before: Remembered,
    ):
        self.calls, self.types = calls, types
        self.ordered, self.before = ordered, before
        count, size = len(ordered.starts) - 1, ordered.rows.num_rows
        partition = np.repeat(np.arange(count), np.diff(ordered.starts))
        self.rows = np.arange(size) + partition + 1
        self.heads = ordered.starts[:-1] + np.arange(count)
        self.ends = ordered.starts[1:] + np.arange(count)
        self.segments = Segments(np.append(self.heads, size + count))
        self.order = [column.name for column in layout.order]

    def computed(self) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
        """Return the output column of each call, and what to remember under which names."""
        rows = self._sums(np.ones(len(self.rows), np.int64), self.before.numbers(ROWS))
        last_peers = self._peers()
        first = np.concatenate([[True], np.diff(last_peers) != 0])
        peers = self._sums(first.astype(np.int64), self.before.numbers(_PEERS))
        stored_columns = {ROWS: pa.array(rows[self.ends]), _PEERS: pa.array(peers[self.ends])}
        columns = {}
        for number, (call, kind) in enumerate(zip(self.calls, self.types, strict=True)):
            match call.function:
                case "row_number":
                    values = pa.array(rows[self.rows])
                case "rank":
                    values = pa.array(rows[self.rows][first][np.cumsum(first) - 1])
                case "dense_rank":
                    values = pa.array(peers[self.rows])
                case "seen":
                    values, remembered = self._seen(call, f"c{number}")
                    stored_columns |= remembered
                case _:
                    running, remembered = self._aggregate(call, kind, f"c{number}", rows)
                    stored_columns |= remembered
                    values = running.take(pa.array(self.rows if call.rows else last_peers))
            columns[call.name] = values.cast(kind)
        return columns, stored_columns

    def _seen(self, call: RunningCall, name: str) -> tuple[pa.Array, dict[str, pa.Array]]:
        """Return for each row whether its value might have been there before, and the filters of each key."""
        assert isinstance(call, SeenCall) and call.column is not None
        column = self.ordered.rows[call.column].chunk(0)
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        names = [f"{name}_newer", f"{name}_older"]
        before = [self.before.column(filtered, pa.large_binary()) for filtered in names]
        values = SeenValues(call.expected, call.error)
        seen, *after = values.asked(integers(column.fill_null(0)), valid, self.ordered.starts, *before)
        return seen, dict(zip(names, after, strict=True))

    def edges(self) -> tuple[list[pa.Array], list[pa.Array], np.ndarray, dict[str, pa.Array]]:
        """Return for each key the values of aggregates before these rows and with them, how many rows it had, and
        what to remember under which names."""
        had = self.before.numbers(ROWS)
        rows = self._sums(np.ones(len(self.rows), np.int64), had)
        stored_columns = {ROWS: pa.array(rows[self.ends])}
        before, after = [], []
        for number, (call, kind) in enumerate(zip(self.calls, self.types, strict=True)):
            running, remembered = self._aggregate(call, kind, f"c{number}", rows)
            stored_columns |= remembered
            before.append(running.take(pa.array(self.heads)).cast(kind))
            after.append(running.take(pa.array(self.ends)).cast(kind))
        return before, after, had, stored_columns

    def _aggregate(
        self, call: RunningCall, kind: pa.DataType, name: str, rows: np.ndarray
    ) -> tuple[pa.Array, dict[str, pa.Array]]:
        """Return the value of an aggregate up to each place, and what it goes on from."""
        if call.column is None:
            return pa.array(rows), {}
        column = self.ordered.rows[call.column].chunk(0)
        valid = np.zeros(len(rows), bool)
        valid[self.rows] = column.is_valid().to_numpy(zero_copy_only=False)
        count = self._sums(valid[self.rows].astype(np.int64), self.before.numbers(f"{name}_count"))
        stored_columns = {f"{name}_count": pa.array(count[self.ends])}
        if call.function == "count":
            return pa.array(count), stored_columns
        if call.function in ("sum", "avg"):
            total = self._totals(call, kind, column, name)
            stored_columns[f"{name}_sum"] = total.take(pa.array(self.ends))
            return total_value(call, kind, total, count), stored_columns
        value = self._chosen(call, column, valid, name, rows)
        stored_columns[f"{name}_value"] = value.take(pa.array(self.ends))
        return value, stored_columns

    def _totals(self, call: RunningCall, kind: pa.DataType, column: pa.Array, name: str) -> pa.Array:
        """Return the sum up to each place, not NULL."""
        if pa.types.is_decimal(column.type):
            held = pa.decimal128(38, column.type.scale)
            numbers = unscaled(column)
            before = unscaled(self.before.column(f"{name}_sum", held))
            total = self._sums(numbers, before)
            _check(total, 10 ** min(column.type.precision + 10, 38), call, "DECIMAL")
            return as_decimals(total, held)
        if call.function == "sum" and pa.types.is_integer(column.type):
            numbers = integers(column.fill_null(0)).astype(np.int64)
            before = self.before.numbers(f"{name}_sum")
            total = self._sums(numbers, before)
            if np.abs(self._sums(numbers.astype(np.float64), before.astype(np.float64))).max() > 2**62:
                exact = self._sums(numbers.astype(object), before.astype(object))
                if max(abs(exact.min() + 1), exact.max()) >= 2**63:
                    raise _overflow(call, "BIGINT")
            return pa.array(total)
        numbers = nearest_doubles(column)
        before = self.before.column(f"{name}_sum", pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return pa.array(self._sums(numbers, before))

    def _chosen(self, call: RunningCall, column: pa.Array, valid: np.ndarray, name: str, rows: np.ndarray) -> pa.Array:
        """Return the value of the row that an aggregate chooses among those up to each place."""
        before = self.before.column(f"{name}_value", column.type)
        extended = pa.concat_arrays([before, column])
        source = np.zeros(len(rows), np.int64)
        source[self.heads] = np.arange(len(self.heads))
        source[self.rows] = np.arange(len(self.rows)) + len(self.heads)
        if call.function in ("first", "last") and not call.ignore_nulls:
            there = np.ones(len(rows), bool)
            there[self.heads] = rows[self.heads] > 0
        else:
            there = valid.copy()
            there[self.heads] = before.is_valid().to_numpy(zero_copy_only=False)
        match call.function:
            case "first":
                chosen = self.segments.first(there)
            case "last":
                chosen = self.segments.last(there)
            case _:
                order = ordinals(extended, equal_zeros=True)[source]
                chosen = self.segments.greatest(order if call.function == "max" else ~order, there)
        return extended.take(pa.array(np.where(chosen < 0, 0, source[chosen]), mask=chosen < 0))

    def _sums(self, values: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the sum up to each place: of the rows, and at the heads of what was before."""
        extended = np.zeros(len(self.rows) + len(self.heads), values.dtype)
        extended[self.heads], extended[self.rows] = before, values
        return self.segments.sums(extended)

    def _peers(self) -> np.ndarray:
        """Return the place of the last row that is equal to each row in the order."""
        codes, _ = key_codes([self.ordered.rows[name].chunk(0) for name in ["t", *self.order]], len(self.rows))
        differs = np.diff(codes) != 0
        differs[self.ordered.starts[1:-1] - 1] = True
        last = np.flatnonzero(np.append(differs, True))
        return self.rows[last[np.searchsorted(last, np.arange(len(codes)))]]


def stored_sum_type(call: RunningCall, column: pa.DataType) -> pa.DataType:
    """Return the type in which SUM or AVG of a column is remembered."""
    if pa.types.is_decimal(column):
        return pa.decimal128(38, column.scale)
    return pa.int64() if call.function == "sum" and pa.types.is_integer(column) else pa.float64()


def sum_with(call: RunningCall, sums: pa.Array, more: Sequence[np.ndarray], column: pa.DataType) -> pa.Array:
    """Return sums of a column as they are remembered, after something was added.

    sums:  without NULL.
    more:  the limbs of what is added (`cepsql.operators.exact_sums`).
    Raises OperationalError where a sum outgrows its type.
    """
    if pa.types.is_decimal(column):
        total = unscaled(sums) + as_integers(more)
        _check(total, 10 ** min(column.precision + 10, 38), call, "DECIMAL")
        return as_decimals(total, sums.type)
    if call.function == "avg":
        return pa.array(sums.to_numpy() + as_doubles(more))
    total = integers(sums).astype(object) + as_integers(more)
    _check(total, 2**63, call, "BIGINT")
    return pa.array(total.astype(np.int64))


def _check(total: np.ndarray, limit: int, call: RunningCall, kind: str) -> None:
    if any(abs(one) >= limit for one in (total.min(), total.max())):
        raise _overflow(call, kind)


def better_values(values: pa.Array, more: pa.Array, least: bool) -> pa.Array:
    """Return of two values the least or the greatest, which is the former where they are equal; NULL is no value."""
    numbers = ordinals(pa.concat_arrays([values, more]), equal_zeros=True)
    before, after = numbers[: len(values)], numbers[len(values) :]
    better = after < before if least else after > before
    there, comes = (np.asarray(one.is_valid()) for one in (values, more))
    return pc.if_else(pa.array(comes & (better | ~there)), more, values)


def total_value(call: RunningCall, kind: pa.DataType, total: pa.Array, count: np.ndarray) -> pa.Array:
    """Return SUM or AVG of so many values that are not NULL."""
    value = total if call.function == "sum" else mean_of(total, count, kind)
    return pc.if_else(pa.array(count > 0), value, pa.nulls(len(count), value.type))


def mean_of(total: pa.Array, count: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Return sums by counts; NULL where a decimal does not fit. What stands where the count is 0 means nothing."""
    count = np.maximum(count, 1)
    if not pa.types.is_decimal(total.type):
        return pa.array(total.to_numpy(zero_copy_only=False) / count)
    numbers = unscaled(total) * 10 ** (kind.scale - total.type.scale)
    count = count.astype(object)
    # Half up, away from zero.
    rounded = (np.abs(numbers) * 2 + count) // (count * 2)
    fits = rounded < 10**kind.precision
    mean = as_decimals(np.where(fits, np.where(numbers < 0, -rounded, rounded), 0), kind)
    return pc.if_else(pa.array(fits.astype(bool)), mean, pa.scalar(None, kind))


def unscaled(column: pa.Array) -> np.ndarray:
    """Return decimals as Python integers, in units of their last digit; 0 for NULL."""
    low, high = decimal_halves(column)
    return high.astype(object) * 2**64 + low.astype(object)


def nearest_doubles(column: pa.Array) -> np.ndarray:
    """Return numbers as DOUBLE; 0 for NULL."""
    if pa.types.is_decimal(column.type):
        # Of integers Python divides to the nearest number.
        return (unscaled(column) / 10**column.type.scale).astype(np.float64)
    return column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)


def as_decimals(numbers: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Return decimals from Python integers in units of their last digit."""
    halves = np.empty((len(numbers), 2), np.int64)
    halves[:, 0] = (numbers & (2**64 - 1)).astype(np.uint64).view(np.int64)
    halves[:, 1] = (numbers >> 64).astype(np.int64)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(halves.tobytes())])


def _overflow(call: RunningCall, kind: str) -> OperationalError:
    return OperationalError(
        f"a running {call.function.upper()} outgrows its type {kind}", hint="CAST its argument to DOUBLE"
    )
