"""Partition keys, where NULL equals NULL, NaN equals NaN and -0.0 equals 0.0."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.operator import OrderedRows
from cepsql.ordered.ordinal import is_nested, nested_key
from cepsql.ordered.plain_columns import canonical, one_chunk
from cepsql.render.far_times import python_values

_LAST = 2**62
"""The greatest number of a combination of keys."""

_FEW_NUMBERS, _DENSE, _LAST_PLACE = 10_000, 4, 2**31
"""Numbers are looked up in a table if they span more than _FEW_NUMBERS, for a hash table of fewer fits the processor's
cache, and at most _DENSE for each row; places in the table are below _LAST_PLACE."""


def key_codes(columns: list[pa.Array], rows: int) -> tuple[np.ndarray, int]:
    """Number the distinct keys from 0 in order of first appearance; without columns there is one key.

    columns: the key columns, each of `rows` values.
    Returns each row's number, and the number of distinct keys.
    """
    joined = _joined(columns) if rows else None
    if joined is not None:
        return _number_codes(joined)
    codes, count = np.zeros(rows, np.int64), min(rows, 1)
    for column in columns:
        more, distinct = _column_codes(column)
        if count <= 1:
            codes, count = more, distinct
        else:
            # Both factors are below 2**31, and renumbering the pairs keeps them there: no overflow, no collision.
            codes, count = _number_codes(codes.astype(np.int64) * distinct + more)
    return codes, count


def _joined(columns: list[pa.Array]) -> np.ndarray | None:
    """Return one number for each combination of integers, None for other types or if the numbers do not fit."""
    if not columns or any(not pa.types.is_signed_integer(c.type) or c.null_count for c in columns):
        return None
    joined, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        values = column.to_numpy(zero_copy_only=False)
        low = int(values.min())
        span = int(values.max()) - low + 1
        size *= span
        if size > _LAST:
            return None
        joined *= span
        joined += values
        joined -= low
    return joined


def _number_codes(numbers: np.ndarray) -> tuple[np.ndarray, int]:
    if (numbers[1:] >= numbers[:-1]).all():
        codes = np.zeros(len(numbers), np.int64)
        np.cumsum(numbers[1:] != numbers[:-1], out=codes[1:])
        return codes, int(codes[-1]) + 1 if len(codes) else 0
    low = int(numbers.min())
    span = int(numbers.max()) - low + 1
    if _FEW_NUMBERS < span <= min(_DENSE * len(numbers), _LAST_PLACE):
        return _dense_codes(numbers - low, span)
    return _column_codes(pa.array(numbers))


def _dense_codes(numbers: np.ndarray, span: int) -> tuple[np.ndarray, int]:
    """Renumber numbers below `span` by a table of the first place of each number."""
    places = np.arange(len(numbers), dtype=np.int32)
    first = np.empty(span, np.int32)
    # The last write wins, which is the first place.
    first[numbers[::-1]] = places[::-1]
    first_of_row = first[numbers]
    number_at = np.cumsum(first_of_row == places, dtype=np.int32) - 1
    return number_at[first_of_row], int(number_at[-1]) + 1


def first_places(codes: np.ndarray) -> np.ndarray:
    """Return the first place of each number of `key_codes`, which increase by first appearance."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1)) if len(codes) else np.zeros(0, np.int64)


def numbered_among(places: np.ndarray, columns: list[pa.Array], rows: int) -> np.ndarray:
    """Number `rows` rows by their places, but those at `places`, ascending, by the first place with the same key.

    columns: the key columns of all rows.
    """
    numbers = np.arange(rows)
    if len(places):
        chosen = pa.array(places)
        codes, _ = key_codes([column.take(chosen) for column in columns], len(places))
        numbers[places] = places[first_places(codes)][codes]
    return numbers


def key_changes(columns: list[pa.Array], rows: int) -> np.ndarray:
    """Return the positions of the rows whose key differs from that of the row before."""
    codes, _ = key_codes(columns, rows)
    return np.flatnonzero(codes[1:] != codes[:-1]) + 1


def partition_keys(names: Sequence[str], sides: Sequence[OrderedRows]) -> list[pa.Array]:
    """Return the key columns of each partition of ordered rows.

    sides: at least one; all have the same partitions, and each partition has a row in one of them.
    """
    place, offset = np.zeros(len(sides[0].starts) - 1, np.int64), 0
    for side in sides:
        filled = np.diff(side.starts) > 0
        place[filled] = side.starts[:-1][filled] + offset
        offset += side.rows.num_rows
    chosen = pa.array(place)
    return [pa.concat_arrays([one_chunk(side.rows[name]) for side in sides]).take(chosen) for name in names]


def find_keys(left: list[pa.Array], left_rows: int, right: list[pa.Array], right_rows: int) -> np.ndarray:
    """Return for every left key the position of an equal right key, or -1.

    It is cheap if the right side is much smaller than the left.
    """
    if right_rows == 0:
        return np.full(left_rows, -1, np.int64)
    left, right = [canonical(c) for c in left], [canonical(c) for c in right]
    if len(left) == 1 and not is_nested(left[0].type):
        return pc.index_in(left[0], value_set=right[0]).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    candidates = _candidates(left, left_rows, right)
    places = pa.array(candidates)
    both = [pa.concat_arrays([r, el.take(places)]) for el, r in zip(left, right, strict=True)]
    codes, count = key_codes(both, right_rows + len(candidates))
    place = np.full(count, -1, np.int64)
    place[codes[:right_rows]] = np.arange(right_rows)
    matches = np.full(left_rows, -1, np.int64)
    matches[candidates] = place[codes[right_rows:]]
    return matches


def _candidates(left: list[pa.Array], rows: int, right: list[pa.Array]) -> np.ndarray:
    """Return the left rows each of whose values appears somewhere in the same column on the right."""
    possible = np.ones(rows, bool)
    for a, b in zip(left, right, strict=True):
        if not is_nested(a.type):
            possible &= pc.is_in(a, value_set=b).to_numpy(zero_copy_only=False)
    return np.flatnonzero(possible)


def _column_codes(column: pa.Array) -> tuple[np.ndarray, int]:
    if is_nested(column.type):
        column = pa.array(_numbered([nested_key(v, equal_zeros=True) for v in python_values(column)]), pa.int64())
    encoded = canonical(column).dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False), len(encoded.dictionary)


def _numbered(keys: list) -> list[int]:
    numbers: dict = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
