"""Watches the standing queries while the shell is open: one line about their state, and their failures."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.states import FAILED, FAILING, LOST, RUNNING, STARTING, STOPPING, WAITING, QueryState
from cepsql.errors import Error
from cepsql.frontends.runner.counted import counted
from cepsql.frontends.runner.logged_notices import Notices, alone
from cepsql.frontends.shell.background_engine import OpeningEngine
from cepsql.standing.query_report import lag_seconds, rows_per_second

_EVERY = 1.0
_ALIVE = (STARTING, RUNNING, STOPPING)
_REASON_COLUMNS = 60
_DAY = 86400


@dataclass(frozen=True)
class Failure:
    """Why a query failed: its name, the message, and the technical details."""

    query: str
    message: str
    detail: str | None


class QueryWatch:
    """Looks at the queries every second.

    summary: one line for the toolbar, "" without running or failed queries.
    """

    def __init__(self, engine: OpeningEngine, announce: Callable[[str], None], changed: Callable[[str], None]):
        """Take a function that writes a line for the user, and one that gets each new summary."""
        self._engine, self._announce, self._changed = engine, announce, changed
        self.summary = ""
        self._failed: tuple[str, str] | None = None
        self._states: dict[str, QueryState] = {}
        self._announced: set[tuple[str, str | None, str]] = set()
        self._details: dict[str, str] = {}
        self._ended = threading.Event()
        self._notices = Notices(announce, self._keep_detail)
        self._installed = ExitStack()

    def __enter__(self) -> "QueryWatch":
        self._installed.enter_context(alone(self._notices))
        threading.Thread(target=self._follow, name="cepsql-query-watch", daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._installed.close()

    @property
    def failure(self) -> Failure | None:
        """The last failure that was announced, None if there was none."""
        if self._failed is None:
            return None
        query, message = self._failed
        # The details may come some moments after the state.
        return Failure(query, message, self._details.get(query.lower()))

    @property
    def states(self) -> dict[str, QueryState]:
        """The states of the queries as of the last look, by name."""
        return self._states

    def _follow(self) -> None:
        while not self._ended.wait(_EVERY):
            try:
                self._states = self._engine.query_states()
                summary = summarized(self._states) or ("" if self._engine.started else "Spark is starting")
            except Error as error:
                summary = f"the catalog cannot be read: {error.message}"
            self._announce_failures()
            if summary != self.summary:
                self.summary = summary
                self._changed(summary)

    def _announce_failures(self) -> None:
        """Announce each new failure once."""
        for name, state in self._states.items():
            if state.state not in (FAILED, FAILING, LOST):
                continue
            announcement = (name, state.error, state.state)
            if announcement in self._announced:
                continue
            self._announced.add(announcement)
            if state.state == LOST:
                self._announce(
                    f"query {name} is lost: {state.owner}, which ran it, is gone; START QUERY {quoted_name(name)}"
                )
                continue
            self._failed = name, state.error or ""
            first = (state.error or "").split("\n")[0]
            self._announce(f"query {name} failed: {first}; \\errverbose shows the rest")

    def _keep_detail(self, query: str, detail: str | None) -> None:
        if detail:
            self._details[query.lower()] = detail


def summarized(states: dict[str, QueryState]) -> str:
    """Return one line about queries: how many run, which ones wait or fail and why, rows a second and lag.

    Empty if none is to run and none has failed.
    """
    alive = {name: state for name, state in states.items() if state.state in _ALIVE}
    failed = [name for name, state in states.items() if state.state in (FAILED, LOST)]
    parts = [f"{len(alive)} running"] if alive else []
    parts += [_trouble(name, state) for name, state in states.items() if state.state in (WAITING, FAILING)]
    parts += [f"{counted(len(failed), 'query', 'queries')} failed: {', '.join(failed)}"] if failed else []
    return " · ".join([*parts, *(_one(name, state) for name, state in alive.items())])


def _trouble(name: str, state: QueryState) -> str:
    said = (state.reason or "").split("\n")[0]
    reason = said if len(said) <= _REASON_COLUMNS else f"{said[: _REASON_COLUMNS - 1]}…"
    restarts = f" ({counted(state.restarts, 'restart')})" if state.restarts else ""
    return f"{name} {state.state}{restarts}" + (f": {reason}" if reason else "")


def _one(name: str, state: QueryState) -> str:
    progress = state.progress or {}
    if "batches" not in progress:
        return f"{name} {state.state}"
    words = [name, f"{rows_per_second(state) or 0:,.0f} rows/s"]
    lag = lag_seconds(state)
    if lag is not None and lag < _DAY:
        words.append(f"lag {lag:.0f} s")
    words += [f"state {progress['state_rows']:,}"] if progress.get("state_rows") else []
    return " ".join(words)
