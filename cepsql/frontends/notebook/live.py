"""A standing query in a cell of a notebook: its last rows and its progress, until it ends, and a stop button."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from cepsql.frontends.notebook.shown import Shown, shown_rows
from cepsql.frontends.runner.counted import counted

if TYPE_CHECKING:
    from cepsql.spark.run.standing_query import StandingQuery

_EVERY = 0.5

Show = Callable[[Shown], None]
"""Shows something in a place of its own in the cell, and replaces its earlier content."""


class LiveView:
    """Keeps the last rows of a started query, and shows them with its progress until it has ended.

    rows:    the tables of the last micro-batches, at least `most` rows of them together if there are so many.
    refresh: whether the output can be replaced; else it is shown once, at the end.
    """

    def __init__(self, most: int, show: Show, zone: str, refresh: bool = True):
        self._most, self._show, self._zone, self._refresh = most, show, zone, refresh
        self.rows: deque[pa.Table] = deque()
        self._lock = threading.Lock()

    def add(self, rows: pa.Table, batch: int) -> None:
        """Take the rows of a micro-batch."""
        with self._lock:
            self.rows.append(rows)
            while sum(table.num_rows for table in self.rows) - self.rows[0].num_rows >= self._most:
                self.rows.popleft()

    def follow(self, standing: "StandingQuery") -> threading.Thread:
        """Show the query from a thread, until it has ended."""
        thread = threading.Thread(target=self._follow, args=[standing], name="cepsql-live", daemon=True)
        thread.start()
        return thread

    def _follow(self, standing: "StandingQuery") -> None:
        while standing.status == "running":
            if self._refresh:
                self._show(self.shown(standing))
            threading.Event().wait(_EVERY)
        self._show(self.shown(standing))

    def shown(self, standing: "StandingQuery") -> Shown:
        """Return the current output."""
        progress = standing.progress
        with self._lock:
            tables = list(self.rows)
        last = pa.concat_tables(tables) if tables else None
        if last is not None:
            last = last.slice(max(0, last.num_rows - self._most))
        waits = f" · waiting: {progress.waiting}" if progress.waiting else ""
        said = (
            f"{standing.status}{waits}: {counted(progress.rows_out, 'row')}, "
            f"{counted(progress.batches, 'batch', 'batches')}, "
            f"{progress.rows_per_second:,.0f} rows/s, late {progress.rows_late}, malformed {progress.rows_malformed}"
        )
        output = shown_rows(standing.columns, last, self._zone, said)
        if standing.error is None:
            return output
        failed = f'<p style="color: firebrick">{escape(str(standing.error))}</p>'
        return replace(output, html=output.html + failed, text=f"{output.text}\nerror: {standing.error}")
