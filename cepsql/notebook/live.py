"""A standing query in a cell of a notebook: its last rows and its progress, until it ends, and a stop button."""

import threading
from collections import deque
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from cepsql.render.html import html_table
from cepsql.runner.counted import counted

if TYPE_CHECKING:
    from cepsql.spark.query import StandingQuery

_EVERY = 0.5

Show = Callable[[str], None]
"""Shows HTML in a place of its own in the cell, in place of what stood there."""


class LiveView:
    """Keeps the last rows of a query that is started, and shows them with its progress until it has ended.

    rows: the tables of the last micro-batches, at least `most` rows of them together if there are so many.
    """

    def __init__(self, most: int, show: Show, zone: str):
        self._most, self._show, self._zone = most, show, zone
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
            self._show(self.html(standing))
            threading.Event().wait(_EVERY)
        self._show(self.html(standing))

    def html(self, standing: "StandingQuery") -> str:
        """Return what is to be shown now."""
        progress = standing.progress
        with self._lock:
            tables = list(self.rows)
        last = pa.concat_tables(tables) if tables else None
        if last is not None:
            last = last.slice(max(0, last.num_rows - self._most))
        said = (
            f"{standing.status}: {counted(progress.rows_out, 'row')}, {counted(progress.batches, 'batch', 'batches')}, "
            f"{progress.rows_per_second:,.0f} rows/s, late {progress.rows_late}, malformed {progress.rows_malformed}"
        )
        failed = f'<p style="color: firebrick">{escape(str(standing.error))}</p>' if standing.error else ""
        return html_table(standing.columns, last, self._zone, said) + failed
