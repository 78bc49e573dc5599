"""Rows with a line for each column, for rows that are wider than the screen."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from cepsql.render.cells import cells
from cepsql.render.table import cell_width, printable

_RULE, _LEAST = 40, 20


def vertical_rows(names: Sequence[str], zone: str, room: int | None = None) -> Callable[[pa.Table], Iterator[str]]:
    """Return what writes rows; it numbers them from 1 over all tables that it is given.

    room: cells of the screen; a value that is longer goes on below itself. None: each has one line.
    """
    shown = [printable(name) for name in names]
    width = max(map(cell_width, shown), default=0)
    value_room = None if room is None or room < width + 3 + _LEAST else room - width - 4
    below = " " * (width + 1) + " | "
    labels = [name + " " * (width - cell_width(name)) for name in shown]
    numbers = itertools.count(1)

    def write(rows: pa.Table) -> Iterator[str]:
        for row in zip(*(cells(column, zone) for column in rows.columns), strict=True):
            yield f"-[ row {next(numbers)} ]".ljust(_RULE if room is None else min(room, _RULE), "-")
            for label, text in zip(labels, row, strict=True):
                parts = _lines("NULL" if text is None else printable(text), value_room)
                yield f" {label} | {next(parts)}".rstrip()
                yield from (f"{below}{part}".rstrip() for part in parts)

    return write


def _lines(text: str, room: int | None) -> Iterator[str]:
    """Yield a text in lines of so many cells, at least one."""
    while room is not None and cell_width(text) > room:
        end = room
        while cell_width(text[:end]) > room:
            end -= 1
        yield text[:end]
        text = text[end:]
    yield text
