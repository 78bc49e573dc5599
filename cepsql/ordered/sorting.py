"""Sort rows by partition, event time and tie-breakers, independently of micro-batches and tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.arrival import NO_RANKS, POSITION, has_positions, ranked
from cepsql.ordered.keys import key_codes
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import compact, integers, take_freely, take_rows
from cepsql.ordered.row_layout import OrderColumn

_BLOCK = 2**17
_DIGIT_BITS, _FEW_DIGITS, _FEW_ROWS, _FEW_RUNS = 16, 2, 2**21, 100
"""As measured: with many rows, a third digit costs more than sorting integers."""

_PART_ROWS, _MOST_PARTS = 2**20, 2**8


def partition_rows(
    rows: pa.Table,
    keys: Sequence[str],
    time: str,
    order: Sequence[OrderColumn],
    rest: Sequence[str],
    ranks: np.ndarray = NO_RANKS,
) -> tuple[pa.Table, np.ndarray]:
    """Sort rows by key, then by time; ties by the order columns, then by POSITION, then by the rest.

    keys:  the partition columns; partitions are in order of first appearance.
    time:  a BIGINT column without NULL.
    rest:  columns, ascending with NULL first.
    ranks: the rank of each origin in POSITION by number; see `cepsql.ordered.arrival.ranked`.
    Returns the sorted rows without POSITION, one chunk a column, and the starts of the partitions, with the number of
    rows at the end (int64). Only rows that tie on key and time are compared by further columns; rows equal in all of
    them keep their order.
    """
    rows = compact(rows)
    codes, count = key_codes([rows[k].chunk(0) for k in keys], rows.num_rows)
    if count <= 1:
        codes = np.zeros(rows.num_rows, np.uint8)
    places, starts = _order(rows, codes, count, time, _tie_breakers(rows, order, rest, ranks))
    rows = _without_positions(rows)
    if places is None:
        return rows, starts
    del codes
    columns, schema = [column.chunk(0) for column in rows.columns], rows.schema
    # If the caller keeps no reference to the rows, each column is freed as soon as it is sorted.
    del rows
    return pa.Table.from_arrays(take_freely(columns, places), schema=schema), starts


def partition_sides(
    sides: Sequence[pa.Table | None],
    keys: Sequence[str],
    time: str,
    breakers: Sequence[tuple[Sequence[OrderColumn], Sequence[str]]],
    ranks: np.ndarray = NO_RANKS,
) -> list[tuple[pa.Table, np.ndarray] | None]:
    """Sort the rows of relations with equal keys, each as `partition_rows` does, into shared partitions.

    breakers: the tie-breakers of each side: its order columns, and the rest.
    Returns for each side its rows and the starts of the partitions, with the number of rows at the end. The partition
    of a key has the same number in all sides, and is empty if the side has no row of it. None for a side of None.
    """
    there = [compact(side) for side in sides if side is not None]
    sizes = [side.num_rows for side in there]
    columns = [pa.concat_arrays([side[key].chunk(0) for side in there]) for key in keys] if there else []
    codes, count = key_codes(columns, sum(sizes))
    ends = np.cumsum(sizes)
    sorted_sides: list[tuple[pa.Table, np.ndarray] | None] = []
    left = iter(zip(there, np.split(codes, ends[:-1]), strict=True)) if there else iter(())
    for side, (order, rest) in zip(sides, breakers, strict=True):
        if side is None:
            sorted_sides.append(None)
        else:
            rows, own = next(left)
            places, starts = _order(rows, own, count, time, _tie_breakers(rows, order, rest, ranks))
            rows = _without_positions(rows)
            sorted_sides.append((rows if places is None else take_rows(rows, places), starts))
    return sorted_sides


def _without_positions(rows: pa.Table) -> pa.Table:
    return rows.drop_columns([POSITION]) if has_positions(rows) else rows


def _order(
    rows: pa.Table, codes: np.ndarray, count: int, time: str, breakers: Sequence["_Breaker"]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Order rows, one chunk a column, by the number of their key, by time and by tie-breakers.

    Returns their places in this order, None if they are in it already, and the start of each of `count` keys, with the
    number of rows at the end (int64).
    """
    times = integers(rows[time])
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=count))]).astype(np.int64)
    places = key_order(codes, times, count, _PART_ROWS)
    tied = _tied(times, places, starts)
    if tied.any():
        places = np.arange(rows.num_rows) if places is None else places
        _break_ties(rows, places, tied, breakers)
    return places, starts


