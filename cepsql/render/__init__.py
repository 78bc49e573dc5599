"""Result rows as text: tables, CSV, JSON lines. Knows Arrow, not Spark and not the terminal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from cepsql.base.output_formats import FORMATS
from cepsql.errors import InterfaceError
from cepsql.render.cells import cells
from cepsql.render.delimited import delimited_header, delimited_rows
from cepsql.render.jsonlines import json_rows
from cepsql.render.markdown import markdown_header, markdown_rows
from cepsql.render.scalars import canonical_zone
from cepsql.render.sound_text import sound_text
from cepsql.render.table import Cuts, ShownColumn, data_widths, fitted, table_header, table_rows, type_widths
from cepsql.render.vertical import vertical_rows

__all__ = ["Renderer", "canonical_zone", "cells", "renderer"]


@dataclass(frozen=True)
class Renderer:
    """How the rows of one result are written: the lines before the first row, then a line or more for each row."""

    header: tuple[str, ...]
    rows: Callable[[pa.Table], Iterator[str]]
    cuts: Cuts = field(default_factory=Cuts)
    """Counts the values that were cut."""


def renderer(
    format: str,
    columns: Sequence[tuple[str, str]],
    zone: str = "UTC",
    result: pa.Table | None = None,
    room: int | None = None,
    grows: bool = False,
) -> Renderer:
    """Choose the text form of a result.

    format:  one of FORMATS.
    columns: name and Spark SQL type (`bigint`, `decimal(10,2)`, ...) of each column.
    zone:    the session time zone in which TIMESTAMP values are shown.
    result:  the whole result where it is at hand: a table's column widths then fit it. Without it they follow from the
             types and names, so that rows stand aligned before data is known.
    room:    cells of the screen: a table has its long texts cut to it, and if that is not enough, or too little would
             be left of them, the rows have a line for each column instead. None: values are shown whole.
    grows:   more rows than `result` will come (a stream): widths are at least those of the types, if there is room.

    Raises InterfaceError for an unknown format.
    """
    zone = canonical_zone(zone)
    if format == "table":
        laid = tuple(ShownColumn(name, kind) for name, kind in columns)
        widths = _widths(laid, zone, result, room, grows)
        if widths is not None:
            return _table(laid, widths, zone, room is not None)
    names = [name for name, _ in columns]
    if format in ("vertical", "table"):
        write = vertical_rows(names, zone, room)
        return Renderer((), lambda rows: write(sound_text(rows)))
    if format == "markdown":
        header = markdown_header([ShownColumn(name, kind) for name, kind in columns])
        return Renderer(header, lambda rows: markdown_rows(sound_text(rows), zone))
    if format == "csv":
        return Renderer((delimited_header(names),), lambda rows: delimited_rows(sound_text(rows), zone))
    if format == "json":
        return Renderer((), lambda rows: json_rows(sound_text(rows), names, zone))
    raise InterfaceError(f"there is no output format {format}", hint=f"formats: {', '.join(FORMATS)}")


def _table(columns: tuple[ShownColumn, ...], widths: tuple[int, ...], zone: str, cut: bool) -> Renderer:
    cuts = Cuts()
    return Renderer(
        table_header(columns, widths),
        lambda rows: table_rows(sound_text(rows), columns, widths, zone, cuts if cut else None),
        cuts,
    )


def _widths(
    columns: tuple[ShownColumn, ...], zone: str, result: pa.Table | None, room: int | None, grows: bool
) -> tuple[int, ...] | None:
    """Choose the widths of a table's columns, None if a table does not fit the room."""
    usual = type_widths(columns)
    needed = usual if result is None else data_widths(columns, sound_text(result), zone)
    generous = tuple(map(max, usual, needed)) if grows else needed
    if room is None:
        return generous
    return fitted(columns, generous, room) or fitted(columns, needed, room)
