"""Days and times of the Gregorian calendar, also before year 1 and after 9999, which Python's dates do not reach."""

import calendar
from typing import TypeVar

import numpy as np

Whole = TypeVar("Whole", int, np.ndarray)
"""Integers, or an array of BIGINTs."""

DAY = 86_400_000_000
"""Microseconds."""

_CYCLE = 146_097
_ORDINAL_OF_EPOCH = 719_468


def civil(days: Whole) -> tuple[Whole, Whole, Whole]:
    """Return year, month and day of a number of days since 1970-01-01.

    The method is Howard Hinnant's, "chrono-Compatible Low-Level Date Algorithms": years that begin in March.

    >>> civil(0), civil(-719_529), civil(2_932_897)
    ((1970, 1, 1), (-1, 12, 31), (10000, 1, 1))
    """
    era, day = (days + _ORDINAL_OF_EPOCH) // _CYCLE, (days + _ORDINAL_OF_EPOCH) % _CYCLE
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    rest = day - (365 * year + year // 4 - year // 100)
    month = (5 * rest + 2) // 153
    date = rest - (153 * month + 2) // 5 + 1
    return year + era * 400 + (month >= 10), month + 3 - 12 * (month >= 10), date


def day_number(year: Whole, month: Whole | int, day: Whole | int) -> Whole:
    """Return the days since 1970-01-01 of a date."""
    year = year - (month <= 2)
    era, within = year // 400, year % 400
    rest = (153 * (month - 3 + 12 * (month <= 2)) + 2) // 5 + day - 1
    return era * _CYCLE + within * 365 + within // 4 - within // 100 + rest - _ORDINAL_OF_EPOCH


def year(days: Whole) -> Whole:
    """Return the year of a day."""
    return civil(days)[0]


def quarter(days: Whole) -> Whole:
    """Return the quarter of a day, from 1."""
    return (civil(days)[1] + 2) // 3


def month(days: Whole) -> Whole:
    """Return the month of a day, from 1."""
    return civil(days)[1]


def day_of_month(days: Whole) -> Whole:
    """Return the day within its month, from 1."""
    return civil(days)[2]


def day_of_year(days: Whole) -> Whole:
    """Return the day within its year, from 1."""
    return days - day_number(civil(days)[0], 1, 1) + 1


def day_of_week(days: Whole) -> Whole:
    """Return the day within its week, 1 on Sunday."""
    return (days + 4) % 7 + 1


def weekday(days: Whole) -> Whole:
    """Return the day within its week, 0 on Monday."""
    return (days + 3) % 7


def week_of_year(days: Whole) -> Whole:
    """Return the week of ISO 8601, which belongs to the year of its Thursday."""
    return (day_of_year(days - weekday(days) + 3) + 6) // 7


def last_day(days: Whole) -> Whole:
    """Return the last day of the month."""
    year, month, _ = civil(days)
    return day_number(year + month // 12, month % 12 + 1, 1) - 1


def hour(micros: Whole) -> Whole:
    """Return the hour of a local time."""
    return micros // 3_600_000_000 % 24


def minute(micros: Whole) -> Whole:
    """Return the minute of a local time."""
    return micros // 60_000_000 % 60


def second(micros: Whole) -> Whole:
    """Return the whole second of a local time."""
    return micros // 1_000_000 % 60


def add_months(days: int, months: int) -> int:
    """Return the day so many months later, the last of the month where that is shorter."""
    year, month, day = civil(days)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    return day_number(year, month + 1, min(day, calendar.monthrange(2000 + year % 400, month + 1)[1]))


def whole_months(begin: int, end: int) -> int:
    """Return the whole months from one local time in microseconds to another."""
    first, last = divmod(begin, DAY), divmod(end, DAY)
    (y, m, d), (year, month, day) = civil(first[0]), civil(last[0])
    months = (year - y) * 12 + month - m
    rest = ((day, last[1]), (d, first[1]))
    if months > 0 and rest[0] < rest[1]:
        return months - 1
    if months < 0 and rest[0] > rest[1]:
        return months + 1
    return months


def day_text(days: int) -> str:
    """Return a date as Spark casts it to STRING.

    >>> day_text(19_783), day_text(2_932_897)
    ('2024-03-01', '+10000-01-01')
    """
    year, month, day = civil(days)
    return f"{year_text(year)}-{month:02}-{day:02}"


def year_text(year: int) -> str:
    """Return a year with at least four digits, and with a sign before 0 and after 9999."""
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}"


def time_text(micros: int) -> str:
    """Return a local time as Spark casts it to STRING.

    >>> time_text(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    days, rest = divmod(micros, DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    text = f"{day_text(days)} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}".rstrip("0") if fraction else text
