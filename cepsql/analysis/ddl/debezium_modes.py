"""The options of FORMAT debezium that say how Debezium's connector writes decimals, dates, times and bytes."""

import re
from collections.abc import Mapping

from cepsql.errors import suggestion

DECIMAL_MODE, TIME_MODE, PRECISION = "decimal.handling.mode", "time.precision.mode", "timestamp.precision"
BINARY_MODE = "binary.handling.mode"
MODES = {
    DECIMAL_MODE: ("precise", "string", "double"),
    TIME_MODE: (
        "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds",
    ),
    PRECISION: ("3", "6", "9"),
    BINARY_MODE: ("bytes", "base64", "base64-url-safe", "hex"),
}  # fmt: skip
"""The values of these options. PRECISION is how many digits of a second `adaptive` counts, where no schema says it."""

_KINDS = {
    "decimal": "decimal", "dec": "decimal", "numeric": "decimal", "date": "date", "timestamp": "timestamp",
    "timestamp_ltz": "timestamp", "timestamp_ntz": "timestamp_ntz", "binary": "binary",
}  # fmt: skip
_MODE_OF = {"decimal": DECIMAL_MODE, "binary": BINARY_MODE}
_NAME = re.compile(r"\s*(\w+)\s*(?:\([\d\s,]*\))?\s*")


def coded_kind(type: str) -> str | None:
    """Return decimal, date, timestamp, timestamp_ntz or binary for types that Debezium writes by codes, else None.

    >>> coded_kind("NUMERIC(8, 2)"), coded_kind("array<date>")
    ('decimal', None)
    """
    coded = _NAME.fullmatch(type.lower())
    return _KINDS.get(coded[1]) if coded else None


def missing_mode(type: str, options: Mapping[str, str]) -> str | None:
    """Return the option without which a column of a type can't be read, None if it can."""
    kind = coded_kind(type)
    needed = None if kind is None else _MODE_OF.get(kind, TIME_MODE)
    return None if needed in {name.lower() for name in options} else needed


def wrong_mode(options: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Return an option whose value is no mode, the value, and a hint; None if all are."""
    for name, value in options.items():
        modes = MODES.get(name.lower())
        if modes is not None and value.lower() not in modes:
            return name, value, suggestion(value, modes, "values") or f"values: {', '.join(modes)}"
    return None
