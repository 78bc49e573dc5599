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


def has_cast(source: Type, target: Type) -> bool:
    """Tell whether a cast gives the same as Spark's."""
    if source.name == target.name == "array":
        return source == target or VOID in source.arguments or has_cast(source.arguments[0], target.arguments[0])
    if source.name == target.name == "interval":
        return target.precision <= source.precision and target.scale >= source.scale
    if source == STRING:
        return is_number(target) or target in DATETIMES or target == BOOLEAN
    if target == STRING:
        return source in INTEGERS or is_decimal(source) or source in DATETIMES or source == BOOLEAN
    if source in DATETIMES and target in DATETIMES:
        return True
    if source == TIMESTAMP:
        return target in (BIGINT, DOUBLE)
    if target == TIMESTAMP:
        return source in INTEGERS
    return (is_number(source) or source == BOOLEAN) and (is_number(target) or target == BOOLEAN)


def cast_function(source: Type, target: Type, session: Session) -> Callable[[Any], object]:
    """Return the function that casts a value other than NULL.

    A value that cannot be cast becomes None; in ANSI mode it raises DataError.
    """
    if source.name == "array":
        return _elements(cast_function(source.arguments[0], target.arguments[0], session))
    if session.ansi:
        convert = _or_error(attempt_function(source, target, session), target)
        if source in FRACTIONS and is_decimal(target):
            # Spark casts NaN and infinities to NULL in either mode.
            return lambda value: convert(value) if math.isfinite(value) else None
        return convert
    return _plain_cast(source, target, session.zone)


def attempt_function(source: Type, target: Type, session: Session) -> Callable[[Any], object]:
    """Return the function of TRY_CAST: CAST in ANSI mode, with None in place of its errors."""
    if source.name == "array":
        return _elements(attempt_function(source.arguments[0], target.arguments[0], session))
    if is_decimal(source) and target == STRING:
        return "{:f}".format
    plain = _plain_cast(source, target, session.zone)
    if source in INTEGERS or source in FRACTIONS or is_decimal(source):
        return _within_range(target, plain)
    if source == STRING and target in INTEGERS:
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
    """Make a cast to an integer type return None out of its range, not the nearest integer or the low bits."""
    if target not in INTEGERS:
        return convert
    limit = LIMITS[target.name]

    def checked(value: Any) -> int | None:
        whole = to_integer(value)
        return whole if whole is not None and -limit <= whole < limit else None

    return checked


def _plain_cast(source: Type, target: Type, zone: Zone) -> Callable[[Any], object]:
    if source == STRING:
        return _from_string(target, zone)
    if target == STRING:
        return _to_string(source, zone)
    if source.name == target.name == "interval":
        return lambda micros: micros
    if source in DATETIMES and target in DATETIMES:
        return _between_times(source, target, zone)
    if source == TIMESTAMP:
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


def _between_times(source: Type, target: Type, zone: Zone) -> Callable[[int], int | None]:
    if target == DATE:
        return (lambda micros: zone.clock(micros) // DAY) if source == TIMESTAMP else (lambda micros: micros // DAY)
    if source == DATE:
        return (lambda days: _time(zone.instant(days * DAY))) if target == TIMESTAMP else (lambda d: _time(d * DAY))
    return zone.clock if source == TIMESTAMP else zone.instant


def _time(micros: int) -> int:
    if not -(2**63) <= micros < 2**63:
        raise DataError("a date is beyond what a TIMESTAMP can hold")
    return micros


def _integer(target: str, value: Decimal | float) -> int:
    if isinstance(value, float):
        # Spark casts a float to INT or BIGINT first, and saturates there.
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
    """Parse an integer, without its fraction; with `whole`, a fraction makes it None."""
    match = _WHOLE.fullmatch(text.strip(_SPACE))
    if match is None or not (match[2] or match[3]) or (whole and match[3]):
        return None
    value = whole_number(f"{match[1]}{match[2] or '0'}")
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


def _to_string(source: Type, zone: Zone) -> Callable[[Any], str]:
    if source == BOOLEAN:
        return lambda value: "true" if value else "false"
    if source == DATE:
        return day_text
    if source in TIMESTAMPS:
        return (lambda micros: time_text(zone.clock(micros))) if source == TIMESTAMP else time_text
    return str
