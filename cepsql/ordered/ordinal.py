"""Numbers that sort as Spark sorts the values of a column."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.render.far_times import python_values


def ordinals(column: pa.Array, equal_zeros: bool) -> np.ndarray:
    """Return an int64 for every value: a smaller value has a smaller number, an equal one the same.

    Spark's rules: NaN is greatest, strings compare by their UTF-8 bytes, false < true, arrays and structs element by
    element with NULL first. Beyond them maps compare by their entries as stored, and unless `equal_zeros` -0.0 < 0.0,
    so that different values never tie. The numbers of NULL values mean nothing.
    """
    if is_nested(column.type):
        return _ranks([nested_key(v, equal_zeros) for v in python_values(column)])
    if pa.types.is_integer(column.type):
        return column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_floating(column.type):
        values = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
        return _float_ordinals(values + 0.0 if equal_zeros else values)
    encoded = column.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    rank = np.zeros(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    return rank[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]


def is_nested(type_: pa.DataType) -> bool:
    """Tell whether values of the type are compared in Python because Arrow cannot."""
    return pa.types.is_nested(type_)


def nested_key(value: object, equal_zeros: bool):
    """Return what a Python value of a nested column is hashed and compared by: NULL first, NaN last and equal."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return (1, tuple(nested_key(v, equal_zeros) for v in value))
    if isinstance(value, float):
        if math.isnan(value):
            return (2,)
        return (1, value) if equal_zeros else (1, value, math.copysign(1, value))
    return (1, value)


def _float_ordinals(values: np.ndarray) -> np.ndarray:
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    # The bit pattern of a negative float grows with its magnitude.
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def _ranks(keys: list) -> np.ndarray:
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    return np.fromiter((rank[key] for key in keys), np.int64, len(keys))
