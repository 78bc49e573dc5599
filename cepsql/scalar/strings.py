"""String functions of Spark on Python strings; lengths and places count characters (code points), from 1."""

import re
from collections.abc import Callable
from functools import lru_cache

from cepsql.errors import DataError


def substring(text: str, start: int, length: int = 2**31 - 1) -> str:
    """Return so many characters from a place on; negative places count from the end, place 0 is place 1."""
    begin = start - 1 if start > 0 else start + len(text) if start < 0 else 0
    end = begin + length
    return text[max(begin, 0) : max(end, 0)] if length > 0 else ""


def replace(text: str, search: str, replacement: str = "") -> str:
    """Replace every occurrence; an empty search replaces nothing."""
    return text.replace(search, replacement) if search else text


def locate(text: str | None, part: str | None, start: int | None = 1) -> int | None:
    """Return the first place of a part at or after a place, 0 if there is none; an empty part is at place 1.

    At or after NULL there is none, whatever the text.
    """
    if start is None:
        return 0
    if text is None or part is None:
        return None
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


def split_part(text: str, delimiter: str, number: int) -> str:
    """Return a part of a text between delimiters, from the end for negative numbers, "" beyond the ends.

    Raises DataError for the number 0.
    """
    if number == 0:
        raise DataError("SPLIT_PART counts from 1, or from the end from -1")
    parts = text.split(delimiter) if delimiter else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def like(text: str, pattern: str, escape: str = "\\") -> bool:
    """Tell whether a text is like a pattern: % is any text, _ any character."""
    return _like(pattern, escape).fullmatch(text) is not None


def ilike(text: str, pattern: str, escape: str = "\\") -> bool:
    """Tell whether a text is like a pattern, whatever the case."""
    return like(text.lower(), pattern.lower(), escape)


@lru_cache(maxsize=1024)
def _like(pattern: str, escape: str) -> re.Pattern:
    source, characters = "", iter(pattern)
    for character in characters:
        if character == escape:
            source += re.escape(next(characters, escape))
        else:
            source += {"%": ".*", "_": "."}.get(character) or re.escape(character)
    return re.compile(source, re.DOTALL)


def pad(left: bool) -> Callable[[str, int, str], str]:
    """Return LPAD or RPAD: fill or cut a text to a length."""

    def function(text: str, length: int, fill: str = " ") -> str:
        if length <= len(text) or not fill:
            return text[: max(length, 0)]
        missing = length - len(text)
        filling = (fill * (missing // len(fill) + 1))[:missing]
        return filling + text if left else text + filling

    return function


def levenshtein(a: str, b: str) -> int:
    """Return the least number of insertions, deletions and replacements between two texts."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def translate(text: str, characters: str, replacements: str) -> str:
    """Replace characters one by one; those without a replacement are left out."""
    table: dict[int, str] = {}
    for place, character in enumerate(characters):
        table.setdefault(ord(character), replacements[place : place + 1])
    return text.translate(table)


def concat_ws(separator: str | None, *texts: str | None) -> str | None:
    """Join the texts that are not NULL."""
    return None if separator is None else separator.join(text for text in texts if text is not None)


STRING_FUNCTIONS: dict[str, Callable] = {
    "upper": str.upper,
    "lower": str.lower,
    "length": len,
    "trim": lambda text, characters=" ": text.strip(characters) if characters else text,
    "ltrim": lambda text, characters=" ": text.lstrip(characters) if characters else text,
    "rtrim": lambda text, characters=" ": text.rstrip(characters) if characters else text,
    "substring": substring,
    "left": lambda text, length: substring(text, 1, length),
    "right": lambda text, length: text[-length:] if length > 0 else "",
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda text, part: part in text,
    "locate": locate,
    "replace": replace,
    "split_part": split_part,
    "reverse": lambda text: text[::-1],
    "concat": lambda *texts: "".join(texts),
    "like": like,
    "ilike": ilike,
    "lpad": pad(left=True),
    "rpad": pad(left=False),
    "repeat": lambda text, times: text * max(times, 0),
    "levenshtein": levenshtein,
    "ascii": lambda text: ord(text[0]) if text else 0,
    "translate": translate,
}
"""By the operation's name in `cepsql.pattern.program.Call`."""
