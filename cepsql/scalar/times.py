"""Texts of times and dates by the rules of Spark's casts from strings (ANSI mode off)."""

import datetime
import re
import time
from zoneinfo import ZoneInfo

import numpy as np

from cepsql.scalar.zone import CYCLE, Zone

_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST, _END = -62_135_596_800_000_000, 253_402_300_800_000_000
"""The beginning of year 1, and that of year 10000."""

_BLANK = "".join(map(chr, range(33))) + "\x7f"
"""Spaces and control characters, which may surround a time."""

_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?([^\d.].*|(?<=\.)\..*)?)?)?"
_TIMESTAMP = re.compile(rf"([+-]?)(\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T]{_CLOCK})?)?)?", re.ASCII | re.DOTALL)
_TIME = re.compile(_CLOCK, re.ASCII | re.DOTALL)
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_NAMED = re.compile(r"epoch|now|today|tomorrow|yesterday", re.IGNORECASE)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d)(?::?(\d\d))?)?", re.ASCII)
_SHORT_MINUTES = re.compile(r"([+-]\d\d?):(\d)", re.ASCII)
_ABBREVIATED = {
    "EST": "-05:00", "HST": "-10:00", "MST": "-07:00", "ACT": "Australia/Darwin", "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo", "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
    "CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip


def parse_timestamp(text: str, zone: Zone) -> int | None:
    """Return the microseconds since the epoch of a TIMESTAMP as text; `zone` is the session's time zone.

    None if Spark cannot parse it. A time without a date means that time today.
    """
    clock = _clock(text)
    if clock is not None:
        return _instant(_local(_today(zone), *clock.groups()[:4]), clock[5], zone)
    local, name = _dated(text)
    return _instant(local, name, zone)


def parse_local_time(text: str) -> int | None:
    """Return the microseconds since the epoch, as if in UTC, of a TIMESTAMP_NTZ as text.

    None if Spark cannot parse it, such as a time without a date. A time zone must be valid, but is ignored.

    >>> parse_local_time("1970-01-01 00:00:01 Europe/Berlin")
    1000000
    """
    local, name = _dated(text)
    valid = local is not None and (not name or _at_zone(local, name.strip(_BLANK)) is not None)
    return _in_range(local) if valid else None


def means_today(text: str) -> bool:
    """Tell whether a text is a time without a date, which `parse_timestamp` reads as that time today.

    >>> means_today("12:30"), means_today("2024-03-01 12:30")
    (True, False)
    """
    return _clock(text) is not None


def is_named(text: str) -> bool:
    """Tell whether a text names a time, like 'now'; Spark accepts these names in constants only.

    >>> is_named("today"), is_named("Epoch Europe/Berlin"), is_named("2024-03-01")
    (True, True, False)
    """
    return _NAMED.match(text.strip(_BLANK)) is not None


def parse_date(text: str) -> int | None:
    """Return the days since the epoch of a DATE as text, None if Spark cannot parse it."""
    match = _DATE.fullmatch(text.strip(_BLANK))
    if not match:
        return None
    day = _day(*match.groups())
    return day if day is not None and -(2**31) <= day < 2**31 else None


def _dated(text: str) -> tuple[int | None, str | None]:
    """Return the local time of a text with a date, None if it is not valid, and the text of its time zone."""
    match = _TIMESTAMP.fullmatch(text.strip(_BLANK))
    day = _day(match[1], match[2], match[3], match[4]) if match else None
    if not match or day is None:
        return None, None
    return _local(day, *match.groups()[4:8]), match[9]


def _instant(local: int | None, name: str | None, zone: Zone) -> int | None:
    """Return the instant of a local time in the zone that the text names, else in the session's."""
    if local is None:
        return None
    return _in_range(_at_zone(local, name.strip(_BLANK)) if name else zone.instant(local))


def _in_range(micros: int | None) -> int | None:
    return micros if micros is not None and -(2**63) <= micros < 2**63 else None


def _clock(text: str) -> re.Match | None:
    """Match a time without a date: with minutes, or after a T."""
    marked = text.startswith("T")
    match = _TIME.fullmatch(text.rstrip(_BLANK)[1:] if marked else text.strip(_BLANK))
    return match if match and (marked or match[2] is not None) else None


def _day(sign: str, year: str, month: str | None, day: str | None) -> int | None:
    """Return days since the epoch in the proleptic Gregorian calendar."""
    y, m, d = int(sign + year), int(month or 1), int(day or 1)
    # The calendar repeats itself after 400 years of 146,097 days.
    cycles, y = divmod(y - 2000, 400)
    try:
        return datetime.date(2000 + y, m, d).toordinal() - _EPOCH.toordinal() + cycles * 146_097
    except ValueError:
        return None


def _local(day: int, hour: str | None, minute: str | None, second: str | None, fraction: str | None) -> int | None:
    h, m, s = int(hour or 0), int(minute or 0), int(second or 0)
    if h > 23 or m > 59 or s > 59:
        return None
    return day * _DAY + h * _HOUR + m * _MINUTE + s * _SECOND + int((fraction or "")[:6].ljust(6, "0"))


def _today(zone: Zone) -> int:
    now = time.time_ns() // 1000
    offsets = [o for o in zone.offsets if int(zone.instants(np.array([now + o]))[0]) == now]
    return (now + (offsets[0] if offsets else 0)) // _DAY


def _at_zone(local: int, name: str) -> int | None:
    """Return the instant at which a clock of the named zone or offset shows a local time."""
    name = _ABBREVIATED.get(name, name)
    name = _SHORT_MINUTES.sub(r"\g<1>:0\2", name) if _SHORT_MINUTES.fullmatch(name) else name
    if name in ("Z", "UTC", "GMT", "UT"):
        return local
    if match := _OFFSET.fullmatch(name):
        size = int(match[2]) * 3600 + int(match[3] or 0) * 60 + int(match[4] or 0)
        if size > 18 * 3600 or int(match[3] or 0) > 59 or int(match[4] or 0) > 59:
            return None
        return local - (size if match[1] == "+" else -size) * _SECOND
    try:
        offset = ZoneInfo(name).utcoffset(_EPOCH + datetime.timedelta(microseconds=_within_python(local)))
    except (ValueError, OSError, KeyError):
        return None
    assert offset is not None
    return local - offset // datetime.timedelta(microseconds=1)


def _within_python(local: int) -> int:
    """Return a time of the years 1 to 9999 that clocks of every zone show with the same offset."""
    return max(_FIRST, local if local < _END else _END - CYCLE + (local - _END) % CYCLE)
