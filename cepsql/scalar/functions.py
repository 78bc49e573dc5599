"""Functions of Spark on plain Python values, for conditions that put together values of several rows of a match.

Every function here gives NULL if one of its arguments is NULL, except those that the registry names. None stands for
NULL.
Types are as in `cepsql.scalar.expressions`. Spark computes the transcendental functions with Java's mathematics, whose
last bit may differ from the one here.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from cepsql.base import calendar
from cepsql.base.calendar import DAY, add_months, whole_months
from cepsql.scalar.decimals import exponent
from cepsql.scalar.regexes import REGEX_FUNCTIONS
from cepsql.scalar.strings import STRING_FUNCTIONS, concat_ws
from cepsql.scalar.time_patterns import date_format
from cepsql.scalar.values import in_range, wrap

_EXACT = Context(prec=400)
_MICROS = {"microsecond": 1, "millisecond": 10**3, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def _real(function: Callable[..., float]) -> Callable[..., float]:
    """Give NaN where a function is not defined and an infinity where it overflows, as Java does."""

    def safe(*arguments: float) -> float:
        try:
            return function(*map(float, arguments))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return safe


def _power(a: float, b: float) -> float:
    if abs(a) == 1 and (math.isinf(b) or math.isnan(b)):
        return math.nan
    odd = math.isfinite(b) and b == int(b) and int(b) % 2 != 0
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:
        if a == 0:
            return math.copysign(math.inf, a) if odd else math.inf
        return math.nan


def _logarithm(function: Callable[[float], float], above: float = 0.0) -> Callable[[float], float | None]:
    """NULL where the argument is not above a limit; NaN stays."""
    return lambda value: value if value != value else function(value) if value > above else None


def _log(base: float, value: float) -> float | None:
    if base <= 0 or value <= 0:
        return None
    if math.isnan(base) or math.isnan(value) or (math.isinf(base) and math.isinf(value)):
        return math.nan
    below = math.log(base)
    if below == 0:
        top = math.log(value)
        return math.nan if top == 0 else math.copysign(math.inf, top)
    return math.log(value) / below


def _sign(value: float) -> float:
    return value if value != value or value == 0 else math.copysign(1.0, value)


def _cotangent(value: float) -> float:
    tangent = math.tan(value)
    return math.copysign(math.inf, tangent) if tangent == 0 else 1 / tangent


def _rounded(mode: str) -> Callable[[Any, int], object]:
    def function(value: Decimal | float, digits: int) -> object:
        if isinstance(value, float) and not math.isfinite(value):
            return value
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        if digits < -exponent(exact):
            exact = exact.quantize(Decimal((0, (1,), -digits)), mode, _EXACT)
        return exact if isinstance(value, Decimal) else float(exact) if isinstance(value, float) else int(exact)

    return function


def _whole(mode: str) -> Callable[[Any], object]:
    def function(value: Decimal | float) -> object:
        if isinstance(value, Decimal):
            return value.to_integral_value(mode)
        if isinstance(value, float):
            if math.isnan(value):
                return 0
            if math.isinf(value) or abs(value) >= 2.0**63:
                return 2**63 - 1 if value > 0 else -(2**63)
            return math.floor(value) if mode == ROUND_FLOOR else math.ceil(value)
        return value

    return function


def positive_modulo(a: Any, b: Any, limit: int) -> Any:
    """Return PMOD; b is not zero, and integers wrap around at a limit."""
    if isinstance(a, Decimal) or isinstance(b, Decimal):
        rest = _EXACT.remainder(Decimal(a), Decimal(b))
        return _EXACT.remainder(_EXACT.add(rest, Decimal(b)), Decimal(b)) if rest < 0 else rest
    if isinstance(a, float):
        if math.isnan(a) or math.isnan(b) or math.isinf(a):
            return math.nan
        remainder = math.fmod(a, b)
        if remainder >= 0:
            return remainder
        return math.nan if math.isinf(b) else math.fmod(remainder + b, b)
    whole = int(math.copysign(1, a)) * (abs(a) % abs(b))
    if whole >= 0:
        return whole
    total = wrap(whole + b, limit)
    return (1 if total >= 0 else -1) * (abs(total) % abs(b))


def _integer_division(a: Any, b: Any) -> int:
    if isinstance(a, Decimal) or isinstance(b, Decimal):
        return int(_EXACT.divide_int(Decimal(a), Decimal(b)))
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def shift_left(value: int, places: int, bits: int) -> int:
    """Shift an integer of so many bits, and keep as many; Java takes the distance modulo those bits."""
    shifted = (value << (places % bits)) & (2**bits - 1)
    return shifted - 2**bits if shifted >= 2 ** (bits - 1) else shifted


def shift_right(value: int, places: int, bits: int) -> int:
    """Shift an integer of so many bits, keeping the sign."""
    return value >> (places % bits)


def _bit_count(value: int) -> int:
    return (value & (2**64 - 1)).bit_count() if value < 0 else value.bit_count()


def time_difference(unit: str) -> Callable[[int, int], int]:
    """Return the function that counts whole units from the second to the first of two local times in microseconds."""
    if unit in _MICROS or unit in ("day", "week"):
        size = _MICROS.get(unit) or (DAY if unit == "day" else 7 * DAY)
        return lambda end, begin: _integer_division(end - begin, size)
    return lambda end, begin: _integer_division(whole_months(begin, end), _MONTHS[unit])


def _instant(factor: int) -> Callable[[int], int]:
    return lambda number: in_range(number * factor, 2**63)


TIME_UNITS = (*_MICROS, "day", "week", *_MONTHS)
"""The units of TIMESTAMPDIFF."""

PARTS_OF_DAYS: dict[str, Callable] = {
    "year": calendar.year,
    "quarter": calendar.quarter,
    "month": calendar.month,
    "day": calendar.day_of_month,
    "dayofyear": calendar.day_of_year,
    "dayofweek": calendar.day_of_week,
    "weekday": calendar.weekday,
    "weekofyear": calendar.week_of_year,
    "last_day": calendar.last_day,
}
"""Of days since 1970-01-01, also of arrays of them."""

PARTS_OF_TIMES: dict[str, Callable] = {"hour": calendar.hour, "minute": calendar.minute, "second": calendar.second}
"""Of local times in microseconds, also of arrays of them."""

FUNCTIONS: dict[str, Callable] = {
    **STRING_FUNCTIONS,
    **REGEX_FUNCTIONS,
    **PARTS_OF_DAYS,
    **PARTS_OF_TIMES,
    "date_format": date_format,
    **{name: _real(getattr(math, name)) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "radians")},
    **{name: _real(getattr(math, name)) for name in ("degrees", "cosh", "tanh", "sqrt", "hypot", "exp", "expm1")},
    "sinh": lambda value: math.copysign(math.inf, value) if abs(value) > 711 else math.sinh(value),
    # Spark takes -0.0 for 0.0 here.
    "atan2": lambda y, x: math.atan2(y + 0.0, x + 0.0),
    "cot": _real(_cotangent),
    "cbrt": math.cbrt,
    "power": _power,
    "ln": _logarithm(math.log),
    "log10": _logarithm(math.log10),
    "log2": _logarithm(math.log2),
    "log1p": _logarithm(math.log1p, -1.0),
    "log": _log,
    "sign": _sign,
    "rint": lambda value: float(round(value)) if math.isfinite(value) else value,
    "round": _rounded(ROUND_HALF_UP),
    "bround": _rounded(ROUND_HALF_EVEN),
    "floor": _whole(ROUND_FLOOR),
    "ceil": _whole(ROUND_CEILING),
    "pmod": positive_modulo,
    "intdiv": _integer_division,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "bitnot": lambda a: ~a,
    "shiftleft": shift_left,
    "shiftright": shift_right,
    "bit_count": _bit_count,
    "isnan": lambda value: value is not None and value != value,
    "concat_ws": concat_ws,
    "add_months": add_months,
    "timestamp_seconds": _instant(10**6),
    "timestamp_millis": _instant(10**3),
    "timestamp_micros": _instant(1),
    **dict.fromkeys(("unix_micros", "unix_date", "date_from_unix_date"), lambda number: number),
    **{f"{unit}s_between": time_difference(unit) for unit in TIME_UNITS},
}
"""By name."""
