"""Rows as CSV with the quoting of RFC 4180; lines end as the platform's text files do."""

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

from cepsql.render.cells import cells

_SPECIAL = re.compile(r'[",\r\n]|^\s|\s$')


def delimited_header(names: Sequence[str]) -> str:
    """Write the line of column names."""
    return ",".join(map(_field, names))


def delimited_rows(rows: pa.Table, zone: str) -> Iterator[str]:
    """Write each row: NULL is an empty field, the empty string a quoted one."""
    for row in zip(*(cells(column, zone) for column in rows.columns), strict=True):
        yield ",".join(map(_field, row))


def _field(text: str | None) -> str:
    if text is None:
        return ""
    if not text or _SPECIAL.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
