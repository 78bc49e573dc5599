"""Rows with a line for each column, for rows that are wider than the screen."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from cepsql.render.cells import cells
from cepsql.render.table import cell_width, printable

_RULE = 40


def vertical_rows(names: Sequence[str], zone: str) -> Callable[[pa.Table], Iterator[str]]:
    """Return what writes rows; it numbers them from 1 over all tables that it is given."""
    shown = [printable(name) for name in names]
    width = max(map(cell_width, shown), default=0)
    labels = [name + " " * (width - cell_width(name)) for name in shown]
    numbers = itertools.count(1)

    def write(rows: pa.Table) -> Iterator[str]:
        for row in zip(*(cells(column, zone) for column in rows.columns), strict=True):
            yield f"-[ row {next(numbers)} ]".ljust(_RULE, "-")
            for label, text in zip(labels, row, strict=True):
                yield f" {label} | {'NULL' if text is None else printable(text)}".rstrip()

    return write
