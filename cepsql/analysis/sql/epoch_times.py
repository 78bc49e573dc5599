"""Numbers that count time since 1970, and what makes times of them."""

import re

_SECONDS = ("int", "integer", "decimal", "double", "float")
_NUMBERS = ("bigint", "long", *_SECONDS)
_ENDINGS = (
    (re.compile(r"(_ns|nanos(econds)?)$", re.I), "timestamp_micros({} div 1000)"),
    (re.compile(r"(_us|micros(econds)?)$", re.I), "timestamp_micros({})"),
    (re.compile(r"(_ms|mill?is|milliseconds)$", re.I), "timestamp_millis({})"),
    (re.compile(r"(_s|_secs?|seconds)$", re.I), "timestamp_seconds({})"),
)
OTHER_UNITS = "timestamp_seconds and timestamp_micros take others than milliseconds"


def is_number(kind: str) -> bool:
    """Tell whether a type is one of numbers."""
    return _plain(kind) in _NUMBERS


def _plain(kind: str) -> str:
    return kind.lower().split("(")[0].strip()


def made_time(column: str, kind: str = "bigint") -> str:
    """Return the call that makes a time of a column of a type of numbers: by the unit in its name; without one they are
    milliseconds, or seconds where an INT could not count milliseconds, and where there are fractions.

    >>> made_time("at"), made_time("sent_us"), made_time("epoch_seconds"), made_time("at", "int")
    ('timestamp_millis(at)', 'timestamp_micros(sent_us)', 'timestamp_seconds(epoch_seconds)', 'timestamp_seconds(at)')
    """
    plain = "timestamp_seconds({})" if _plain(kind) in _SECONDS else "timestamp_millis({})"
    return next((call for ending, call in _ENDINGS if ending.search(column)), plain).format(column)


def time_hint(column: str, kind: str, otherwise: str) -> str:
    """Return the hint for a clause that needs a time and was given a column of another type.

    A BIGINT counts time, and so do other numbers whose names have a unit.
    """
    counts = _plain(kind) in ("bigint", "long") or any(ending.search(column) for ending, _ in _ENDINGS)
    if not is_number(kind) or not counts:
        return otherwise
    return f"FROM (SELECT *, {made_time(column, kind)} AS time FROM ...) computes a time"
