"""The rows of a streaming query as they are found."""

import threading
import time
from typing import TYPE_CHECKING

import pyarrow as pa

from cepsql.render import Renderer, canonical_zone, cells, renderer
from cepsql.runner.console import Console
from cepsql.runner.notices import noticed
from cepsql.runner.settings import Settings

if TYPE_CHECKING:
    from cepsql.engine import Query
    from cepsql.spark.progress import Progress
    from cepsql.spark.query import StandingQuery

SILENCE = 10.0
_POLL = 0.2


def view(query: "Query", zone: str, settings: Settings, console: Console, stop: threading.Event) -> None:
    """Start a streaming query, write its rows until it ends, then stop it and write what it has read.

    It ends when `stop` is set, the limit of rows or the timeout is reached, nobody reads the rows any more, or by
    itself (`drain`).
    Raises Error if the query fails.
    """
    begin = time.monotonic()
    form = renderer(settings.format, query.columns, zone)
    if stop.is_set():
        console.echoed()
        console.say("stopped before it started")
        return
    rows = _Rows(form, query.limit, settings, console)
    with noticed(console):
        standing = query.start(rows.write, drain=settings.drain)
        try:
            reason = _wait(standing, rows, zone, settings, console, stop)
            if stop.is_set():
                console.echoed()
                if console.live:
                    console.status("stopping")
        finally:
            rows.enough.set()
            standing.stop()
            console.clear()
    progress = standing.progress
    batches = counted(progress.batches, "batch", "batches")
    console.say(f"{reason}: {counted(rows.written, 'row')}, {batches}, {time.monotonic() - begin:.0f} s")
    console.say(summary(progress))


class _Rows:
    """Writes the rows of a view up to its limit; batches come from another thread."""

    def __init__(self, form: Renderer, limit: int | None, settings: Settings, console: Console):
        self.limit = min((n for n in (limit, settings.limit) if n is not None), default=None)
        self.written = 0
        self.last = time.monotonic()
        self.enough = threading.Event()
        self._console, self._form = console, form
        console.rows(form.header)
        if self.limit == 0:
            self.enough.set()

    def write(self, rows: pa.Table, batch: int) -> None:
        """Write the rows of a micro-batch."""
        if self.enough.is_set() or rows.num_rows == 0:
            return
        if self.limit is not None:
            rows = rows.slice(0, self.limit - self.written)
        self._console.rows(self._form.rows(rows))
        self.written += rows.num_rows
        self.last = time.monotonic()
        if self.written == self.limit:
            self.enough.set()


def _wait(
    standing: "StandingQuery", rows: _Rows, zone: str, settings: Settings, console: Console, stop: threading.Event
) -> str:
    """Wait until the view ends; return why it did."""
    begin = spoken = time.monotonic()
    while not standing.await_(_POLL):
        now = time.monotonic()
        if stop.is_set():
            return "stopped"
        if rows.enough.is_set():
            return "limit reached"
        if console.closed.is_set():
            return "closed"
        if settings.timeout is not None and now - begin >= settings.timeout:
            return "timeout"
        if console.err.isatty() and now - rows.last >= SILENCE and now - spoken >= (1.0 if console.live else SILENCE):
            console.status(f"{now - rows.last:.0f} s no rows · {_standing(standing.progress, zone)}")
            spoken = now
    return "limit reached" if rows.enough.is_set() else "ended"


def summary(progress: "Progress") -> str:
    """Say in one line what became of the rows read."""
    return (
        f"read {progress.rows_read}, late {progress.rows_late}, malformed {progress.rows_malformed}, "
        f"null time {progress.rows_null_time}, null key {progress.rows_null_key}, matches {progress.matches}"
    )


def _standing(progress: "Progress", zone: str) -> str:
    (watermark,) = cells(pa.chunked_array([[progress.watermark]], pa.timestamp("us", "UTC")), canonical_zone(zone))
    return f"read {progress.rows_read} · late {progress.rows_late} · watermark {watermark or 'none yet'}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun.

    >>> counted(1, "row"), counted(2, "row"), counted(0, "batch", "batches")
    ('1 row', '2 rows', '0 batches')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"
