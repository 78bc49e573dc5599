"""Spark's hash of rows, vectorised: Murmur3 (x86, 32 bit) with seed 42, chained through the columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepsql.operators.exact_sums import decimal_halves
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
    hashes = _texts(distinct, np.full(len(distinct), _SEED, np.uint32))
    # NULL takes the place after the last text.
    places = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    return np.append(hashes, np.uint32(_SEED))[places]


def _hashed(column: pa.Array, seeds: np.ndarray) -> np.ndarray:
    kind = column.type
    if pa.types.is_string(kind):
        return _texts(column, seeds)
    if pa.types.is_floating(kind):
        return _floats(column, seeds)
    if pa.types.is_timestamp(kind) or kind == pa.int64():
        return _words(column.view(pa.int64()).fill_null(0).to_numpy(), seeds)
    if pa.types.is_decimal(kind):
        return _words(decimal_halves(column)[0], seeds)
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    return _word(column.cast(pa.int32()).fill_null(0).to_numpy(), seeds)


def _floats(column: pa.Array, seeds: np.ndarray) -> np.ndarray:
    """Hash the bits; Spark gives both zeros one hash, and all NaNs."""
    values = column.fill_null(0).to_numpy().copy()
    values[values == 0] = 0
    values[np.isnan(values)] = np.nan
    if values.dtype == np.float32:
        return _word(values.view(np.int32), seeds)
    return _words(values.view(np.int64), seeds)


def _word(values: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Hash values of four bytes."""
    return _finished(_mixed(seeds, values.view(np.uint32)), np.uint32(4))


def _words(values: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Hash values of eight bytes: the low half, then the high half."""
    bits = values.view(np.uint64)
    low = bits.astype(np.uint32)
    return _finished(_mixed(_mixed(seeds, low), (bits >> np.uint64(32)).astype(np.uint32)), np.uint32(8))


def _texts(column: pa.Array, seeds: np.ndarray) -> np.ndarray:
    """Hash UTF-8 bytes: words of four, then each byte left over by itself, with its sign."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    octets = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    lengths, hashes = ends[1:] - ends[:-1], seeds.copy()
    if not len(lengths):
        return hashes
    # Longest first: those that still have bytes are then a slice.
    order = np.argsort(-lengths, kind="stable")
    begins, lengths, state = ends[:-1][order], lengths[order], hashes[order]
    whole = lengths // 4
    for word in range(int(whole[0])):
        n = np.searchsorted(-whole, -word, side="left")
        at = begins[:n] + 4 * word
        value = octets[at].astype(np.uint32)
        for byte in (1, 2, 3):
            value |= octets[at + byte].astype(np.uint32) << np.uint32(8 * byte)
        state[:n] = _mixed(state[:n], value)
    for byte in range(3):
        some = np.flatnonzero(lengths % 4 > byte)
        at = begins[some] + 4 * whole[some] + byte
        state[some] = _mixed(state[some], octets[at].view(np.int8).astype(np.int32).view(np.uint32))
    hashes[order] = _finished(state, lengths.astype(np.uint32))
    return hashes


def _mixed(hashes: np.ndarray, words: np.ndarray) -> np.ndarray:
    k = words * np.uint32(0xCC9E2D51)
    k = (k << np.uint32(15) | k >> np.uint32(17)) * np.uint32(0x1B873593)
    k ^= hashes
    return (k << np.uint32(13) | k >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)


def _finished(hashes: np.ndarray, length: np.ndarray | np.uint32) -> np.ndarray:
    h = hashes ^ length
    h = (h ^ h >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    h = (h ^ h >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return h ^ h >> np.uint32(16)
