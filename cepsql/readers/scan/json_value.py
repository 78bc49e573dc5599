"""Convert JSON tokens to values as Spark's JSON reader does, type by type."""

import datetime
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from cepsql.readers.scan.json_line import WRONG
from cepsql.readers.scan.texts import parse_text
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.times import parse_date, parse_timestamp
from cepsql.scalar.types import BOOLEAN, DATE, FRACTIONS, INTEGERS, STRING, TIMESTAMP, Type, is_decimal
from cepsql.scalar.values import whole_number
from cepsql.scalar.zone import Zone

_SPECIAL = {
    "NaN": "nan", "Infinity": "inf", "+Infinity": "inf", "+INF": "inf", "-Infinity": "-inf", "-INF": "-inf",
}  # fmt: skip
_DAYS = re.compile(r"[+-]?\d+")
_NUMBER = ("integer", "float")
_CYCLE = 146_097
"""The number of days in 400 Gregorian years."""

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SWITCH = -141_427
"""The day 1582-10-15, from which on Spark uses the Gregorian calendar instead of the Julian one."""


def converter(type: Type, zone: Zone) -> Callable[[str, str], Any]:
    """Return the function from a token to a value of a column's type, for `json_line.read_line`."""
    if type == STRING:
        return lambda kind, text: text
    if type == BOOLEAN:
        return lambda kind, text: kind == "true" if kind in ("true", "false") else WRONG
    if type in INTEGERS:
        bits = arrow_type(type).bit_width
        return lambda kind, text: _integer(text, bits) if kind == "integer" else WRONG
    if type in FRACTIONS:
        return partial(_floating, type, zone)
    if type == TIMESTAMP:
        return partial(_timestamp, zone)
    if type == DATE:
        return lambda kind, text: _or_wrong(date_in_text(text)) if kind == "text" else WRONG
    if is_decimal(type):
        return partial(_decimal, type, zone)
    raise TypeError(type)


def timestamp_in_text(text: str, zone: Zone) -> int | None:
    """Return the microseconds since the epoch of a text, None if Spark does not read it as TIMESTAMP."""
    instant = parse_timestamp(text, zone)
    return parse_timestamp(text.replace("GMT", ""), zone) if instant is None and "GMT" in text else instant


def date_in_text(text: str) -> int | None:
    """Return the days since the epoch of a text, None if Spark does not read it as DATE.

    A number that is not a year counts days, in Java's former calendar.
    """
    day = parse_date(text)
    if day is None and "GMT" in text:
        day = parse_date(text.replace("GMT", ""))
    if day is None and _DAYS.fullmatch(text):
        day = whole_number(text)
        day = _from_julian(day) if day is not None and -(2**31) <= day < 2**31 else None
    return day


def _or_wrong(value: object) -> Any:
    return WRONG if value is None else value


def _integer(text: str, bits: int) -> Any:
    value, half = int(text), 2 ** (bits - 1)
    if bits == 8 and half <= value < 2 * half:
        # Jackson also accepts unsigned bytes.
        return value - 2 * half
    return value if -half <= value < half else WRONG


def _floating(type: Type, zone: Zone, kind: str, text: str) -> Any:
    if kind in ("special", "text"):
        return float(_SPECIAL[text]) if text in _SPECIAL else WRONG
    if kind not in _NUMBER:
        return WRONG
    return 0.0 if kind == "integer" and text == "-0" else _or_wrong(parse_text(text, type, zone))


def _timestamp(zone: Zone, kind: str, text: str) -> Any:
    if kind == "text":
        return _or_wrong(timestamp_in_text(text, zone))
    seconds = _integer(text, 64) if kind == "integer" else WRONG
    # Spark's multiplication wraps around.
    return WRONG if seconds is WRONG else (seconds * 1_000_000 + 2**63) % 2**64 - 2**63


def _decimal(type: Type, zone: Zone, kind: str, text: str) -> Any:
    if kind not in (*_NUMBER, "text"):
        return WRONG
    return _or_wrong(parse_text(text, type, zone))


def _from_julian(day: int) -> int:
    """Return the day of the proleptic Gregorian calendar with the Julian date of a day before 1582-10-15."""
    if day >= _SWITCH:
        return day
    # From March 1st on, both calendars count days alike; Julian years have 365.25 days.
    since = day + 719_470
    year = (4 * since + 3) // 1461
    cycles, within = divmod(year, 400)
    march = datetime.date(within + 400, 3, 1).toordinal() + (cycles - 1) * _CYCLE
    return march - _EPOCH + since - year * 1461 // 4