def key_order(codes: np.ndarray, times: np.ndarray, count: int, part_rows: int) -> np.ndarray | None:
    """Return the places of rows ordered by the numbers of their keys, and stably by time in each key.

    codes: numbers below `count`, one for each row.
    part_rows: about so many rows, all of some keys, are ordered at a time, to save memory.
    Returns None for rows that are in this order already.
    """
    parts = min(len(codes) // part_rows, count, _MOST_PARTS)
    if parts <= 1 or (is_ascending(codes) and is_ascending(times)):
        return _key_order(codes, times)
    part_of_key = (np.arange(count) * parts // count).astype(np.uint8)
    part_of_row = part_of_key[codes]
    places: np.ndarray = np.empty(len(codes), _places_type(codes))
    begin = 0
    for part in range(parts):
        at = np.flatnonzero(part_of_row == part)
        order = _key_order(codes[at], times[at])
        end = begin + len(at)
        places[begin:end] = at if order is None else at[order]
        begin = end
    return places


def _key_order(codes: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    places = None if is_ascending(times) else stable_order(times)
    return stable_order(codes, places) if places is not None or not is_ascending(codes) else None


def _tied(times: np.ndarray, places: np.ndarray | None, starts: np.ndarray) -> np.ndarray:
    """Return for each row but the first, in order, whether it has the key and the time of the one before."""
    rows = len(times)
    tied = np.empty(max(rows - 1, 0), bool)
    for begin in range(0, len(tied), _PART_ROWS):
        block = slice(begin, begin + _PART_ROWS + 1)
        some = times[block] if places is None else times[places[block]]
        tied[begin : begin + _PART_ROWS] = some[1:] == some[:-1]
    first = starts[(starts > 0) & (starts < rows)]
    tied[first - 1] = False
    return tied


def is_ascending(values: np.ndarray) -> bool:
    """Tell whether no value is less than the one before."""
    return bool((values[1:] >= values[:-1]).all())


def stable_order(values: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """Return `places` (default: all in order) sorted stably by the integer values there.

    The algorithm depends on the values: few ascending runs are merged, numbers of a small range are sorted digit by
    digit, others carry their place in their low bits if it fits, because NumPy sorts 64-bit integers several times
    faster than it finds their order.
    """
    if places is not None:
        return places[stable_order(values[places])]
    if is_ascending(values):
        return np.arange(len(values), dtype=_places_type(values))
    low, high = int(values.min()), int(values.max())
    bits = (high - low).bit_length()
    digits = -(-bits // _DIGIT_BITS)
    if digits > 1 and (_has_few_runs(values) or bits + len(values).bit_length() > 64):
        order = np.argsort(values, kind="stable")
    elif digits <= _FEW_DIGITS or (digits == _FEW_DIGITS + 1 and len(values) <= _FEW_ROWS):
        order = _by_digits(values, low, digits)
    else:
        order = _by_value_and_place(values, low)
    return order.astype(_places_type(values), copy=False)


def _by_digits(values: np.ndarray, low: int, digits: int) -> np.ndarray:
    # NumPy sorts 16-bit integers stably by counting.
    offsets = values.astype(np.int64) - low if low else values
    order = np.argsort(offsets.astype(np.uint16), kind="stable")
    for digit in range(1, digits):
        more = (offsets >> (_DIGIT_BITS * digit)).astype(np.uint16)
        order = order[np.argsort(more[order], kind="stable")]
    return order


def _has_few_runs(values: np.ndarray) -> bool:
    return bool(np.count_nonzero(values[1:] < values[:-1]) <= _FEW_RUNS)


def _by_value_and_place(values: np.ndarray, low: int) -> np.ndarray:
    # In place, because there may be millions.
    keys = values.astype(np.int64)
    keys -= low
    bits = len(values).bit_length()
    keys <<= bits
    for begin in range(0, len(keys), _BLOCK):
        block = keys[begin : begin + _BLOCK]
        block |= np.arange(begin, begin + len(block))
    keys = keys.view(np.uint64)
    keys.sort()
    keys &= np.uint64(2**bits - 1)
    return keys


def by_time(rows: pa.Table, time: str) -> pa.Table:
    """Sort rows stably by a column of integers without NULL; rows in order are returned unchanged."""
    times = integers(rows[time])
    return rows if is_ascending(times) else rows.take(pa.array(stable_order(times)))


def _places_type(values: np.ndarray) -> type:
    return np.int32 if len(values) < 2**31 else np.int64


@dataclass(frozen=True)
class _Breaker:
    """A column that breaks ties; only POSITION has `ranks`."""

    name: str
    descending: bool = False
    nulls_first: bool = True
    equal_zeros: bool = False
    ranks: np.ndarray | None = None

    def values(self, column: pa.Array) -> np.ndarray:
        """Return numbers in the order of the values."""
        if self.ranks is not None:
            return ranked(integers(column), self.ranks)
        return ordinals(column, self.equal_zeros)


def _tie_breakers(
    rows: pa.Table, order: Sequence[OrderColumn], rest: Sequence[str], ranks: np.ndarray
) -> list[_Breaker]:
    """Return the tie-breakers of rows."""
    breakers = [_Breaker(c.name, c.descending, c.nulls_first, equal_zeros=True) for c in order]
    if has_positions(rows):
        breakers.append(_Breaker(POSITION, ranks=ranks))
    # The order columns come again at the end because -0.0 and 0.0 tie in ORDER BY but are different values.
    return breakers + [_Breaker(name) for name in (*rest, *(column.name for column in order))]


def _break_ties(rows: pa.Table, places: np.ndarray, tied: np.ndarray, breakers: Sequence[_Breaker]) -> None:
    """Sort, in place, each run of tied rows by further columns, until no rows tie.

    tied: whether each row but the first ties with the one before it.
    """
    at, run = _runs(np.arange(len(places)), tied)
    for breaker in breakers:
        if len(at) == 0:
            return
        column = rows[breaker.name].chunk(0).take(pa.array(places[at]))
        null = pc.is_null(column).to_numpy(zero_copy_only=False)
        value = np.where(null, 0, breaker.values(column))
        if breaker.descending:
            value = ~value
        side = (null != breaker.nulls_first).astype(np.uint8)
        step = stable_order(run, stable_order(side, stable_order(value)))
        places[at] = places[at][step]
        side, value = side[step], value[step]
        at, run = _runs(at, (run[1:] == run[:-1]) & (side[1:] == side[:-1]) & (value[1:] == value[:-1]))


def _runs(at: np.ndarray, tied: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions that tie with a neighbour, and the number of each one's run."""
    continues = np.concatenate([[False], tied])
    member = continues | np.concatenate([tied, [False]])
    return at[member], np.cumsum(~continues[member])
