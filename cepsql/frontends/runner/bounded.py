"""The rows of a bounded query, piece by piece."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing

import pyarrow as pa

from cepsql.errors import Error
from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.counted import counted
from cepsql.frontends.runner.pager import paged
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.runner.working import share_of, working
from cepsql.query import Query
from cepsql.render import Renderer, renderer

_WRITTEN_AT_ONCE = 1000
_FOOTER = 3
"""Lines of the screen that footer and prompt take."""


CUT = "{} cut to the screen; \\G in place of ; or \\x on shows them whole"


def write_bounded(query: Query, zone: str, settings: UserChoices, console: Console, stop: threading.Event) -> None:
    """Write the rows of a bounded query as they come, until `stop` is set or nobody reads them any more.

    On a terminal no more than `settings.max_rows` are written, and it is said that there are more.
    Raises Error if the query fails.
    """
    begin, written, more = time.monotonic(), 0, False
    most, cut = _most(settings, console)
    form: Renderer | None = None
    lines = _Lines(settings, console, held=cut or most is not None)
    try:
        # One row more tells whether there are more.
        with (
            closing(query.pieces(most + cut if most is not None else None)) as pieces,
            working(console, lambda: f"working{share_of(query.tasks)}"),
        ):
            for rows in _chunks(pieces):
                if stop.is_set() or console.closed.is_set():
                    break
                shown = rows if most is None else rows.slice(0, most - written)
                if form is None:
                    form = _renderer(query.columns, zone, shown, settings, console)
                    lines.write(form.header)
                lines.write(form.rows(shown))
                written += shown.num_rows
                lines.tell(f"{counted(written, 'row')} so far")
                more = more or rows.num_rows > shown.num_rows
    except Error:
        if not stop.is_set():
            raise
    seconds = time.monotonic() - begin
    lines.close()
    if stop.is_set():
        console.echoed()
        console.say(f"stopped: {counted(written, 'row')}, {seconds:.0f} s")
        return
    if query.malformed:
        console.say(f"{counted(query.malformed, 'malformed row')} left out")
    if cut and more:
        console.say(f"the first {counted(written, 'row')}; \\maxrows N shows more, \\maxrows all shows all")
    if form is not None and form.cuts.number:
        console.say(CUT.format(counted(form.cuts.number, "value")))
    if settings.footer:
        console.say(f"{counted(written, 'row')}, {seconds:.1f} s")


def _renderer(
    columns: list[tuple[str, str]], zone: str, rows: pa.Table, settings: UserChoices, console: Console
) -> Renderer:
    """Choose the form of the rows."""
    return renderer(settings.format, columns, zone, rows, console.columns)


class _Lines:
    """Writes lines at once, or keeps them for a pager if they do not fit the screen.

    held: there are so few rows that they can be kept.
    """

    def __init__(self, settings: UserChoices, console: Console, held: bool):
        self._console, self._pager = console, list(settings.pager)
        self._room = (console.lines or 0) - _FOOTER
        self._held: list[str] | None = [] if held and self._pager and console.lines is not None else None

    def write(self, lines: Iterable[str]) -> None:
        if self._held is None:
            self._console.rows(lines)
        else:
            self._held.extend(lines)

    def tell(self, text: str) -> None:
        """Say how many lines are kept."""
        if self._held is not None and self._console.live:
            self._console.status(text)

    def close(self) -> None:
        """Show what was kept."""
        if self._held and len(self._held) > self._room:
            paged(self._held, self._pager, self._console)
        elif self._held:
            self._console.rows(self._held)


def _most(settings: UserChoices, console: Console) -> tuple[int | None, bool]:
    """Return how many rows to write, and whether that is for the terminal's sake."""
    if not console.out.isatty() or settings.max_rows is None:
        return settings.limit, False
    if settings.limit is not None and settings.limit <= settings.max_rows:
        return settings.limit, False
    return settings.max_rows, True


def _chunks(pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of tables, at least one table, so many at once that Ctrl-C need not wait."""
    for piece in pieces:
        for start in range(0, max(1, piece.num_rows), _WRITTEN_AT_ONCE):
            yield piece.slice(start, _WRITTEN_AT_ONCE)
