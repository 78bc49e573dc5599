"""Subscriptions: the rows of a view and its changes, or the output of a query, even one of another process."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from cepsql.base.file_watch import FileState, change_of, file_state, wait_for_change
from cepsql.catalog import MaterializedView, RegisteredQuery, Sink
from cepsql.catalog.catalog_names import kind
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.view_store import view_source
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.render import cells
from cepsql.render.answer import Answer
from cepsql.standing.statement_host import StatementHost
from cepsql.views.recent_rows import LastRowsFollower, kept_rows
from cepsql.views.snapshot import NeverRun
from cepsql.views.view_subscription import Changes, ViewFollower

_LEAST_PAUSE, _MOST_PAUSE = 0.01, 0.2
_FALLS_BACK = 1.5

_CHECK_SECONDS = 1.0
"""How often a subscription checks that its view or query still exists."""


class Follower(Protocol):
    """Follows a view or a query.

    columns: names and Spark types; empty before the first row of a query.
    file:    a file that changes whenever there may be new rows; None: no file does.
    """

    columns: list[tuple[str, str]]
    file: str | None

    def poll(self) -> Iterator[Changes]:
        """Yield new changes, if there are any."""


class Subscription:
    """An iterator, and an async iterator, over `Changes`: rows that arrived together, with the token after them.

    It ends when any thread closes it, and at the end of a `with` block; a failure raises Error.
    """

    def __init__(self, name: str, follower: Follower, check_open: Callable[[], None], check_there: Callable[[], None]):
        self.name = name
        self._follower, self._check_open, self._check_there = follower, check_open, check_there
        self._checked = time.monotonic()
        self._ready: deque[Changes] = deque()
        self._closed = threading.Event()
        self._pause = _LEAST_PAUSE
        self._seen: FileState = None
        self.token: str | None = None

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and Spark types; empty before the first row of a query."""
        return self._follower.columns

    def poll(self) -> Changes | None:
        """Return the next rows, None without rows now; raises Error."""
        self._check_open()
        if time.monotonic() - self._checked > _CHECK_SECONDS:
            self._check_there()
            self._checked = time.monotonic()
        if not self._ready and not self._closed.is_set():
            self._seen = file_state(self._follower.file)
            try:
                self._ready.extend(self._follower.poll())
            except NeverRun:
                # It starts with the query of the view.
                return None
        if not self._ready or self._closed.is_set():
            return None
        changes = self._ready.popleft()
        self.token, self._pause = changes.token, _LEAST_PAUSE
        return changes

    def close(self) -> None:
        """End the subscription; a second call has no effect."""
        self._closed.set()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed.is_set()

    def __repr__(self) -> str:
        return f"<cepsql subscription to {self.name}{', closed' if self.closed else ''}>"

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> "Subscription":
        return self

    def __next__(self) -> Changes:
        while not self.closed:
            if (changes := self.poll()) is not None:
                return changes
            self.wait()
        raise StopIteration

    async def __aenter__(self) -> "Subscription":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Changes:
        while not self.closed:
            if (changes := await asyncio.to_thread(self.poll)) is not None:
                return changes
            await self.change()
        raise StopAsyncIteration

    def wait(self, end: threading.Event | None = None) -> None:
        """Wait before the next `poll`: until there may be new rows, or for a moment.

        end: ends the wait when it is set; None: closing the subscription does.
        """
        wait_for_change(self._follower.file, self._seen, self._next_pause(), end or self._closed)

    async def change(self) -> None:
        """Wait as `wait` does, without blocking the event loop."""
        await change_of(self._follower.file, self._seen, self._next_pause())

    def _next_pause(self) -> float:
        """Return the longest wait in seconds; it grows while no rows arrive."""
        pause, self._pause = self._pause, min(self._pause * _FALLS_BACK, _MOST_PAUSE)
        return pause


def subscribe(
    host: StatementHost, name: str, since: str | None = None, last: int = 0, span: Span | None = None
) -> Subscription:
    """Follow a view or a query; see `cepsql.engine.Engine.subscribe`."""
    target = followed(host, name, span)
    if isinstance(target, MaterializedView):
        return _subscription(host, target, ViewFollower(view_source(target, host.catalog.view_file), since))
    return _subscription(host, target, LastRowsFollower(host.home.last_rows_folder(target), target.name, since, last))


def followed(host: StatementHost, name: str, span: Span | None = None) -> MaterializedView | RegisteredQuery:
    """Return the view or query with a name; raises ProgrammingError if it does not exist."""
    names = host.catalog.names
    definition, query = names.find(name), names.query(name)
    if isinstance(definition, MaterializedView):
        return definition
    if query is not None and query.views is not None:
        hint = f"SUBSCRIBE {query.views[0]}" if query.views else None
        raise ProgrammingError(f"{name} is a view group: each of its views can be followed", span, hint)
    if query is not None:
        return query
    if definition is not None:
        what = "a sink" if isinstance(definition, Sink) else f"a {kind(definition)}"
        hint = (
            f"SELECT * FROM {name} reads it"
            if not isinstance(definition, Sink)
            else "SUBSCRIBE the query that writes it"
        )
        raise ProgrammingError(f"{name} is {what}: views and queries can be followed", span, hint)
    # The query of a view has the name of the view.
    followable = dict.fromkeys([*(view.name for view in names.materialized), *(query.name for query in names.queries)])
    raise ProgrammingError(f"there is no view or query {name}", span, suggestion(name, followable, "views and queries"))


def printed_rows(host: StatementHost, query: RegisteredQuery, most: int) -> Answer:
    """Answer PRINT of a query: the last rows that it keeps. Raises NotSupportedError if it keeps none."""
    last_rows = kept_rows(host.home.last_rows_folder(query), most)
    if last_rows is None:
        raise NotSupportedError(
            f"query {query.name} keeps no rows",
            hint=f"ALTER QUERY {quoted_name(query.name)} SET (keep_last 1000); SUBSCRIBE {query.name} follows it",
        )
    columns, rows = last_rows
    texts = [cells(column, host.zone_name() or "UTC") for column in rows.columns]
    return Answer(tuple(name for name, _ in columns), tuple(zip(*texts, strict=True)))


def _subscription(host: StatementHost, what: MaterializedView | RegisteredQuery, follower: Follower) -> Subscription:
    return Subscription(what.name, follower, host.check_open, lambda: _check_there(host, what))


def _check_there(host: StatementHost, what: MaterializedView | RegisteredQuery) -> None:
    """Raise ProgrammingError if the view or query was dropped or replaced."""
    names = host.catalog.names
    now = names.find(what.name) if isinstance(what, MaterializedView) else names.query(what.name)
    if now is None:
        raise ProgrammingError(f"{what.name} was dropped")
    if getattr(now, "id", None) != what.id:
        raise ProgrammingError(f"{what.name} was replaced", hint=f"SUBSCRIBE {what.name} follows the new one")
