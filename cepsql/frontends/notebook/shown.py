"""What a cell shows: HTML in a notebook, text where there is none, as in IPython's terminal."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from cepsql.render import renderer
from cepsql.render.answer import Answer
from cepsql.render.html import html_table


@dataclass(frozen=True)
class Shown:
    """Something in both forms, of which IPython takes the one that it can show."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def shown_rows(columns: Sequence[tuple[str, str]], rows: pa.Table | None, zone: str, note: str) -> Shown:
    """Return rows, None for none, with a line below them; columns as for `html_table`."""
    return Shown(html_table(columns, rows, zone, note), "\n".join([*_lines(columns, rows, zone), note]))


def shown_answer(answer: Answer) -> Shown:
    """Return what a statement says that is no query."""
    return Shown(answer._repr_html_(), str(answer))


def _lines(columns: Sequence[tuple[str, str]], rows: pa.Table | None, zone: str) -> Iterator[str]:
    form = renderer("table", columns, zone, rows, shutil.get_terminal_size().columns)
    yield from form.header
    if rows is not None:
        yield from form.rows(rows)
