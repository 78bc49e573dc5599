"""The text of numbers and intervals."""

import datetime
import math


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
