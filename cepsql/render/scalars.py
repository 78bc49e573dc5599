"""The text of numbers and intervals, and time zones by Spark's names."""

import datetime
import math
import re
from zoneinfo import ZoneInfo

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?\Z")


def float_text(value: float, precision: type = float) -> str:
    """Write the shortest text that reads back as the same number of that precision.

    >>> [float_text(v) for v in (1.0, 1e300, float("nan"), float("-inf"))]
    ['1.0', '1e+300', 'NaN', '-Infinity']
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(precision(value))


def duration_text(value: datetime.timedelta) -> str:
    """Write a day-time interval: days, then hours, minutes and seconds.

    >>> duration_text(datetime.timedelta(days=1, seconds=3723, microseconds=500000))
    '1 01:02:03.5'
    >>> duration_text(datetime.timedelta(seconds=-1))
    '-0 00:00:01'
    """
    seconds, micros = divmod(abs(value // datetime.timedelta(microseconds=1)), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    sign = "-" if value < datetime.timedelta() else ""
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    return f"{sign}{days} {hours:02d}:{minutes:02d}:{seconds:02d}{fraction}"


def canonical_zone(zone: str) -> str:
    """Write a Spark time zone as Arrow reads it: a region or an offset of hours and minutes.

    >>> [canonical_zone(z) for z in ("Europe/Paris", "GMT+8", "-03:30", "Z")]
    ['Europe/Paris', '+08:00', '-03:30', 'UTC']
    """
    if zone == "Z":
        return "UTC"
    offset = _OFFSET.match(zone)
    return f"{offset[1]}{int(offset[2]):02d}:{offset[3] or '00'}" if offset else zone


def zone_info(zone: str) -> datetime.tzinfo:
    """Return the time zone of a canonical name."""
    offset = _OFFSET.match(zone)
    if not offset:
        return ZoneInfo(zone)
    minutes = int(offset[2]) * 60 + int(offset[3])
    return datetime.timezone(datetime.timedelta(minutes=-minutes if offset[1] == "-" else minutes))
