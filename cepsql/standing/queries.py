"""The standing queries, for programs and statements: their actual and their desired state."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from cepsql.catalog import RegisteredQuery
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.states import (
    FAILED,
    FAILING,
    FINISHED,
    LOST,
    PAUSED,
    RUNNING,
    STOPPED,
    WAITING,
    HistoryEntry,
    QueryState,
)
from cepsql.errors import OperationalError, ProgrammingError, Span
from cepsql.standing.drawn_history import draw_history
from cepsql.standing.query_report import LISTED, listed
from cepsql.standing.reconciling.reconciler import BATCH_SECONDS
from cepsql.standing.savepoints import check_savepoint, make_savepoint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cepsql.standing.home import Home

SERVER = "server"
"""The lease of the process that runs all queries of a catalog."""

STARTING_SERVER = "starting server"
"""The lease of a server while its Spark starts, so that no other process runs queries that are started meanwhile."""

LOG = logging.getLogger("cepsql.standing")


class Queries(Mapping[str, "NamedQuery"]):
    """The queries of a catalog by name: `engine.queries["fraud"].stop()`."""

    def __init__(self, home: Callable[[], "Home"]):
        """Take a function that returns the home of this process's queries, which is created on first use."""
        self._home = home

    def __repr__(self) -> str:
        return f"<queries: {', '.join(self) or 'none'}>"

    def _repr_html_(self) -> str:
        """Show SHOW QUERIES in a notebook."""
        from cepsql.render.html import answer_html

        states = ((query.definition, query.state) for query in self.values())
        return answer_html(LISTED, listed(states), "table", "", "")

    def __getitem__(self, name: str) -> "NamedQuery":
        definition = self._home().reconciler.catalog.names.query(name)
        if definition is None:
            raise KeyError(name)
        return NamedQuery(definition.name, self._home())

    def __iter__(self) -> Iterator[str]:
        return iter([query.name for query in self._home().reconciler.catalog.names.queries])

    def __len__(self) -> int:
        return len(self._home().reconciler.catalog.names.queries)

    def get_at(self, name: str, span: Span | None) -> "NamedQuery":
        """Return the query with a name.

        Raises ProgrammingError, pointing at `span`, if there is none.
        """
        return NamedQuery(self._home().reconciler.catalog.query(name, span).name, self._home())


