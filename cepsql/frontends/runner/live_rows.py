"""The rows of a streaming query as they are found."""

import re
import threading
import time
from typing import TYPE_CHECKING

import pyarrow as pa

from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.counted import counted
from cepsql.frontends.runner.silence import reason, standing
from cepsql.frontends.runner.stream_rows import StreamRows, stream_rows
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.runner.working import share_of

if TYPE_CHECKING:
    from cepsql.query import Query
    from cepsql.spark.checkpoint.progress import Progress
    from cepsql.spark.run.standing_query import StandingQuery

SILENCE, _SIGN = 10.0, 1.5
_POLL = 0.2


def view(query: "Query", zone: str, settings: UserChoices, console: Console, stop: threading.Event) -> None:
    """Start a streaming query, write its rows until it ends, then stop it and write what it has read.

    It ends when `stop` is set, the limit of rows or the timeout is reached, nobody reads the rows any more, or by
    itself (`drain`).
    Raises Error if the query fails.
    """
    begin = time.monotonic()
    starts = query.reading_starts(settings.checkpoint)
    if said := "; ".join(start.said for start in starts if start.chosen or console.err.isatty()):
        console.say(f"notice: {said}")
    rows = _ViewRows(query.limit, settings, console)
    running = query.start(rows.write, drain=settings.drain, checkpoint=settings.checkpoint)
    try:
        rows.begin(stream_rows(running.columns, zone, settings, console))
        end = _wait(query, running, rows, zone, settings, console, stop)
        if stop.is_set():
            console.echoed()
            if console.live:
                console.status("stopping")
    finally:
        rows.cease()
        running.stop()
        rows.end(failed=running.error is not None)
        console.clear()
    progress = running.progress
    batches = counted(progress.batches, "batch", "batches")
    console.say(f"{end}: {counted(rows.written, 'row')}, {batches}, {time.monotonic() - begin:.0f} s")
    console.say(summary(progress))


class _ViewRows:
    """Writes the rows of a view up to its limit; batches come from another thread, and wait until it has begun."""

    def __init__(self, limit: int | None, settings: UserChoices, console: Console):
        self.limit = min((n for n in (limit, settings.limit) if n is not None), default=None)
        self.written = 0
        self.last = time.monotonic()
        self.enough = threading.Event()
        self._console = console
        self._shown: StreamRows | None = None
        self._begun = threading.Event()
        if self.limit == 0:
            self.enough.set()

    def begin(self, shown: StreamRows) -> None:
        """Write what stands above the rows; say that it runs where people read it."""
        self._shown = shown
        shown.begin()
        self._begun.set()
        if self._console.live and not self.written:
            self.note("running; Ctrl-C stops it")

    def cease(self) -> None:
        """Take no more rows, nor let a batch wait."""
        self.enough.set()
        self._begun.set()

    def end(self, failed: bool) -> None:
        """Write what was kept for the end."""
        if self._shown is not None and (self.written or not failed):
            self._shown.end()

    def note(self, text: str) -> None:
        """Show a line below the rows, which goes away when more come."""
        if self._shown is not None:
            self._shown.note(text)

    def write(self, rows: pa.Table, batch: int) -> None:
        """Write the rows of a micro-batch."""
        self._begun.wait()
        if self.enough.is_set() or rows.num_rows == 0 or self._shown is None:
            return
        if self.limit is not None:
            rows = rows.slice(0, self.limit - self.written)
        self._shown.write(rows)
        self.written += rows.num_rows
        self.last = time.monotonic()
        if self.written == self.limit:
            self.enough.set()


def _wait(query: "Query", running: "StandingQuery", rows: _ViewRows, zone: str, settings: UserChoices, console: Console,
          stop: threading.Event) -> str:  # fmt: skip
    """Wait until the view ends; return why it did."""
    begin = time.monotonic()
    silence = _Silence(query, running, rows, zone, console)
    while not running.await_(_POLL):
        if stop.is_set():
            return "stopped"
        if rows.enough.is_set():
            return "limit reached"
        if console.closed.is_set():
            return "closed"
        if settings.timeout is not None and time.monotonic() - begin >= settings.timeout:
            return "timeout"
        if console.err.isatty():
            silence.explain(settings.drain)
    return "limit reached" if rows.enough.is_set() else "ended"


class _Silence:
    """Explains why a view shows no rows: once in a sentence, then in a status line."""

    def __init__(self, query: "Query", running: "StandingQuery", rows: _ViewRows, zone: str, console: Console):
        self._query, self._running, self._rows, self._zone, self._console = query, running, rows, zone, console
        self._begin = self._explained_at = time.monotonic()
        self._noted_at = 0.0
        self._said = ""

    def explain(self, draining: bool) -> None:
        """Explain it if no row has come for some time."""
        now = time.monotonic()
        silent = now - self._rows.last
        if _SIGN <= silent < SILENCE and now - self._noted_at >= 1.0 and self._console.live:
            self._noted_at = now
            work = share_of(self._running.tasks)
            where = standing(self._running.progress, self._query.plan, self._zone)
            self._rows.note(f"running {now - self._begin:.0f} s{work} · {where}")
        if silent < SILENCE or now - self._explained_at < (1.0 if self._console.live else SILENCE):
            return
        self._explained_at = now
        progress, tasks = self._running.progress, self._running.tasks
        why = reason(progress, self._query.plan, self._zone, tasks is not None)
        kind = re.sub(r"[\d.: -]+", " ", why)
        if kind != self._said:
            self._said = kind
            end = "" if draining else "; Ctrl-C stops, and \\drain runs it to the end of its input"
            self._console.say(f"no rows for {silent:.0f} s: {why}{end}")
        work = share_of(tasks)
        self._rows.note(f"{silent:.0f} s no rows{work} · {standing(progress, self._query.plan, self._zone)}")


def summary(progress: "Progress") -> str:
    """Return one line about the rows that were read."""
    further = {
        "without event time": progress.rows_null_time,
        "ahead": progress.rows_ahead,
        "punctuation": progress.rows_punctuation,
        "with a NULL key": progress.rows_null_key,
    }
    return (
        f"read {progress.rows_read}, late {progress.rows_late}, malformed {progress.rows_malformed}, "
        + "".join(f"{name} {number}, " for name, number in further.items() if number)
        + f"matches {progress.matches}"
        + (f", timeouts {progress.timeouts}" if progress.timeouts else "")
    )
