"""Brings queries to their desired state: starts, stops and restarts those that this process owns."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from cepsql.catalog import RegisteredQuery
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.leases import Lease
from cepsql.catalog.query_states import QueryStates
from cepsql.catalog.states import (
    FAILED,
    FAILING,
    LOST,
    PAUSED,
    RUNNING,
    STARTING,
    STOPPED,
    STOPPING,
    WAITING,
    QueryState,
)
from cepsql.catalog.working_for import QUERY
from cepsql.errors import Error, InternalError, JavaEndedError, OperationalError
from cepsql.standing.reconciling.outage import Outage
from cepsql.standing.reconciling.pauses import pause
from cepsql.standing.reconciling.progress_data import SINCE_START, added, progress_data
from cepsql.standing.reconciling.renewal import Renewal
from cepsql.standing.reconciling.starts import Start, Starts

LOG = logging.getLogger("cepsql.standing")

_STEADY_SECONDS = 60.0
"""A query that has run this long has recovered from its earlier failures."""

_REMEMBERED_SECONDS = 10.0
"""How often progress is added to the history."""

_STARTING_SECONDS = 10.0
"""How long one round may start queries: one that cannot reach its input takes long, and others need attention."""

_SPARKS = ("py4j", "pyspark")
"""The packages whose exceptions may mean that Java has ended."""

_JAVA_SECONDS = 5.0
"""How long a Java process that does not answer may take to end."""

BATCH_SECONDS = 60.0
"""How long a query that is to stop may take for its current batch."""


class RunningQuery(Protocol):
    """What a reconciler needs of a `cepsql.spark.run.standing_query.StandingQuery`."""

    @property
    def status(self) -> str: ...

    @property
    def error(self) -> Error | None: ...

    @property
    def progress(self): ...

    @property
    def idle(self) -> bool: ...

    @property
    def failed_in_batch(self) -> bool: ...

    def stop(self, patience: float = 0.0) -> None: ...


Starter = Callable[[RegisteredQuery, Lease], RunningQuery]
"""Starts a query as the owner of a lease; raises Error."""


@dataclass
class _Owned:
    """A query that this process owns: running, or waiting to be started again.

    entered: its state in the catalog since its last start, None before the catalog knows that it runs.
    failing: it has failed, and no batch has succeeded since.
    begun:   how many batches there were at its last start.
    restarts, error: how often it was started again, and its last error, under any owner.
    suspect: Java ended during its last micro-batch, which has not succeeded since.
    """

    lease: Lease
    restarts_asked: int
    before: dict
    id: str = ""
    running: RunningQuery | None = None
    entered: str | None = None
    failing: bool = False
    begun: int = 0
    restarts: int = 0
    error: str | None = None
    started: float = 0.0
    failures: int = 0
    retry_at: float = 0.0
    reported: dict = field(default_factory=dict)
    remembered: float = 0.0
    suspect: bool = False


@dataclass(frozen=True)
class QueryHealth:
    """The health of a query: its state, why it is failing or waiting, how often it was restarted, its last error."""

    state: str
    reason: str | None
    restarts: int
    last_error: str | None


def _condition(owned: _Owned) -> QueryHealth:
    if owned.failing:
        return QueryHealth(FAILING, owned.error, owned.restarts, owned.error)
    waiting = owned.reported.get("waiting") if owned.entered == WAITING else None
    return QueryHealth(owned.entered or STARTING, waiting, owned.restarts, owned.error)


class Reconciler:
    """The queries that this process owns.

    owner:  the name of this process.
    adopts: take over every query that is to run and that no process runs; otherwise only those passed to `take`, even
            after their leases have ended.
    abreast: how many queries are started at once at most, by calling `start` in as many threads; with one, `start` is
             called in the thread of the reconciler.
    """

    def __init__(
        self,
        catalog: Catalog,
        states: QueryStates,
        start: Starter,
        owner: str,
        adopts: Callable[[], bool],
        abreast: int = 1,
    ):
        self.catalog, self.states, self.owner = catalog, states, owner
        self._start, self._adopts = start, adopts
        self._starts = Starts(abreast) if abreast > 1 else None
        self._renewal = Renewal(states.leases, self._lost)
        self._owned: dict[str, _Owned] = {}
        # Queries whose leases ended while the catalog was away, until they are owned again.
        self._left: set[str] = set()
        self._lock, self._closed = threading.RLock(), threading.Event()
        self._go, self._begun = time.monotonic(), 0
        self._on_trial: str | None = None
        self._thread: threading.Thread | None = None

    @property
    def owned(self) -> list[str]:
        """The names of the queries that this process owns, lower case."""
        return list(self._owned)

    @property
    def renewal(self) -> Renewal:
        """The renewal of the leases of this process."""
        return self._renewal

    def take(self, name: str) -> bool:
        """Start a query here; return False if another process owns it.

        Raises the error of a failed start, after which the query is not to run.
        """
        with self._lock:
            if self._starts is not None:
                self._starts.withdraw()
                self._starts.wait(name.lower())
            before, state = self._owned.get(name.lower()), self.states.get(name)
            owned = self._acquired(name.lower(), state)
            if owned is None:
                return False
            try:
                if before is not None:
                    # It has been started again in the meantime.
                    self._stop(before, BATCH_SECONDS)
                owned.failing = state is not None and self._was_failing(state)
                self._run(name.lower(), owned, asked=True)
            except Error as error:
                try:
                    self.states.give_up(owned.lease, str(error.message))
                finally:
                    self._release(name.lower())
                raise
            if self._thread is None:
                self._thread = threading.Thread(target=self.run, name="cepsql-reconciler", daemon=True)
                self._thread.start()
            return True

    def conditions(self) -> dict[str, QueryHealth]:
        """Return the health of the queries of this process, by name in lower case, without asking the catalog."""
        return {name: _condition(owned) for name, owned in list(self._owned.items())}

    def run(self, every: float = 1.0) -> None:
        """Reconcile again and again, until `close` is called."""
        outage = Outage(LOG)
        while not self._closed.wait(every):
            try:
                self.tick()
                outage.is_over()
            except OperationalError as error:
                outage.goes_on(error)
            except Exception as failure:
                # A defect that one query triggers must not stop the reconciler of the others.
                LOG.exception("cepsql failed: %s", failure)

    def tick(self) -> None:
        """Bring the queries to their desired state once.

        Raises OperationalError if the catalog cannot be reached.
        """
        with self._lock:
            if self._closed.is_set():
                return
            # Queries that are being started may finish, or appear in the catalog, in the middle of this.
            starting = self._starts.withdraw() if self._starts is not None else frozenset()
            owned_now = [(name, owned) for name, owned in list(self._owned.items()) if name not in starting]
            states = self.states.all()
            self._go, self._begun = time.monotonic(), 0
            self._on_trial = self._running_suspect()
            waiting = [(name, owned) for name, owned in owned_now if self._steer(name, owned, states.get(name))]
            states = {name: state for name, state in states.items() if name not in starting}
            left = self._left_of(states)
            self._start_all(states if self._adopts() else left, waiting)

    def close(self, patience: float = BATCH_SECONDS) -> None:
        """Stop the queries of this process, each after its batch, and release them for other processes."""
        self._closed.set()
        with self._lock:
            if self._starts is not None:
                self._starts.withdraw()
                self._starts.wait()
            stops = [threading.Thread(target=self._end, args=(name, patience)) for name in self._owned]
            for stop in stops:
                stop.start()
            for stop in stops:
                stop.join()
        self._renewal.close()

    def _end(self, name: str, patience: float) -> None:
        owned = self._owned[name]
        try:
            self._stop(owned, patience)
            self._report(owned, last=True)
            self.states.enter(owned.lease, STOPPED, f"{self.owner} has ended")
            self._renewal.release(owned.lease)
        except Error as error:
            LOG.warning(
                "query %s was stopped, but not so in the catalog: %s", name, error.message, extra={"query": name}
            )

    # One query

    def _start_all(self, states: Mapping[str, QueryState], waiting: list[tuple[str, _Owned]]) -> None:
        """Take over queries that no process runs, the latest request first, then start failed ones again.

        Raises OperationalError if the catalog cannot be reached.
        """
        defined = {query.name.lower() for query in self.catalog.names.queries}
        free = [state for name, state in states.items() if name in defined and self._is_free(name, state)]
        due = [(name, owned) for name, owned in waiting if time.monotonic() >= owned.retry_at]
        starts = [
            Start(state.name, partial(self._adopt, state.name, state), state.suspect)
            for state in sorted(free, key=lambda state: -state.desired_since)
        ] + [
            Start(name, partial(self._try, name, owned, restarted=True), owned.suspect)
            for name, owned in sorted(due, key=lambda one: one[1].retry_at)
        ]
        # With two suspects it would be unknown which one ends Java.
        trial = self._running_suspect() is None and not (self._starts is not None and self._starts.has_suspect)
        first = next((start for start in starts if start.suspect), None)
        starts = [start for start in starts if not start.suspect or (trial and start is first)]
        if self._starts is not None:
            self._starts.offer(starts)
            return
        for start in starts:
            if self._has_time():
                start.call()

    def _is_free(self, name: str, state: QueryState) -> bool:
        """Tell whether a query is to run, and no process runs it."""
        return name not in self._owned and state.desired == RUNNING and state.epoch is None

    def _left_of(self, states: Mapping[str, QueryState]) -> dict[str, QueryState]:
        """Return the queries that this process had to leave and may still run."""
        own = {name: state for name, state in states.items() if state.epoch is None or state.owner == self.owner}
        self._left &= {name for name, state in own.items() if state.desired == RUNNING}
        return {name: replace(own[name], epoch=None) for name in self._left}

    def _adopt(self, name: str, state: QueryState | None) -> None:
        if state is None or not self._is_free(name, state):
            return
        owned = self._acquired(name, state)
        if owned is not None:
            owned.failing = self._was_failing(state)
            if state.state == LOST:
                LOG.warning("query %s is taken over from %s", name, state.owner, extra={"query": name})
            self._try(name, owned, restarted=state.state == LOST, asked=state.desired_since > state.state_since)

    def _was_failing(self, state: QueryState) -> bool:
        """Tell whether no batch has succeeded since a query failed, under any owner; a query that was paused or stopped
        on request since then starts over."""
        failed = state.error_at
        if failed is None:
            return False
        since = self.states.history(state.name, failed)
        # The end of its process has a note.
        rested = any(entry.state in (PAUSED, STOPPED) and entry.note is None for entry in since)
        return not rested and all(entry.state not in (RUNNING, WAITING) for entry in since)

    def _acquired(self, name: str, state: QueryState | None) -> _Owned | None:
        lease = self._renewal.acquire(f"query {name}", self.owner)
        if lease is None:
            return None
        before = dict(state.progress or {}) if state is not None else {}
        owned = _Owned(lease, state.restarts_asked if state is not None else 0, before)
        if state is not None:
            owned.restarts, owned.error, owned.suspect = state.restarts, state.error, state.suspect
        self._owned[name] = owned
        self._left.discard(name)
        return owned

    def _steer(self, name: str, owned: _Owned, state: QueryState | None) -> bool:
        """Bring a query of this process to its desired state; return whether it waits for its next start."""
        if state is None or state.epoch != owned.lease.epoch:
            self._leave(name, owned)
            self._adopt(name, state)
        elif not self._renewal.holds(owned.lease):
            # The end of the lease has stopped the query before it is visible in the catalog.
            self._leave(name, owned)
            self._adopt(name, replace(state, epoch=None))
        elif state.desired != RUNNING:
            self._halt(name, owned, state)
        elif state.restarts_asked != owned.restarts_asked:
            self._stop_recorded(name, owned)
            owned.restarts_asked = state.restarts_asked
            self._begin_anew(name, owned)
        elif owned.failing and state.desired_since > state.state_since:
            # START QUERY: the user has removed the cause.
            self._begin_anew(name, owned)
        elif owned.running is None:
            return True
        else:
            self._follow(name, owned)
        return False

    def _begin_anew(self, name: str, owned: _Owned) -> None:
        """Start a query at once, if it does not run; if it fails again, its pauses start from the shortest."""
        owned.failures = 0
        if owned.running is None:
            self._try(name, owned, asked=True)
        else:
            # A process that waits for an answer sees a new state.
            owned.entered = None
            self._follow(name, owned)

    def _follow(self, name: str, owned: _Owned) -> None:
        """Record the state of a query that is to run."""
        assert owned.running is not None
        status = owned.running.status
        if owned.suspect and owned.running.progress.batches > owned.begun:
            owned.suspect = False
        if status == "running":
            self._enter_condition(name, owned)
        self._report(owned, last=status != "running")
        if status == "failed":
            error = owned.running.error or InternalError("the query ended without saying why")
            self._failed(name, owned, error)
        elif status == "stopped":
            # For a request that is no longer desired, such as a pause that could not be recorded.
            self._keep_counts(owned)
            owned.running = None
            self._try(name, owned)
        elif status == "finished":
            owned.running = None
            self.states.finish(owned.lease)
            self._release(name)
            LOG.info("query %s has finished", name, extra={"query": name})

    def _try(self, name: str, owned: _Owned, restarted: bool = False, asked: bool = False) -> None:
        """Start a query; if that fails, it waits for its next start."""
        try:
            self._run(name, owned, restarted, asked)
        except Error as error:
            self._failed(name, owned, error)

    def _run(self, name: str, owned: _Owned, restarted: bool = False, asked: bool = False) -> None:
        """Start a query. The process that asked for it waits for a state after its start."""
        query = self.catalog.query(name)
        owned.id = query.id
        again = owned.failing and not asked
        note = "is started again" if again else None
        if not self.states.enter(owned.lease, FAILING if again else STARTING, note, restarted=restarted):
            return
        owned.restarts += restarted
        owned.running, owned.entered = self._started(query, owned.lease), FAILING if again else None
        owned.started, owned.begun = time.monotonic(), owned.running.progress.batches
        if owned.failing:
            LOG.info("query %s was started again; none of its batches has succeeded yet", name, extra={"query": name})
        try:
            self._enter_condition(name, owned)
        except OperationalError as error:
            LOG.warning("query %s runs, which the catalog does not know yet: %s", name, error.message)

    def _enter_condition(self, name: str, owned: _Owned) -> None:
        """Record whether a query runs, waits, or has not recovered from its last failure."""
        assert owned.running is not None
        progress = owned.running.progress
        if owned.failing and self._has_recovered(owned, progress.batches):
            owned.failing = False
        state = FAILING if owned.failing else WAITING if progress.waiting else RUNNING
        if state == owned.entered:
            return
        note = progress.waiting or f"epoch {owned.lease.epoch}, {self.owner}"
        self.states.enter(owned.lease, state, note, suspect=owned.suspect)
        self._enter_begun(owned, state)
        if owned.entered != WAITING and state == RUNNING:
            LOG.info("query %s runs", name, extra={"query": name})
        owned.entered = state

    def _has_recovered(self, owned: _Owned, batches: int) -> bool:
        """Tell whether a batch has succeeded since the last start, or the query has been idle for long."""
        assert owned.running is not None
        steady = time.monotonic() - owned.started >= _STEADY_SECONDS
        return batches > owned.begun or (steady and owned.running.idle)

    def _enter_begun(self, owned: _Owned, state: str) -> None:
        """Record that the query has a checkpoint, before its first batch is reported.

        If the checkpoint is away at the next start, the query must not start with a new one.
        """
        if owned.before.get("id") != owned.id:
            # All other counts are those of its earlier checkpoint.
            since_start = {name: owned.before[name] for name in SINCE_START if name in owned.before}
            self.states.report(owned.lease, state, since_start | {"id": owned.id}, remember=False)

    def _has_time(self) -> bool:
        """Tell whether this round may start one more query, if it is not an explicit request."""
        return not self._begun or time.monotonic() - self._go <= _STARTING_SECONDS

    def _started(self, query: RegisteredQuery, lease: Lease) -> RunningQuery:
        """Start a query; any exception but an Error is a defect, which must not stop other queries."""
        self._begun += 1
        token = QUERY.set(query.name.lower())
        try:
            return self._start(query, lease)
        except Error:
            raise
        except Exception as failure:
            if (lost := _java_ended(failure)) is not None:
                raise lost from failure
            LOG.exception("query %s cannot start: %s", query.name, failure, extra={"query": query.name.lower()})
            said = f"{type(failure).__name__}: {str(failure).splitlines()[0] if str(failure) else ''}".rstrip(": ")
            raise InternalError(f"cepsql failed: {said}") from failure
        finally:
            QUERY.reset(token)

    def _running_suspect(self) -> str | None:
        """Return the query that is suspected of ending Java and runs again; there is at most one at a time."""
        running = (name for name, owned in self._owned.items() if owned.suspect and owned.running is not None)
        return next(running, None)

    def _ended_java(self, name: str, owned: _Owned, error: Error) -> bool:
        """Tell whether a query has ended Java twice, the second time while no other suspect ran.

        After the first time, it is a suspect.
        """
        if not isinstance(error, JavaEndedError) or owned.running is None or not owned.running.failed_in_batch:
            return False
        if self._on_trial == name:
            return True
        trial = self._owned.get(self._on_trial or "")
        # A query is not to blame if a suspect was in a batch, too.
        owned.suspect = owned.suspect or trial is None or not trial.suspect
        return False

    def _set_aside(self, name: str, owned: _Owned, error: Error) -> None:
        """Stop for good a query that has ended Java, and so the other queries, twice."""
        said = f"the query was stopped, for Java has ended twice during the same micro-batch of it: {error.message}"
        self._keep_counts(owned)
        owned.running = None
        self.states.enter(owned.lease, FAILED, error=said, desired=STOPPED, suspect=False)
        self._release(name)
        hint = f"START QUERY {name} tries it again"
        hint = f"{hint}; {error.hint}" if error.hint else hint
        LOG.error("query %s: %s", name, said, extra={"query": name, "hint": hint, "detail": error.detail})

    def _failed(self, name: str, owned: _Owned, error: Error) -> None:
        if self._ended_java(name, owned, error):
            self._set_aside(name, owned, error)
            return
        if owned.running is not None and time.monotonic() - owned.started >= _STEADY_SECONDS:
            owned.failures = 0
        self._keep_counts(owned)
        owned.running, owned.failures = None, owned.failures + 1
        owned.failing, owned.error = True, error.message
        seconds = pause(owned.failures)
        owned.retry_at = time.monotonic() + seconds
        self.states.enter(owned.lease, FAILING, error=error.message, suspect=owned.suspect)
        extra = {"query": name, "hint": error.hint, "detail": error.detail}
        LOG.error("query %s failed, next start in %g s: %s", name, seconds, error.message, extra=extra)

    def _halt(self, name: str, owned: _Owned, state: QueryState) -> None:
        self._stop_recorded(name, owned)
        self.states.enter(owned.lease, PAUSED if state.desired == PAUSED else STOPPED)
        self._release(name)
        LOG.info("query %s is %s", name, state.desired, extra={"query": name})

    def _stop_recorded(self, name: str, owned: _Owned) -> None:
        self.states.enter(owned.lease, STOPPING)
        self._stop(owned, BATCH_SECONDS)
        self._report(owned, last=True)
        self._keep_counts(owned)
        owned.running = None

    def _stop(self, owned: _Owned, patience: float) -> None:
        if owned.running is not None:
            owned.running.stop(patience)

    def _leave(self, name: str, owned: _Owned) -> None:
        """Give up a query that another process owns now, or that was dropped."""
        LOG.warning(
            "query %s is no longer run here: it was dropped, another process has taken it over, or its lease has ended",
            name,
            extra={"query": name},
        )
        self._stop(owned, 0.0)
        self._left.add(name)
        del self._owned[name]

    def _release(self, name: str) -> None:
        self._renewal.release(self._owned.pop(name).lease)

    def _lost(self, lease: Lease) -> None:
        """Stop a query whose lease has ended, at once: another process may run it by now."""
        owned = next((o for o in list(self._owned.values()) if o.lease == lease), None)
        if owned is not None and owned.running is not None:
            threading.Thread(target=owned.running.stop, daemon=True).start()

    # Progress

    def _report(self, owned: _Owned, last: bool = False) -> None:
        if owned.running is None:
            return
        done = progress_data(owned.running.progress)
        progress = added(owned.before, done) | {"id": owned.id}
        if progress == owned.reported or not (done["batches"] or done["waiting"]):
            return
        now = time.monotonic()
        remember = last or now - owned.remembered >= _REMEMBERED_SECONDS
        self.states.report(owned.lease, owned.entered or RUNNING, progress, remember)
        owned.reported = progress
        owned.remembered = now if remember else owned.remembered

    def _keep_counts(self, owned: _Owned) -> None:
        """Carry the counts since the start over to the next start."""
        if owned.running is not None:
            progress = progress_data(owned.running.progress)
            if progress["batches"]:
                owned.before = added(owned.before, progress)


def _java_ended(failure: Exception) -> Error | None:
    """Return the error for a failure of Spark if Java has ended, else None."""
    if not isinstance(failure, OSError | EOFError) and type(failure).__module__.partition(".")[0] not in _SPARKS:
        return None
    from cepsql.spark.jvm.gateway import java_ended
    from cepsql.spark.jvm.messages.failures import translate_failure

    return translate_failure(failure) if java_ended(_JAVA_SECONDS) else None