class NamedQuery:
    """A standing query with a name; its methods wait until they have taken effect, or cannot.

    Each raises OperationalError if the process that runs it does not follow in time.
    """

    def __init__(self, name: str, home: "Home"):
        self.name, self._home = name, home
        self._reconciler, self._states = home.reconciler, home.reconciler.states

    def __repr__(self) -> str:
        return f"<query {self.name}: {self.status}>"

    def _repr_html_(self) -> str:
        """Show its state in a notebook."""
        return self.state._repr_html_()

    @property
    def definition(self) -> RegisteredQuery:
        """Its text, sink and options."""
        return self._reconciler.catalog.query(self.name)

    @property
    def state(self) -> QueryState:
        """Its actual and its desired state."""
        state = self._states.get(self.name)
        return state if state is not None else _never_started(self.name)

    @property
    def status(self) -> str:
        """Its state, as text.

        starting, running, stopping, paused, stopped, finished; waiting: for example for a sink that does not answer;
        failing: it is started again, and no batch has succeeded since it failed; failed: it is not started again; or
        lost: the process that ran it is gone.
        """
        return self.state.state

    @property
    def reason(self) -> str | None:
        """Why it is failing, failed or waiting; None in other states."""
        return self.state.reason

    @property
    def restarts(self) -> int:
        """How often it was started again after a failure, or taken over."""
        return self.state.restarts

    @property
    def error(self) -> str | None:
        """The last error, None if there was none."""
        return self.state.error

    @property
    def progress(self) -> Mapping:
        """The numbers of `cepsql.spark.checkpoint.progress.Progress` by name, over all starts; empty before its first
        report.
        """
        progress = self.state.progress or {}
        return progress if "batches" in progress else {}

    @property
    def history(self) -> list[HistoryEntry]:
        """Its states and progress, the oldest first; a bounded number of them."""
        return self._states.history(self.name)

    def plot(self) -> "Figure":
        """Draw its rate, its lag and what it holds over the time that its history covers, with the changes of state.

        Raises InterfaceError where matplotlib is not installed, or nothing is known of it yet.
        """
        return draw_history(self.name, self.history)

    def start(self) -> str:
        """Let it run: by the server of the catalog if there is one, else in this process; return which.

        Raises the error that it cannot be started with.
        """
        state = self.state
        if state.desired == RUNNING and state.epoch is not None and state.state != FAILING:
            raise ProgrammingError(f"query {self.name} runs already, in {state.owner}")
        return self._run()

    def pause(self) -> None:
        """Let it rest after its batch until `resume`."""
        if self.state.desired != RUNNING:
            raise ProgrammingError(f"query {self.name} is {self.state.desired}, not running")
        self._rest(PAUSED)

    def resume(self) -> str:
        """Let it go on after `pause`; return which process runs it."""
        if self.state.desired != PAUSED:
            hint = None if self.state.desired == RUNNING else f"START QUERY {quoted_name(self.name)}"
            raise ProgrammingError(f"query {self.name} is {self.state.desired}, not paused", hint=hint)
        return self._run()

    def stop(self, savepoint: str | None = None) -> None:
        """End it after its batch; its checkpoint stays.

        savepoint: name of a copy of the checkpoint that is made once it has ended, for CREATE QUERY ... FROM SAVEPOINT.
        Raises ProgrammingError if there is a savepoint of that name or no checkpoint, before anything is stopped.
        """
        definition = self.definition
        if savepoint is not None:
            check_savepoint(self._home, definition, savepoint)
        self._rest(STOPPED)
        if savepoint is not None:
            make_savepoint(self._home, definition, savepoint)

    def restart(self) -> str:
        """Stop it if it runs, and start it with its present definition; return which process runs it."""
        state = self.state
        if state.desired != RUNNING or state.epoch is None:
            return self._run()
        self._states.desire(self.name, RUNNING, restart=True)
        self._follow(RUNNING, _starts)
        return self._runner()

    def wait(self, timeout: float | None = None) -> str:
        """Wait until it ends or fails, at most `timeout` seconds; return its status."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.status not in (FAILED, FAILING, FINISHED, STOPPED, PAUSED, LOST):
            if end is not None and time.monotonic() >= end:
                break
            time.sleep(0.1)
        return self.status

    def _run(self) -> str:
        if not self._is_served():
            # A server that has just been started takes its lease while Spark starts here.
            self._home.start_spark(self._is_served)
        self._states.desire(self.name, RUNNING)
        if self._is_served() or not self._reconciler.take(self.name):
            self._follow(RUNNING, _starts)
        return self._runner()

    def _is_served(self) -> bool:
        """Tell whether a server runs the queries of the catalog, or is about to."""
        return not self._states.leases.holders().keys().isdisjoint((SERVER, STARTING_SERVER))

    def _starting_server(self) -> str | None:
        """Return the server whose Spark starts, if no other one runs the queries of the catalog meanwhile."""
        holders = self._states.leases.holders()
        starting = holders.get(STARTING_SERVER)
        return None if starting is None or SERVER in holders else starting.owner

    def _runner(self) -> str:
        state = self.state
        if state.state in (FAILED, FAILING) and (state.error_at or 0.0) >= state.desired_since:
            stop = f"STOP QUERY {quoted_name(self.name)}"
            again = f"{state.owner} tries again in growing pauses; its log tells more, {stop} ends it"
            hint = None if state.epoch is None else again
            raise OperationalError(f"query {self.name} cannot run: {state.error}", hint=hint)
        return "this process" if state.owner == self._reconciler.owner else str(state.owner)

    def _rest(self, desired: str) -> None:
        self._states.desire(self.name, desired)
        self._follow(desired, lambda now: now.epoch is None)
        if self.state.state not in (desired, FINISHED):
            self._states.settle(self.name, desired)

    def _check_desired(self, desired: str, state: QueryState) -> None:
        """Raise OperationalError if another process has dropped the query, or asked for something else."""
        if self._reconciler.catalog.names.query(self.name) is None:
            raise OperationalError(f"query {self.name} was dropped by another process meanwhile")
        if state.desired != desired:
            raise OperationalError(
                f"another process asked meanwhile for query {self.name} to be {state.desired}, not {desired}",
                hint=f"DESCRIBE QUERY {quoted_name(self.name)} shows what it does",
            )

    def _follow(self, desired: str, done: Callable[[QueryState], bool]) -> None:
        """Wait until the process that runs the query, or is about to, has done what is desired.

        Raises OperationalError if that takes too long, or another process asks for something else meanwhile.
        """
        end, logged_server = time.monotonic() + BATCH_SECONDS + 10, None
        while True:
            if self.name.lower() in self._reconciler.owned:
                self._reconciler.tick()
            state = self.state
            is_done = done(state)
            if state.state != FINISHED and not (is_done and desired == RUNNING):
                self._check_desired(desired, state)
            if is_done:
                return
            server = self._starting_server() if state.epoch is None else None
            if server is not None:
                # No timeout for the start of a server; the lease of a dead one ends soon.
                end = time.monotonic() + BATCH_SECONDS + 10
                if server != logged_server:
                    logged_server = server
                    LOG.warning("query %s waits for the server %s, whose Spark is starting", self.name, server)
            elif time.monotonic() >= end:
                break
            time.sleep(0.1)
        said = f"query {self.name} should be {desired}, and is still {state.state}"
        if state.epoch is None:
            hint = "the server of the catalog has not got round to it, or is gone: START QUERY tries again"
            raise OperationalError(f"{said}: no process runs it", hint=hint)
        hint = f"it follows when its batch has ended; DESCRIBE QUERY {quoted_name(self.name)} tells"
        raise OperationalError(f"{said} in {state.owner}", hint=hint)


def _starts(now: QueryState) -> bool:
    """Tell whether a query has been started since that was desired, or failed at it."""
    runs = now.state in (RUNNING, WAITING, FAILING) and now.epoch is not None
    return now.state_since >= now.desired_since and (runs or now.state in (FAILED, FINISHED))


def _never_started(name: str) -> QueryState:
    return QueryState(name.lower(), STOPPED, 0.0, 0, STOPPED, 0.0, None, None, 0, None, None, None, None, time.time())
