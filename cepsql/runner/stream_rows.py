"""The forms in which the rows of a stream appear: a log that scrolls by, or a table that refreshes by key."""

import threading
from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from cepsql.errors import InterfaceError, suggestion
from cepsql.render import Renderer, canonical_zone, cells, renderer
from cepsql.runner.console import KEPT_FREE, Console
from cepsql.runner.counted import counted
from cepsql.runner.settings import Settings

_OPERATION = "op"
"""The last column of a query that gives changes: `+I`, `-U`, `+U` or `-D`."""


class StreamRows(Protocol):
    """Shows the rows of a stream, a micro-batch at a time."""

    def begin(self) -> None:
        """Write what can be written before there are rows."""

    def write(self, rows: pa.Table) -> None:
        """Show further rows."""

    def note(self, text: str) -> None:
        """Show a line below the rows until more come."""

    def end(self) -> None:
        """Write what is left when no more rows come."""


def stream_rows(columns: list[tuple[str, str]], zone: str, settings: Settings, console: Console) -> StreamRows:
    """Choose the form that the settings ask for.

    Raises InterfaceError if there is no column of a name by which a table is to refresh.
    """
    if settings.live and console.live and console.columns is not None and settings.format == "table":
        return _LiveRows(columns, zone, settings.live, settings.max_rows, console)
    return _LoggedRows(columns, zone, settings.format, console)


class _LoggedRows:
    """Writes rows one after the other; on a screen the header stands above every page of them.

    There a table is laid out when the first rows have come, for they tell how wide texts are.
    """

    def __init__(self, columns: list[tuple[str, str]], zone: str, format: str, console: Console):
        self._columns, self._zone, self._format, self._console = columns, zone, format, console
        self._form: Renderer | None = None
        self._since_header = 0
        self._waits = console.columns is not None and format == "table"
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            if not self._waits:
                self._lay_out(None)

    def write(self, rows: pa.Table) -> None:
        with self._lock:
            form = self._form or self._lay_out(rows)
            lines = list(form.rows(rows))
            page = (self._console.lines or 0) - len(form.header) - 1
            while page > 0 and form.header and self._since_header + len(lines) > page:
                room = page - self._since_header
                self._console.rows([*lines[:room], *form.header])
                lines, self._since_header = lines[room:], 0
            self._console.rows(lines)
            self._since_header += len(lines)

    def note(self, text: str) -> None:
        self._console.status(text)

    def end(self) -> None:
        with self._lock:
            if self._form is None:
                self._lay_out(None)

    def _lay_out(self, rows: pa.Table | None) -> Renderer:
        if self._form is None:
            self._form = renderer(self._format, self._columns, self._zone, rows, self._console.columns, grows=True)
            self._console.rows(self._form.header)
        return self._form


class _LiveRows:
    """A table in place, with the last row of each key, those that changed last at the top; at the end it is written."""

    def __init__(
        self, columns: list[tuple[str, str]], zone: str, keys: Sequence[str], most: int | None, console: Console
    ):
        names = [name.lower() for name, _ in columns]
        for key in keys:
            if key.lower() not in names:
                hint = suggestion(key, [name for name, _ in columns], "columns")
                raise InterfaceError(f"there is no column {key} to refresh the table by", hint=hint)
        self._places = [names.index(key.lower()) for key in keys]
        self._columns, self._zone, self._most, self._console = columns, canonical_zone(zone), most, console
        self._rows: dict[tuple, pa.Table] = {}
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Nothing is known yet."""

    def write(self, rows: pa.Table) -> None:
        keys = zip(*(cells(rows.column(place), self._zone) for place in self._places), strict=True)
        with self._lock:
            for place, (key, gone) in enumerate(zip(keys, self._gone(rows), strict=True)):
                self._rows.pop(key, None)
                if not gone:
                    self._rows[key] = rows.slice(place, 1)
            self._draw("")

    def _gone(self, rows: pa.Table) -> list[bool]:
        """Tell of each row whether it says that the row of its key is not there any more, as those of changes do."""
        name, kind = self._columns[-1]
        if name != _OPERATION or kind != "string":
            return [False] * rows.num_rows
        return [(text or "").startswith("-") for text in rows.columns[-1].to_pylist()]

    def note(self, text: str) -> None:
        with self._lock:
            self._draw(text)

    def end(self) -> None:
        with self._lock:
            self._console.rows(self._lines(self._newest(self._most)))

    def _newest(self, most: int | None) -> list[pa.Table]:
        rows = list(self._rows.values())[::-1]
        return rows if most is None else rows[:most]

    def _draw(self, note: str) -> None:
        newest = self._newest(max((self._console.lines or 24) - 5, 1))
        more = len(self._rows) - len(newest)
        below = [text for text in (f"and {counted(more, 'row')} more" if more else "", note) if text]
        self._console.status("\n".join([*self._lines(newest), *below]))

    def _lines(self, rows: list[pa.Table]) -> list[str]:
        table = pa.concat_tables(rows) if rows else None
        room = (self._console.columns or 80) - KEPT_FREE
        form = renderer("table", self._columns, self._zone, table, room)
        return [*form.header, *(form.rows(table) if table is not None else ())]
