"""Sums of integers and decimals that are exact whatever is added, and in whatever order: they are kept in limbs.

A number is the sum of its limbs times powers of 2**32. All limbs but the last are at least 0, so that a column of some
billion numbers is added limb by limb without a carry.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepsql.ordered.plain_columns import decimal_halves

_LIMB = 32
_MASK = 2**_LIMB - 1
_LONG_DIGITS = 18
"""Decimals of so many digits are 64-bit integers of their last digit."""


def is_added_exactly(kind: pa.DataType) -> bool:
    """Tell whether values of a type have limbs."""
    return pa.types.is_integer(kind) or pa.types.is_decimal(kind)


def limbs(column: pa.Array) -> list[np.ndarray]:
    """Return the limbs of integers, or of decimals in units of their last digit: two or four columns (int64).

    The limbs of NULL are 0.
    """
    if pa.types.is_integer(column.type):
        low = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return _split(low)
    low, high = decimal_halves(column)
    if column.type.precision <= _LONG_DIGITS:
        return _split(low.view(np.int64))
    return [*(one.astype(np.int64) for one in _split(low)), *_split(high)]


def _split(numbers: np.ndarray) -> list[np.ndarray]:
    bits = numbers.dtype.type
    return [numbers & bits(_MASK), numbers >> bits(_LIMB)]


def carried(numbers: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return equal numbers whose limbs are below 2**32, but for the last one."""
    carried_limbs = [limb.copy() for limb in numbers]
    for place in range(len(carried_limbs) - 1):
        carried_limbs[place + 1] += carried_limbs[place] >> _LIMB
        carried_limbs[place] &= _MASK
    return carried_limbs


def as_longs(numbers: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of two limbs as int64, and which of them outgrow it and begin anew at the other end."""
    low, high = carried(numbers)
    return (high << _LIMB) | low, (high < -(2**31)) | (high >= 2**31)


def as_doubles(numbers: Sequence[np.ndarray]) -> np.ndarray:
    """Return numbers as float64."""
    doubles = np.zeros(len(numbers[0]))
    for place, limb in reversed(list(enumerate(carried(numbers)))):
        doubles += limb.astype(np.float64) * 2.0 ** (_LIMB * place)
    return doubles


def as_integers(numbers: Sequence[np.ndarray]) -> np.ndarray:
    """Return numbers as Python integers (object)."""
    whole = np.zeros(len(numbers[0]), object)
    for place, limb in enumerate(numbers):
        whole += limb.astype(object) * 2 ** (_LIMB * place)
    return whole
