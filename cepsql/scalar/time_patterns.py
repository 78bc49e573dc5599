"""DATE_FORMAT: local times as text by a pattern of Java's that has only numbers."""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from cepsql.base.calendar import DAY, civil, hour, minute, second, year_text

_PARTS = re.compile(r"(yyyy|MM?|dd?|HH?|mm?|ss?|S{1,6})|([-/:., _]+)")
_SIZES = {"y": DAY, "M": DAY, "d": DAY, "H": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "S": 1}


def is_supported(pattern: str) -> bool:
    """Tell whether a pattern is supported: it has only known fields, and no two adjacent ones of one letter."""
    parts = _split(pattern)
    return "".join(letters or rest for letters, rest in parts) == pattern and not any(
        left and right and left[0] == right[0] for (left, _), (right, _) in pairwise(parts)
    )


def smallest(pattern: str) -> int:
    """Return the smallest unit of a pattern, in microseconds: times within one unit have the same text."""
    return min((_SIZES[letters[0]] for letters, _ in _split(pattern) if letters), default=DAY)


@lru_cache(maxsize=64)
def writer(pattern: str) -> Callable[[int], str]:
    """Return the function that formats a local time, in microseconds, by a supported pattern."""
    parts = _split(pattern)

    def write(micros: int) -> str:
        return "".join(_written(letters, micros) if letters else rest for letters, rest in parts)

    return write


def date_format(micros: int, pattern: str) -> str:
    """Format a local time by a pattern.

    >>> date_format(1_500_000, "yyyy-MM-dd H:mm:ss.SSS")
    '1970-01-01 0:00:01.500'
    """
    return writer(pattern)(micros)


def _split(pattern: str) -> list[tuple[str, str]]:
    return [(match[1] or "", match[2] or "") for match in _PARTS.finditer(pattern)]


def _written(letters: str, micros: int) -> str:
    match letters[0]:
        case "y":
            return year_text(civil(micros // DAY)[0])
        case "M":
            number = civil(micros // DAY)[1]
        case "d":
            number = civil(micros // DAY)[2]
        case "H":
            number = hour(micros)
        case "m":
            number = minute(micros)
        case "s":
            number = second(micros)
        case _:
            return f"{micros % 1_000_000:06}"[: len(letters)]
    return f"{number:0{len(letters)}}"
