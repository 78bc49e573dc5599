"""Spark's arithmetic on plain Python values, for the source that `cepsql.scalar.python` writes."""

import ctypes
import math
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, TypeVar

from cepsql.errors import DataError

T = TypeVar("T")

__all__ = [
    "BEYOND",
    "add_exactly",
    "bounded",
    "decimal_add",
    "decimal_div",
    "decimal_mod",
    "decimal_mul",
    "decimal_negated",
    "decimal_sub",
    "fitting_decimal",
    "greatest",
    "in_range",
    "is_greater",
    "least",
    "low_bits",
    "mean",
    "modulo",
    "not_null",
    "same_nan",
    "to_decimal",
    "to_float",
    "to_integer",
    "wrap",
]

LIMITS = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "date": 2**31, "bigint": 2**63, "interval": 2**63}
"""Integer types reach from minus this to one below this."""

NAN, BEYOND = math.nan, math.inf
# Wide enough for the exact product of two decimals of 38 digits.
_CONTEXT = Context(prec=80, rounding=ROUND_HALF_UP)
_NEGATION = Context(prec=34, rounding=ROUND_HALF_EVEN)
_MANY_DIGITS = 100
_UNITS = [Decimal((0, (1,), -scale)) for scale in range(39)]


def to_decimal(value: Decimal | float, precision: int, scale: int) -> Decimal | None:
    """Round a number half up to a decimal(precision, scale); None if it does not fit."""
    try:
        rounded = _CONTEXT.quantize(_exact(value), _UNITS[scale])
    except InvalidOperation:
        return None
    if not rounded:
        # There is no negative zero.
        return rounded.copy_abs()
    return rounded if rounded.is_finite() and rounded.adjusted() < precision - scale else None


def fitting_decimal(value: Decimal | float | None, precision: int, scale: int, what: str) -> Decimal | None:
    """Round a number to a decimal(precision, scale), NULL to NULL. Raises DataError with `what` if it does not fit."""
    return None if value is None else not_null(to_decimal(value, precision, scale), what)


def _exact(value: Decimal | float) -> Decimal:
    """Return a number as a decimal; a float has the digits that it is written with, as in Spark."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def decimal_add(a: Decimal, b: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return a + b as decimal(precision, scale)."""
    return to_decimal(_CONTEXT.add(_exact(a), _exact(b)), precision, scale)


def decimal_sub(a: Decimal, b: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return a - b as decimal(precision, scale)."""
    return to_decimal(_CONTEXT.subtract(_exact(a), _exact(b)), precision, scale)


def decimal_mul(a: Decimal, b: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return a * b as decimal(precision, scale)."""
    return to_decimal(_CONTEXT.multiply(_exact(a), _exact(b)), precision, scale)


def decimal_div(a: Decimal, b: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return a / b as decimal(precision, scale), None if b is zero."""
    return to_decimal(_CONTEXT.divide(_exact(a), _exact(b)), precision, scale) if b else None


def decimal_mod(a: Decimal, b: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return the remainder with the sign of a, None if b is zero."""
    return to_decimal(_CONTEXT.remainder(_exact(a), _exact(b)), precision, scale) if b else None


def decimal_negated(value: Decimal, precision: int, scale: int) -> Decimal:
    """Return -value as decimal(precision, scale): Spark rounds it to 34 digits.

    Raises DataError where that has more digits than the type, as Spark does with and without ANSI mode.
    """
    return not_null(to_decimal(_NEGATION.minus(value), precision, scale), "a negation is beyond the range of its type")


def add_exactly(a: Decimal, b: Decimal) -> Decimal:
    """Return a + b without rounding."""
    return _CONTEXT.add(a, b)


def modulo(a: float, b: float) -> float | None:
    """Return the remainder with the sign of a, None if b is zero."""
    if not b:
        return None
    if isinstance(a, float) or isinstance(b, float):
        return math.fmod(a, b) if math.isfinite(a) else NAN
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


def to_float(value: float) -> float:
    """Round to single precision, once."""
    near = float(value)
    if not isinstance(value, float):
        above, below = (ctypes.c_float(math.nextafter(near, end)).value for end in (math.inf, -math.inf))
        if above != below and near != value:
            # A double half way between two floats hides on which side the number was.
            return above if value > near else below
    return ctypes.c_float(near).value


def to_integer(value: Decimal | float) -> int | None:
    """Cut off the fraction; None for NaN and the infinities."""
    if isinstance(value, Decimal):
        return int(value.to_integral_value(ROUND_DOWN))
    return int(value) if math.isfinite(value) else None


def whole_number(digits: str) -> int | None:
    """Return the integer that digits, perhaps behind a sign, mean; None for more of them than any type holds, of which
    Python reads only some thousand.

    >>> whole_number("-007"), whole_number("0" * 5000 + "7"), whole_number("7" * 5000)
    (-7, 7, None)
    """
    if len(digits) > _MANY_DIGITS:
        digits = digits[0] + digits[1:].lstrip("0")
    return int(digits) if len(digits) <= _MANY_DIGITS else None


def wrap(value: int, limit: int) -> int:
    """Bring an integer to the type that reaches from -limit to limit - 1 by keeping its low bits."""
    return (value + limit) % (2 * limit) - limit


def low_bits(value: Decimal | None) -> int | None:
    """Return a whole number as a BIGINT by keeping its low bits; NULL stays."""
    return None if value is None else wrap(int(value), 2**63)


def not_null(value: T | None, what: str) -> T:
    """Return a result; None stands for one that Spark refuses in ANSI mode, with a DataError."""
    if value is None:
        raise DataError(what, hint="without ANSI mode the value would be NULL")
    return value


def bounded(total: int) -> int | float:
    """Return a sum, BEYOND once it is beyond a BIGINT: it stays so whatever is added."""
    return total if -(2**63) <= total < 2**63 else BEYOND


def mean(total: Decimal | None, count: int, precision: int, scale: int) -> Decimal | None:
    """Return the average of decimals as decimal(precision, scale)."""
    return None if total is None else decimal_div(total, Decimal(count), precision, scale)


def in_range(value: int, limit: int) -> int:
    """Return an integer; raise DataError if it does not lie from -limit to limit - 1."""
    if not -limit <= value < limit:
        kind = _OF_LIMITS.get(limit, "its type")
        raise DataError(f"{value} is beyond the range of {kind}", hint="cast what it is computed from to a wider type")
    return value


_OF_LIMITS = {2**7: "TINYINT", 2**15: "SMALLINT", 2**31: "INT", 2**63: "BIGINT"}


def same_nan(value: object) -> object:
    """Return the value, and for any NaN always the same object, so that sets hold it once."""
    return value if value == value else NAN


def is_greater(a: Any, b: Any) -> bool:
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
