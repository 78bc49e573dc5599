"""Result rows as text: an aligned table, CSV, or JSON lines. Knows Arrow, not Spark and not the terminal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from cepsql.errors import InterfaceError
from cepsql.render.cells import cells
from cepsql.render.delimited import delimited_header, delimited_rows
from cepsql.render.jsonlines import json_rows
from cepsql.render.scalars import canonical_zone
from cepsql.render.sound_text import sound_text
from cepsql.render.table import Column, data_widths, table_header, table_rows, type_widths

__all__ = ["FORMATS", "Renderer", "canonical_zone", "cells", "renderer"]

FORMATS = ("table", "csv", "json")


@dataclass(frozen=True)
class Renderer:
    """How the rows of one result are written: the lines before the first row, then a line or more for each row."""

    header: tuple[str, ...]
    rows: Callable[[pa.Table], Iterator[str]]


def renderer(
    format: str, columns: Sequence[tuple[str, str]], zone: str = "UTC", result: pa.Table | None = None
) -> Renderer:
    """Choose the text form of a result.

    format:  one of FORMATS.
    columns: name and Spark SQL type (`bigint`, `decimal(10,2)`, ...) of each column.
    zone:    the session time zone in which TIMESTAMP values are shown.
    result:  the whole result where it is at hand: a table's column widths then fit it. Without it (a stream) they
             follow from the types and names, so that rows stand aligned before data is known.

    Raises InterfaceError for an unknown format.
    """
    zone = canonical_zone(zone)
    if format == "table":
        laid = tuple(Column(name, kind) for name, kind in columns)
        widths = type_widths(laid) if result is None else data_widths(laid, sound_text(result), zone)
        return Renderer(table_header(laid, widths), lambda rows: table_rows(sound_text(rows), laid, widths, zone))
    if format == "csv":
        names = [name for name, _ in columns]
        return Renderer((delimited_header(names),), lambda rows: delimited_rows(sound_text(rows), zone))
    if format == "json":
        names = [name for name, _ in columns]
        return Renderer((), lambda rows: json_rows(sound_text(rows), names, zone))
    raise InterfaceError(f"there is no output format {format}", hint=f"formats: {', '.join(FORMATS)}")
