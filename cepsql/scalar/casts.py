"""CAST between types, with the results that Spark gives, with and without ANSI mode."""

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from cepsql.base.calendar import DAY, day_text, time_text
from cepsql.errors import DataError
from cepsql.scalar.expressions import Session
from cepsql.scalar.times import parse_date, parse_local_time, parse_timestamp
from cepsql.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DATETIMES,
    DOUBLE,
    FRACTIONS,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    VOID,
    Type,
    is_decimal,
    is_number,
)
from cepsql.scalar.values import LIMITS, to_decimal, to_float, to_integer, whole_number, wrap
from cepsql.scalar.zone import Zone

_SPACE = "".join(map(chr, range(33))) + "\x7f"
_WHOLE = re.compile(r"([+-]?)(\d*)(\.\d*)?", re.ASCII)
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?", re.ASCII)
_SPECIAL = re.compile(r"([+-]?)(nan|inf|infinity)", re.IGNORECASE)
_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_SECOND = 1_000_000


def has_cast(given: Type, target: Type) -> bool:
    """Tell whether a cast is known to give what Spark's gives."""
    if given.name == target.name == "array":
        return given == target or VOID in given.arguments or has_cast(given.arguments[0], target.arguments[0])
    if given.name == target.name == "interval":
        return target.precision <= given.precision and target.scale >= given.scale
    if given == STRING:
        return is_number(target) or target in DATETIMES or target == BOOLEAN
    if target == STRING:
        return given in INTEGERS or is_decimal(given) or given in DATETIMES or given == BOOLEAN
    if given in DATETIMES and target in DATETIMES:
        return True
    if given == TIMESTAMP:
        return target in (BIGINT, DOUBLE)
    if target == TIMESTAMP:
        return given in INTEGERS
    return (is_number(given) or given == BOOLEAN) and (is_number(target) or target == BOOLEAN)


def cast_function(given: Type, target: Type, session: Session) -> Callable[[Any], object]:
    """Return the function that casts a value that is not NULL.

    What cannot be cast gives None, and in ANSI mode raises DataError.
    """
    if given.name == "array":
        return _elements(cast_function(given.arguments[0], target.arguments[0], session))
    if session.ansi:
        convert = _or_error(attempt_function(given, target, session), target)
        if given in FRACTIONS and is_decimal(target):
            # Of what is no number Spark makes NULL in either mode.
            return lambda value: convert(value) if math.isfinite(value) else None
        return convert
    return _plain_cast(given, target, session.zone)


def attempt_function(given: Type, target: Type, session: Session) -> Callable[[Any], object]:
    """Return the function of TRY_CAST: as in ANSI mode, but with None for what cannot be cast."""
    if given.name == "array":
        return _elements(attempt_function(given.arguments[0], target.arguments[0], session))
    if is_decimal(given) and target == STRING:
        return "{:f}".format
    plain = _plain_cast(given, target, session.zone)
    if given in INTEGERS or given in FRACTIONS or is_decimal(given):
        return _within_range(target, plain)
    if given == STRING and target in INTEGERS:
        return partial(_parse_integer, LIMITS[target.name], whole=True)
    return plain


def _elements(convert: Callable[[Any], object]) -> Callable[[tuple], tuple]:
    return lambda values: tuple(None if value is None else convert(value) for value in values)


def _or_error(convert: Callable[[Any], object], target: Type) -> Callable[[Any], object]:
    def checked(value: Any) -> object:
        result = convert(value)
        if result is None:
            raise DataError(f"{value!s} cannot be cast to {str(target).upper()}", hint="TRY_CAST gives NULL instead")
        return result

    return checked


def _within_range(target: Type, convert: Callable[[Any], object]) -> Callable[[Any], object]:
    """Make a cast to an integer type give None for what is beyond its ends, instead of the nearest or its low bits."""
    if target not in INTEGERS:
        return convert
    limit = LIMITS[target.name]

    def checked(value: Any) -> int | None:
        whole = to_integer(value)
        return whole if whole is not None and -limit <= whole < limit else None

    return checked


