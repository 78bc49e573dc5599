"""Rows as a text table, with columns aligned in terminal cells."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from wcwidth import wcswidth

from cepsql.render.cells import cells

_TYPE_WIDTHS = {
    "boolean": 5,
    "tinyint": 4,
    "smallint": 6,
    "int": 11,
    "bigint": 14,
    "float": 12,
    "double": 14,
    "date": 10,
    "timestamp": 26,
    "timestamp_ntz": 26,
}
_OTHER_WIDTH = 16
_LEAST_TEXT = 16
_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, including those that change the direction of the rest of the line."""

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class ShownColumn:
    """A column's name and its Spark SQL type."""

    name: str
    type: str

    @property
    def number(self) -> bool:
        """Whether its values are aligned right."""
        return self.type.split("(")[0].lower() in _NUMBERS

    @property
    def may_be_cut(self) -> bool:
        """Whether its values may be cut: not numbers and times."""
        return not self.number and _type_width(self.type.lower()) == _OTHER_WIDTH


@dataclass
class Cuts:
    """A counter of cut values."""

    number: int = 0


def type_widths(columns: Sequence[ShownColumn]) -> tuple[int, ...]:
    """Choose widths before the data is known: the usual longest value of each type, or the name if it is wider."""
    return tuple(max(_type_width(column.type.lower()), cell_width(printable(column.name))) for column in columns)


def _type_width(kind: str) -> int:
    if precision := re.match(r"decimal\((\d+)", kind):
        return min(int(precision[1]) + 2, 20)
    return _TYPE_WIDTHS.get(kind, _OTHER_WIDTH)


def data_widths(columns: Sequence[ShownColumn], result: pa.Table, zone: str) -> tuple[int, ...]:
    """Choose the widths that fit all rows of a result."""
    return tuple(
        max([cell_width(printable(column.name)), *(cell_width(_shown(text)) for text in cells(values, zone))])
        for column, values in zip(columns, result.columns, strict=True)
    )


def fitted(columns: Sequence[ShownColumn], widths: Sequence[int], room: int) -> tuple[int, ...] | None:
    """Make the widest text columns narrower until a line fits into `room` cells; None if they would be too narrow.

    >>> fitted([ShownColumn("a", "string"), ShownColumn("b", "int")], [40, 8], 32)
    (19, 8)
    >>> fitted([ShownColumn("a", "string"), ShownColumn("b", "int")], [40, 8], 20)
    """
    narrowed = list(widths)
    least = [
        min(width, max(_LEAST_TEXT, cell_width(printable(c.name)))) if c.may_be_cut else width
        for c, width in zip(columns, widths, strict=True)
    ]
    while sum(narrowed) + 3 * len(narrowed) - 1 > room:
        widest = max(range(len(narrowed)), key=lambda i: (narrowed[i] > least[i], narrowed[i]))
        if narrowed[widest] <= least[widest]:
            return None
        narrowed[widest] -= 1
    return tuple(narrowed)


def table_header(columns: Sequence[ShownColumn], widths: Sequence[int]) -> tuple[str, str]:
    """Return the line of names and the rule below it."""
    names = [printable(column.name) for column in columns]
    return _line(names, columns, widths), "+".join("-" * (width + 2) for width in widths)


def table_rows(
    rows: pa.Table, columns: Sequence[ShownColumn], widths: Sequence[int], zone: str, cuts: Cuts | None = None
) -> Iterator[str]:
    """Yield each row. A value wider than its column is shown whole, and later columns make up for the width.

    cuts: with it such a value is cut, except for numbers and times, and counted.
    """
    for row in zip(*(cells(values, zone) for values in rows.columns), strict=True):
        texts = [_shown(text) for text in row]
        if cuts is not None:
            texts = [
                _cut(text, width, cuts) if column.may_be_cut else text
                for text, column, width in zip(texts, columns, widths, strict=True)
            ]
        yield _line(texts, columns, widths)


def _cut(text: str, width: int, cuts: Cuts) -> str:
    """Cut a text to `width` cells; the last one is an ellipsis."""
    if cell_width(text) <= width:
        return text
    cuts.number += 1
    while cell_width(text) > width - 1:
        text = text[: max(0, min(len(text) - 1, width - 1))]
    return f"{text}…"


def _line(texts: Sequence[str], columns: Sequence[ShownColumn], widths: Sequence[int]) -> str:
    parts, debt = [], 0
    for text, column, width in zip(texts, columns, widths, strict=True):
        spare = width - cell_width(text)
        pad = max(0, spare - debt)
        debt = max(0, debt - spare)
        parts.append(" " * pad + text if column.number else text + " " * pad)
    return (" " + " | ".join(parts)).rstrip()


def _shown(text: str | None) -> str:
    return "NULL" if text is None else printable(text)


def printable(text: str) -> str:
    """Escape characters that would break the line or control the terminal.

    >>> printable("two\\nlines\\x1b[2J")
    'two\\\\nlines\\\\x1b[2J'
    """
    return _CONTROL.sub(lambda m: _ESCAPES.get(m[0]) or f"\\x{ord(m[0]):02x}", text)


def cell_width(text: str) -> int:
    """Count the terminal cells that a printable text takes."""
    return len(text) if text.isascii() else max(wcswidth(text), 0)
