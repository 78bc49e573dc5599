"""Spark's hash of rows, vectorised: Murmur3 with seed 42, chained through the columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepsql.ordered.keyed.hash_functions import hash_texts, hash_word, hash_words
from cepsql.ordered.plain_columns import decimal_halves
from cepsql.scalar.types import Type, is_decimal

HASHED = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "date", "timestamp")
"""Spark SQL types whose hash is known here, beside DECIMAL of few digits."""

_SEED = 42
_LONG_DIGITS = 18
"""Decimals of so many digits are hashed as 64-bit integers of their last digit."""


def is_hashed(type: Type) -> bool:
    """Tell whether the hash of values of a type is known here."""
    return str(type) in HASHED or (is_decimal(type) and type.precision <= _LONG_DIGITS)


def bucket_numbers(keys: Sequence[pa.Array], rows: int, buckets: int) -> np.ndarray:
    """Return `pmod(hash(keys), buckets)` of each row as Spark computes it; no keys: 0.

    keys: columns of types of which `is_hashed` is true.
    """
    if not keys or buckets == 1:
        return np.zeros(rows, np.int32)
    hashes = spark_hashes(keys, rows)
    # A modulo by powers of two is one instruction.
    return hashes & np.int32(buckets - 1) if buckets & (buckets - 1) == 0 else np.mod(hashes, np.int32(buckets))


def spark_hashes(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    """Return Spark's `hash` of the columns, int32; a NULL leaves the hash of the columns before it."""
    hashes: Any = None
    for column in columns:
        # The first column starts from one seed, so equal texts have equal hashes and few are computed.
        if hashes is None and pa.types.is_string(column.type):
            hashes = _of_repeated_texts(column)
            continue
        seeds = np.full(rows, _SEED, np.uint32) if hashes is None else hashes
        fresh = _hashed(column, seeds)
        if column.null_count:
            fresh = np.where(column.is_null().to_numpy(zero_copy_only=False), seeds, fresh)
        hashes = fresh
    return hashes.view(np.int32)


def _of_repeated_texts(column: pa.Array) -> np.ndarray:
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary
    hashes = hash_texts(distinct, np.full(len(distinct), _SEED, np.uint32))
    # NULL takes the place after the last text.
    places = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    return np.append(hashes, np.uint32(_SEED))[places]


def _hashed(column: pa.Array, seeds: np.ndarray) -> np.ndarray:
    kind = column.type
    if pa.types.is_string(kind):
        return hash_texts(column, seeds)
    if pa.types.is_floating(kind):
        return _floats(column, seeds)
    if pa.types.is_timestamp(kind) or kind == pa.int64():
        return hash_words(column.view(pa.int64()).fill_null(0).to_numpy(), seeds)
    if pa.types.is_decimal(kind):
        return hash_words(decimal_halves(column)[0], seeds)
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    return hash_word(column.cast(pa.int32()).fill_null(0).to_numpy(), seeds)


def _floats(column: pa.Array, seeds: np.ndarray) -> np.ndarray:
    """Hash the bits; Spark gives both zeros one hash, and all NaNs."""
    values = column.fill_null(0).to_numpy().copy()
    values[values == 0] = 0
    values[np.isnan(values)] = np.nan
    if values.dtype == np.float32:
        return hash_word(values.view(np.int32), seeds)
    return hash_words(values.view(np.int64), seeds)