def _plain_cast(given: Type, target: Type, zone: Zone) -> Callable[[Any], object]:
    if given == STRING:
        return _from_string(target, zone)
    if target == STRING:
        return _to_string(given, zone)
    if given.name == target.name == "interval":
        return lambda micros: micros
    if given in DATETIMES and target in DATETIMES:
        return _between_times(given, target, zone)
    if given == TIMESTAMP:
        return (lambda micros: micros // _SECOND) if target == BIGINT else (lambda micros: micros / _SECOND)
    if target == TIMESTAMP:
        return lambda seconds: max(-(2**63), min(seconds * _SECOND, 2**63 - 1))
    if target == BOOLEAN:
        return lambda value: value != 0
    if target in FRACTIONS:
        return float if target == DOUBLE else to_float
    if target in INTEGERS:
        return partial(_integer, target.name)
    return lambda value: to_decimal(value, target.precision, target.scale)


def _between_times(given: Type, target: Type, zone: Zone) -> Callable[[int], int | None]:
    if target == DATE:
        return (lambda micros: zone.clock(micros) // DAY) if given == TIMESTAMP else (lambda micros: micros // DAY)
    if given == DATE:
        return (lambda days: _time(zone.instant(days * DAY))) if target == TIMESTAMP else (lambda d: _time(d * DAY))
    return zone.clock if given == TIMESTAMP else zone.instant


def _time(micros: int) -> int:
    if not -(2**63) <= micros < 2**63:
        raise DataError("a date is beyond what a TIMESTAMP can hold")
    return micros


def _integer(target: str, value: Decimal | float) -> int:
    if isinstance(value, float):
        # A float goes to INT or BIGINT first, whose ends it stops at.
        limit = LIMITS["bigint" if target == "bigint" else "int"]
        whole = 0 if value != value else limit - 1 if value >= limit else max(-limit, int(max(value, -limit)))
        return wrap(whole, LIMITS[target])
    return wrap(int(value), LIMITS[target])


def _from_string(target: Type, zone: Zone) -> Callable[[str], object]:
    if target in INTEGERS:
        return partial(_parse_integer, LIMITS[target.name])
    if target in FRACTIONS:
        return _parse_real if target == DOUBLE else lambda text: _single(_parse_real(text))
    if target == BOOLEAN:
        return lambda text: _BOOLEANS.get(text.strip(_SPACE).lower())
    if target == DATE:
        return parse_date
    if target == TIMESTAMP:
        return partial(parse_timestamp, zone=zone)
    if target == TIMESTAMP_NTZ:
        return parse_local_time
    return partial(_parse_decimal, target.precision, target.scale)


def _single(value: float | None) -> float | None:
    return None if value is None else to_float(value)


def _parse_integer(limit: int, text: str, whole: bool = False) -> int | None:
    """Read an integer, without its fraction unless it must be `whole`."""
    found = _WHOLE.fullmatch(text.strip(_SPACE))
    if found is None or not (found[2] or found[3]) or (whole and found[3]):
        return None
    value = whole_number(f"{found[1]}{found[2] or '0'}")
    return value if value is not None and -limit <= value < limit else None


def _parse_real(text: str) -> float | None:
    text = text.strip(_SPACE)
    special = _SPECIAL.fullmatch(text)
    if special is not None:
        return float(text)
    return float(text.rstrip("dDfF")) if _REAL.fullmatch(text) else None


def _parse_decimal(precision: int, scale: int, text: str) -> Decimal | None:
    text = text.strip(_SPACE)
    if not _REAL.fullmatch(text) or text[-1] in "dDfF":
        return None
    try:
        return to_decimal(Decimal(text), precision, scale)
    except InvalidOperation:
        return None


def _to_string(given: Type, zone: Zone) -> Callable[[Any], str]:
    if given == BOOLEAN:
        return lambda value: "true" if value else "false"
    if given == DATE:
        return day_text
    if given in TIMESTAMPS:
        return (lambda micros: time_text(zone.clock(micros))) if given == TIMESTAMP else time_text
    return str
