"""Rows as an HTML table, for notebooks."""

from collections.abc import Sequence
from html import escape

import pyarrow as pa

from cepsql.render.cells import cells
from cepsql.render.scalars import canonical_zone
from cepsql.render.sound_text import sound_text
from cepsql.render.table import ShownColumn

_NUMBER = ' style="text-align: right"'


def html_table(columns: Sequence[tuple[str, str]], rows: pa.Table | None, zone: str = "UTC", note: str = "") -> str:
    """Write rows as a table; all that comes from data is escaped.

    columns: name and Spark SQL type of each column.
    rows:    None for none.
    note:    a line below the table.
    """
    laid = [ShownColumn(name, kind) for name, kind in columns]
    head = "".join(f'<th title="{escape(column.type)}">{escape(column.name)}</th>' for column in laid)
    body = "" if rows is None else "".join(_row(row, laid) for row in _texts(rows, zone))
    below = f"<p><small>{escape(note)}</small></p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def html_text(text: str) -> str:
    """Write lines of text in a font whose characters are equally wide."""
    return f'<pre style="line-height: 1.2">{escape(text)}</pre>'


def _texts(rows: pa.Table, zone: str):
    return zip(*(cells(values, canonical_zone(zone)) for values in sound_text(rows).columns), strict=True)


def _row(row: Sequence[str | None], columns: Sequence[ShownColumn]) -> str:
    parts = [
        f"<td{_NUMBER if column.number else ''}>{'<i>NULL</i>' if text is None else escape(text)}</td>"
        for text, column in zip(row, columns, strict=True)
    ]
    return f"<tr>{''.join(parts)}</tr>"


def answer_html(columns: Sequence[str], rows: Sequence[Sequence[object]], layout: str, message: str, text: str) -> str:
    """Write what a statement says that is no query; see `cepsql.render.answer.Answer`."""
    parts = []
    if columns and layout != "table":
        parts.append(html_text("\n".join(str(line) for (line,) in rows)))
    elif columns:
        values = [[None if row[i] is None else str(row[i]) for row in rows] for i in range(len(columns))]
        table = pa.table([pa.array(column, pa.string()) for column in values], [str(name) for name in columns])
        parts.append(html_table([(name, "string") for name in columns], table))
    if text:
        parts.append(html_text(text))
    if message:
        parts.append(f"<p>{escape(message)}</p>")
    return "".join(parts)
