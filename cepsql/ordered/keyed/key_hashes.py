"""One number for each key, equal for equal keys, by which rows of a key are found in a state.

It is stored, so it must never change. Different keys may have one number; whoever looks for one finds the rows of both.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.keyed.hash_functions import hash_texts, hash_words
from cepsql.ordered.ordinal import is_nested, nested_key
from cepsql.ordered.plain_columns import canonical, decimal_halves
from cepsql.render.far_times import python_values

_SEED, _NULL = np.uint32(0x6B657973), np.int64(0x6E756C6C)


def key_hashes(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    """Return the number (uint32) of each key, where NULL equals NULL, NaN equals NaN and -0.0 equals 0.0.

    columns: the key columns, each of `rows` values.
    """
    hashes = np.full(rows, _SEED, np.uint32)
    for column in columns if rows else ():
        fresh = _hashed(column, hashes)
        if column.null_count:
            of_null = hash_words(np.full(rows, _NULL), hashes)
            fresh = np.where(column.is_null().to_numpy(zero_copy_only=False), of_null, fresh)
        hashes = fresh
    return hashes


def _hashed(column: pa.Array, seeds: np.ndarray) -> np.ndarray:
    """Hash the values of a column, whatever NULL gives."""
    kind = column.type
    if pa.types.is_null(kind):
        return seeds
    if is_nested(kind):
        # One by one: the text of a value does not depend on others.
        values = (python_values(column[at : at + 1])[0] for at in range(len(column)))
        return hash_texts(
            pa.array([_text(nested_key(value, equal_zeros=True)) for value in values], pa.string()), seeds
        )
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return hash_texts(column, seeds)
    if pa.types.is_decimal(kind):
        low, high = decimal_halves(column)
        return hash_words(high, hash_words(low, seeds))
    if pa.types.is_floating(kind):
        return hash_words(canonical(column.cast(pa.float64())).fill_null(0).to_numpy().view(np.int64), seeds)
    if not pa.types.is_integer(kind) and not pa.types.is_boolean(kind):
        # Dates, times and intervals.
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return hash_words(pc.cast(column, pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), seeds)


def _text(key: object) -> str:
    """Return a text for what `nested_key` gives, equal for equal keys."""
    if isinstance(key, tuple):
        return f"({','.join(map(_text, key))})"
    return repr(key + 0.0 if isinstance(key, float) else key)
