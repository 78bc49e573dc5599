"""Spark's arithmetic on plain Python values, for the source that `cepsql.pattern.scalar` writes."""

import ctypes
import math
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import reduce
from operator import add

from cepsql.errors import NotSupportedError

__all__ = [
    "add_exactly",
    "decimal_add",
    "decimal_div",
    "decimal_mod",
    "decimal_mul",
    "decimal_sub",
    "greatest",
    "is_greater",
    "least",
    "modulo",
    "same_nan",
    "to_decimal",
    "to_float",
    "to_integer",
    "total",
    "wrap",
]

LIMITS = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "date": 2**31, "bigint": 2**63, "timestamp": 2**63}
"""Integer types reach from minus this to one below this."""

NAN = math.nan
# Wide enough for the exact product of two decimals of 38 digits.
_CONTEXT = Context(prec=80, rounding=ROUND_HALF_UP)
_UNITS = [Decimal((0, (1,), -scale)) for scale in range(39)]


def to_decimal(value: Decimal | float, precision: int, scale: int | None) -> Decimal | None:
    """Round a number half up to a decimal(precision, scale); None if it does not fit. No scale: no rounding."""
    try:
        exact = _exact(value)
        rounded = exact if scale is None else _CONTEXT.quantize(exact, _UNITS[scale])
    except InvalidOperation:
        return None
    return rounded if rounded.is_finite() and rounded.adjusted() < precision - (scale or 0) else None


def _exact(value: Decimal | float) -> Decimal:
    """Return a number as a decimal; a float has the digits that it is written with, as in Spark."""
    if isinstance(value, str):
        raise NotSupportedError("CAST of a string in a condition that reads the match so far")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def decimal_add(a: Decimal, b: Decimal, precision: int, scale: int | None) -> Decimal | None:
    """Return a + b as decimal(precision, scale)."""
    return to_decimal(_CONTEXT.add(_exact(a), _exact(b)), precision, scale)


def decimal_sub(a: Decimal, b: Decimal, precision: int, scale: int | None) -> Decimal | None:
    """Return a - b as decimal(precision, scale)."""
    return to_decimal(_CONTEXT.subtract(_exact(a), _exact(b)), precision, scale)


def decimal_mul(a: Decimal, b: Decimal, precision: int, scale: int | None) -> Decimal | None:
    """Return a * b as decimal(precision, scale)."""
    return to_decimal(_CONTEXT.multiply(_exact(a), _exact(b)), precision, scale)


def decimal_div(a: Decimal, b: Decimal, precision: int, scale: int | None) -> Decimal | None:
    """Return a / b as decimal(precision, scale), None if b is zero."""
    return to_decimal(_CONTEXT.divide(_exact(a), _exact(b)), precision, scale) if b else None


def decimal_mod(a: Decimal, b: Decimal, precision: int, scale: int | None) -> Decimal | None:
    """Return the remainder with the sign of a, None if b is zero."""
    return to_decimal(_CONTEXT.remainder(_exact(a), _exact(b)), precision, scale) if b else None


def add_exactly(a: Decimal, b: Decimal) -> Decimal:
    """Return a + b without rounding."""
    return _CONTEXT.add(a, b)


def total(values: frozenset) -> Decimal | float | None:
    """Return the sum of values, None if there are none."""
    if not values:
        return None
    # In order, so that the sum of floats does not depend on how a set lies in memory.
    return reduce(add_exactly if isinstance(next(iter(values)), Decimal) else add, sorted(values, key=_nan_last))


def _nan_last(value: float) -> tuple[bool, float]:
    return (True, 0) if value != value else (False, value)


def modulo(a: float, b: float) -> float | None:
    """Return the remainder with the sign of a, None if b is zero."""
    if not b:
        return None
    if isinstance(a, float) or isinstance(b, float):
        return math.fmod(a, b) if math.isfinite(a) else NAN
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


def to_float(value: float) -> float:
    """Round to single precision."""
    return ctypes.c_float(value).value


def to_integer(value: Decimal | float) -> int | None:
    """Cut off the fraction; None for NaN and the infinities."""
    if isinstance(value, str):
        raise NotSupportedError("CAST of a string in a condition that reads the match so far")
    if isinstance(value, Decimal):
        return int(value.to_integral_value(ROUND_DOWN))
    return int(value) if math.isfinite(value) else None


def wrap(value: int, limit: int) -> int:
    """Bring an integer to the type that reaches from -limit to limit - 1 by keeping its low bits."""
    return (value + limit) % (2 * limit) - limit


def same_nan(value: object) -> object:
    """Return the value, and for any NaN always the same object, so that sets hold it once."""
    return value if value == value else NAN


def is_greater(a: object, b: object) -> bool:
    """Tell whether a is greater than b, where NaN is above all else."""
    return a > b or (a != a and b == b)


def greatest(values: list) -> object:
    """Return the greatest value that is not NULL."""
    result = None
    for value in values:
        if value is not None and (result is None or is_greater(value, result)):
            result = value
    return result


def least(values: list) -> object:
    """Return the least value that is not NULL."""
    result = None
    for value in values:
        if value is not None and (result is None or is_greater(result, value)):
            result = value
    return result
