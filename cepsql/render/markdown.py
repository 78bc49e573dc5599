"""Rows as a table in Markdown."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from cepsql.render.cells import cells
from cepsql.render.table import ShownColumn, printable


def markdown_header(columns: Sequence[ShownColumn]) -> tuple[str, str]:
    """Write the line of names and the rule below it, which sets numbers at the right."""
    names = [_cell(column.name) for column in columns]
    return _line(names), _line(["--:" if column.number else "---" for column in columns])


def markdown_rows(rows: pa.Table, zone: str) -> Iterator[str]:
    """Write each row; NULL is a word, and an empty text an empty cell."""
    for row in zip(*(cells(column, zone) for column in rows.columns), strict=True):
        yield _line(["NULL" if text is None else _cell(text) for text in row])


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _cell(text: str) -> str:
    """Escape what would end a cell or begin markup.

    >>> _cell("a|b\\nc")
    'a\\\\|b<br>c'
    """
    for sign in "\\`*_<[|":
        text = text.replace(sign, f"\\{sign}")
    return printable(text.replace("\n", "\0")).replace("\\x00", "<br>")
