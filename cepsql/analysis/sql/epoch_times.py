"""Numbers that count time since 1970, and what makes times of them."""

import re

_NUMBERS = ("bigint", "long", "int", "integer", "decimal", "double", "float")
_ENDINGS = (
    (re.compile(r"(_ns|nanos(econds)?)$", re.I), "timestamp_micros({} div 1000)"),
    (re.compile(r"(_us|micros(econds)?)$", re.I), "timestamp_micros({})"),
    (re.compile(r"(_ms|mill?is|milliseconds)$", re.I), "timestamp_millis({})"),
    (re.compile(r"(_s|_secs?|seconds)$", re.I), "timestamp_seconds({})"),
)
OTHER_UNITS = "timestamp_seconds and timestamp_micros take others than milliseconds"


def is_number(kind: str) -> bool:
    """Tell whether a type is one of numbers."""
    return kind.lower().split("(")[0] in _NUMBERS


def made_time(column: str) -> str:
    """Return the call that makes a time of a column: by the unit in its name, of milliseconds without one.

    >>> made_time("at"), made_time("sent_us"), made_time("epoch_seconds")
    ('timestamp_millis(at)', 'timestamp_micros(sent_us)', 'timestamp_seconds(epoch_seconds)')
    """
    return next((call for ending, call in _ENDINGS if ending.search(column)), "timestamp_millis({})").format(column)


def time_hint(column: str, kind: str, otherwise: str) -> str:
    """Return the hint for a clause that needs a time and was given a column of another type."""
    if kind.lower() not in ("bigint", "long"):
        return otherwise
    return f"FROM (SELECT *, {made_time(column)} AS time FROM ...) has one"
