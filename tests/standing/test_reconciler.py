"""Several processes on one catalog, played by reconcilers: who runs a query, and that it does what is desired."""

import contextlib
import logging
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from cepsql.catalog import RegisteredQuery
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.database import Database
from cepsql.catalog.leases import Leases
from cepsql.catalog.query_states import QueryStates
from cepsql.catalog.store import Store
from cepsql.errors import DataError, JavaEndedError, OperationalError, ProgrammingError
from cepsql.spark.checkpoint.progress import Progress
from cepsql.standing.queries import Queries
from cepsql.standing.reconciling.reconciler import Reconciler

LEASE = 3.0


class Run:
    """Stands for a standing query."""

    idle = False

    def __init__(self, epoch):
        self.epoch, self.status, self.error, self.batches, self.waiting = epoch, "running", None, 0, None
        self.failed_in_batch = False

    @property
    def progress(self):
        return Progress(
            batches=self.batches,
            matches=self.batches,
            rows_out=2,
            seconds=2.0 * bool(self.batches),
            waiting=self.waiting,
        )

    def stop(self, patience=0.0):
        self.status = "stopped"

    def end_with_java(self, in_batch):
        self.status, self.error, self.failed_in_batch = "failed", JavaEndedError("Java has ended"), in_batch


class Process:
    """One process on the catalog."""

    def __init__(self, location, owner, adopts=False, abreast=1):
        self.runs, self.broken, self.database = [], None, Database(location)
        states = QueryStates(self.database, Leases(self.database, LEASE))
        catalog = Catalog(Store(self.database))
        self.reconciler = Reconciler(catalog, states, self.start, owner, lambda: adopts, abreast)
        self.starts_spark = lambda: None
        home = SimpleNamespace(reconciler=self.reconciler, start_spark=lambda enough: self.starts_spark())
        self.query = Queries(lambda: home)["fraud"] if owner != "first" else None

    def start(self, query, lease):
        if self.broken is not None:
            raise self.broken
        self.runs.append(Run(lease.epoch))
        return self.runs[-1]

    def die(self):
        """Stop renewing and looking, as a process that was killed; what it ran runs on here."""
        self.reconciler._closed.set()
        self.reconciler.renewal.close()


@pytest.fixture
def process(location):
    made = []

    def make(owner, adopts=False, abreast=1):
        made.append(Process(location, owner, adopts, abreast))
        return made[-1]

    make("first").reconciler.catalog.add(RegisteredQuery("Fraud", None, "SELECT"))
    yield make
    for one in made:
        one.die()


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_life(process):
    shell = process("shell")
    query = shell.query
    assert (query.status, query.start(), query.status) == ("stopped", "this process", "running")
    with pytest.raises(ProgrammingError, match="query Fraud runs already, in shell"):
        query.start()
    query.pause()
    assert (query.status, shell.runs[0].status) == ("paused", "stopped")
    with pytest.raises(ProgrammingError, match="query Fraud is paused, not running"):
        query.pause()
    assert (query.resume(), query.status, len(shell.runs)) == ("this process", "running", 2)
    with pytest.raises(ProgrammingError, match="query Fraud is running, not paused"):
        query.resume()
    query.restart()
    assert (query.status, len(shell.runs)) == ("running", 3)
    query.stop()
    assert (query.status, shell.reconciler.owned) == ("stopped", [])
    with pytest.raises(ProgrammingError, match="query Fraud is stopped, not paused"):
        query.resume()
    query.restart()
    assert query.status == "running"
    states = [entry.state for entry in query.history if entry.progress is None]
    assert states[:5] == ["starting", "running", "stopping", "paused", "starting"]


def test_epochs_grow_with_every_owner(process):
    one, other = process("one"), process("other")
    one.query.start()
    one.query.stop()
    other.query.start()
    other.query.stop()
    one.query.start()
    epochs = [one.runs[0].epoch, other.runs[0].epoch, one.runs[1].epoch]
    assert epochs == sorted(set(epochs))


def test_another_process_steers_it(process):
    server, shell = process("server", adopts=True), process("shell")
    server.reconciler.renewal.acquire("server", "server")
    shell.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    assert (shell.query.status, shell.query.state.owner) == ("running", "server")
    shell.reconciler.states.desire("fraud", "paused")
    server.reconciler.tick()
    assert (shell.query.status, server.runs[0].status) == ("paused", "stopped")


def test_counts_go_on_over_starts(process):
    shell = process("shell")
    shell.query.start()
    shell.runs[0].batches = 3
    shell.reconciler.tick()
    shell.query.stop()
    first = shell.query.progress
    shell.query.start()
    shell.runs[1].batches = 5
    shell.reconciler.tick()
    shell.query.stop()
    progress = shell.query.progress
    assert first["seconds"] == 2.0 and progress["seconds"] == 4.0
    assert progress["matches"] == 5


def test_there_is_no_progress_before_a_batch(process):
    shell = process("shell")
    shell.query.start()
    shell.reconciler.tick()
    assert (shell.query.status, shell.query.progress) == ("running", {})
    shell.query.stop()
    assert shell.query.progress == {}


def test_the_second_takes_over_when_the_first_dies(process, caplog):
    first, second = process("one", adopts=True), process("two", adopts=True)
    first.reconciler.states.desire("fraud", "running")
    first.reconciler.tick()
    second.reconciler.tick()
    assert second.runs == []
    first.die()
    until(lambda: second.query.status == "lost")
    with caplog.at_level(logging.INFO, "cepsql"):
        second.reconciler.tick()
    assert "query fraud is taken over from one" in caplog.text
    assert (second.query.status, second.query.state.restarts) == ("running", 1)
    # The first comes back: it can record nothing, and stops what it still ran.
    lease = first.reconciler._owned["fraud"].lease
    assert not first.reconciler.states.report(lease, "running", {"batches": 99}, True)
    assert not first.reconciler.states.enter(lease, "failed", error="late")
    first.reconciler._closed.clear()
    first.reconciler.tick()
    assert (first.runs[0].status, first.reconciler.owned) == ("stopped", [])
    assert (second.query.status, second.query.state.owner) == ("running", "two")


def test_a_clock_that_is_set_back_keeps_no_dead_process_alive(process, monkeypatch):
    first, second = process("one", adopts=True), process("two", adopts=True)
    right = Database.now.fget
    with monkeypatch.context() as patched:
        patched.setattr(Database, "now", property(lambda database: right(database) + 3600))
        first.reconciler.states.desire("fraud", "running")
        first.reconciler.tick()
        second.reconciler.tick()
        assert (len(first.runs), second.runs, second.query.state.owner) == (1, [], "one")
        first.die()
    second.reconciler.tick()
    assert (second.query.status, second.query.state.owner) == ("running", "two")
    assert second.runs[0].epoch > first.runs[0].epoch


def test_a_lease_that_is_lost_stops_the_query_at_once(process):
    first, second = process("one"), process("two")
    first.query.start()
    second.reconciler.states.forget("fraud")
    until(lambda: first.runs[0].status != "running")
    assert first.runs[0].status == "stopped"


def test_who_does_not_follow_in_time_is_told(process, monkeypatch):
    server, shell = process("server", adopts=True), process("shell")
    server.reconciler.renewal.acquire("server", "server")
    monkeypatch.setattr("cepsql.standing.queries.BATCH_SECONDS", -10)
    with pytest.raises(OperationalError, match="Fraud should be running, and is still stopped: no process runs it\n"):
        shell.query.start()
    server.reconciler.tick()
    with pytest.raises(OperationalError, match="Fraud should be paused, and is still running in server\n"):
        shell.query.pause()


def test_an_outage_is_told_once(process, monkeypatch, caplog):
    shell, tries = process("shell"), []

    def all_states():
        tries.append(None)
        if len(tries) <= 4:
            raise OperationalError("the catalog c.db cannot be used: it is locked", hint="wait")
        if len(tries) == 6:
            shell.reconciler._closed.set()
        return {}

    monkeypatch.setattr(shell.reconciler.states, "all", all_states)
    shell.reconciler.run(every=0)
    said = ["the catalog c.db cannot be used: it is locked; wait", "the catalog can be used again"]
    assert [record.message for record in caplog.records] == said


def test_failures_are_tried_again_with_growing_pauses(process, monkeypatch):
    server = process("server", adopts=True)
    server.broken = DataError("no such folder")
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    owned = server.reconciler._owned["fraud"]
    assert (server.query.status, server.query.error) == ("failing", "no such folder")
    pauses = []
    for _ in range(3):
        pauses.append(round(owned.retry_at - time.monotonic()))
        owned.retry_at = 0.0
        server.reconciler.tick()
    assert pauses == [1, 2, 4]
    server.broken, owned.retry_at = None, 0.0
    server.reconciler.tick()
    # It runs, and nobody knows yet whether it does its work.
    assert (server.query.status, server.query.reason, server.query.restarts) == ("failing", "no such folder", 4)
    server.runs[0].status, server.runs[0].error = "failed", OperationalError("the disk is full")
    server.reconciler.tick()
    assert (server.query.status, server.query.reason) == ("failing", "the disk is full")
    owned.retry_at = 0.0
    server.reconciler.tick()
    server.runs[1].batches = 1
    server.reconciler.tick()
    assert (server.query.status, server.query.reason) == ("running", None)
    assert (server.query.error, server.query.restarts) == ("the disk is full", 5)


def failing(process, owner="server"):
    """Return a process whose query has failed and is started again, without a batch so far."""
    server = process(owner, adopts=True)
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    server.runs[0].status, server.runs[0].error = "failed", DataError("no such column")
    server.reconciler.tick()
    server.reconciler._owned["fraud"].retry_at = 0.0
    server.reconciler.tick()
    assert (server.query.status, len(server.runs)) == ("failing", 2)
    return server


def test_a_query_without_input_gets_over_its_failure(process, monkeypatch):
    server = failing(process)
    server.runs[1].idle = True
    server.reconciler.tick()
    assert server.query.status == "failing"
    monkeypatch.setattr("cepsql.standing.reconciling.reconciler._STEADY_SECONDS", 0)
    server.reconciler.tick()
    assert server.query.status == "running"


def test_the_next_owner_knows_that_a_query_fails(process):
    first, second = failing(process, "one"), process("two", adopts=True)
    first.reconciler.close()
    second.reconciler.tick()
    assert (second.query.status, second.query.reason) == ("failing", "no such column")
    assert second.reconciler.conditions()["fraud"].reason == "no such column"
    second.runs[0].batches = 1
    second.reconciler.tick()
    assert second.query.status == "running"
    second.reconciler.close()
    third = process("three", adopts=True)
    third.reconciler.tick()
    assert (third.query.status, third.query.error) == ("running", "no such column")


@pytest.mark.parametrize("runs", [False, True])
def test_start_tries_a_failing_query_at_once(process, runs):
    server, shell = failing(process), process("shell")
    if not runs:
        server.runs[1].status, server.runs[1].error = "failed", DataError("no such column")
        server.reconciler.tick()
    said = []
    starting = threading.Thread(target=lambda: said.append(shell.query.start()))
    starting.start()
    until(lambda: shell.query.state.desired_since > shell.query.state.state_since)
    server.reconciler.tick()
    starting.join(10)
    # Nobody knows yet whether its cause is gone.
    assert (said, shell.query.status, len(server.runs)) == (["server"], "failing", 2 if runs else 3)
    server.runs[-1].batches = 1
    server.reconciler.tick()
    assert shell.query.status == "running"


def test_a_failing_query_that_was_stopped_begins_anew(process):
    server = failing(process)
    for desired in ("stopped", "running"):
        server.reconciler.states.desire("fraud", desired)
        server.reconciler.tick()
    assert server.query.status == "running"


def test_a_start_that_fails_as_asked_is_an_error(process):
    server, shell = failing(process), process("shell")
    server.runs[1].status, server.runs[1].error = "failed", DataError("no such column")
    server.reconciler.tick()
    server.broken, said = DataError("no such folder"), []

    def start():
        with pytest.raises(OperationalError) as caught:
            shell.query.start()
        said.append(caught.value.message)

    starting = threading.Thread(target=start)
    starting.start()
    until(lambda: shell.query.state.desired_since > shell.query.state.state_since)
    server.reconciler.tick()
    starting.join(10)
    assert said == ["query Fraud cannot run: no such folder"]


def test_a_query_whose_sink_does_not_answer_waits(process):
    server = process("server", adopts=True)
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    server.runs[0].waiting = "sink alerts does not answer"
    server.reconciler.tick()
    assert (server.query.status, server.query.reason) == ("waiting", "sink alerts does not answer")
    assert server.query.history[-1].state == "waiting"
    assert server.reconciler.conditions()["fraud"].state == "waiting"
    with pytest.raises(ProgrammingError, match="query Fraud runs already, in server"):
        process("shell").query.start()
    server.runs[0].waiting = None
    server.reconciler.tick()
    assert (server.query.status, server.query.reason) == ("running", None)


def test_start_waits_for_a_server_whose_spark_is_starting(process, caplog, monkeypatch):
    server, shell = process("server", adopts=True), process("shell")
    server.reconciler.renewal.acquire("starting server", "server")
    # It does not count how long that takes.
    monkeypatch.setattr("cepsql.standing.queries.BATCH_SECONDS", -8)
    said = []
    starting = threading.Thread(target=lambda: said.append(shell.query.start()))
    starting.start()
    until(lambda: "query Fraud waits for the server server, whose Spark is starting" in caplog.text)
    server.reconciler.tick()
    starting.join(10)
    assert (said, len(server.runs), shell.runs) == (["server"], 1, [])


def test_a_server_that_shows_itself_while_spark_starts_here_runs_the_query(process):
    server, shell = process("server", adopts=True), process("shell")

    def starts_spark():
        server.reconciler.renewal.acquire("server", "server")
        threading.Thread(target=server.reconciler.run, args=(0.05,), daemon=True).start()

    shell.starts_spark = starts_spark
    assert (shell.query.start(), shell.runs) == ("server", [])


def test_a_start_that_fails_leaves_what_another_owner_runs(process):
    server, shell = process("server", adopts=True), process("shell")

    def start(query, lease):
        # Its lease ends while it starts, and the server takes the query over.
        shell.reconciler.renewal.release(lease)
        server.reconciler.tick()
        raise OperationalError("Java has ended")

    shell.reconciler._start = start
    with pytest.raises(OperationalError, match="Java has ended"):
        shell.query.start()
    server.reconciler.tick()
    state = server.query.state
    assert (state.state, state.desired, state.owner, state.error) == ("running", "running", "server", None)


@pytest.mark.parametrize(
    ("statement", "meanwhile", "said"),
    [
        ("start", "paused", "for query Fraud to be paused, not running"),
        ("pause", "running", "for query Fraud to be running, not paused"),
        ("stop", "paused", "for query Fraud to be paused, not stopped"),
        ("start", None, "query Fraud was dropped by another process meanwhile"),
    ],
)
def test_who_waits_is_told_what_others_asked_for_meanwhile(process, statement, meanwhile, said):
    server, shell, other = process("server", adopts=True), process("shell"), process("other")
    server.reconciler.renewal.acquire("server", "server")
    if statement != "start":
        shell.reconciler.states.desire("fraud", "running")
        server.reconciler.tick()
    failures = []

    def control():
        try:
            getattr(shell.query, statement)()
        except OperationalError as error:
            failures.append(error)

    before = shell.query.state.desired_since
    waiting = threading.Thread(target=control)
    waiting.start()
    until(lambda: shell.query.state.desired_since > before)
    if meanwhile is None:
        other.reconciler.catalog.drop(other.reconciler.catalog.query("fraud"), False, None)
        other.reconciler.states.forget("fraud")
    else:
        other.reconciler.states.desire("fraud", meanwhile)
    waiting.join(10)
    assert said in failures[0].message


def test_a_start_that_fails_elsewhere_is_said_to_be_tried_again(process):
    server, shell = process("server", adopts=True), process("shell")
    server.broken = DataError("no such folder")
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    threading.Thread(target=server.reconciler.run, args=(0.05,), daemon=True).start()
    with pytest.raises(OperationalError, match="query Fraud cannot run: no such folder") as refused:
        shell.query.start()
    assert refused.value.hint.startswith("server tries again in growing pauses")


def test_starts_that_take_long_leave_time_for_the_others(process, monkeypatch):
    server, shell = process("server", adopts=True), process("shell")
    names = [f"q{number}" for number in range(3)]
    for name in names:
        server.reconciler.catalog.add(RegisteredQuery(name, None, "SELECT"))
    for name in ("fraud", *names):
        shell.reconciler.states.desire(name, "running")
    server.reconciler.tick()
    started = []

    def start(query, lease):
        started.append(query.name)
        if query.name != "Fraud":
            raise OperationalError("no broker answers")
        return Run(lease.epoch)

    monkeypatch.setattr(server.reconciler, "_start", start)
    monkeypatch.setattr("cepsql.standing.reconciling.reconciler._STARTING_SECONDS", 0)
    for run in server.runs:
        run.status, run.error = "failed", OperationalError("no broker answers")
    shell.reconciler.states.desire("fraud", "paused")
    server.reconciler.tick()
    for owned in server.reconciler._owned.values():
        owned.retry_at = 0.0
    # What is asked for goes before what has failed, which has its turn.
    assert (started, shell.query.status) == ([], "paused")
    shell.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    assert (started, shell.query.status) == (["Fraud"], "running")
    for _ in names:
        server.reconciler.tick()
    assert sorted(started) == ["Fraud", *names]


def test_a_query_that_ends_java_twice_is_set_aside(process, monkeypatch, caplog):
    server = process("server", adopts=True)
    names = ["killer", "victim", "idle"]
    for name in names:
        server.reconciler.catalog.add(RegisteredQuery(name, None, "SELECT"))
        server.reconciler.states.desire(name, "running")
    runs = {}

    def start(query, lease):
        runs[query.name] = run = Run(lease.epoch)
        return run

    monkeypatch.setattr(server.reconciler, "_start", start)
    owned = server.reconciler._owned

    def tick():
        for one in owned.values():
            one.retry_at = 0.0
        server.reconciler.tick()
        return {name for name, one in owned.items() if one.running is not None}

    def java_ends(*in_batch):
        for name, run in runs.items():
            run.end_with_java(name in in_batch)
        tick()
        return tick()

    assert tick() == set(names)
    # Nobody can tell which of two it was: one of them waits until the other has done a batch.
    running = java_ends("killer", "victim")
    assert len(running) == 2 and "idle" in running
    assert tick() == running
    if "victim" in running:
        runs["victim"].batches += 1
        tick()
        assert tick() == set(names)
    # It alone is to blame, whoever else was in a batch.
    assert java_ends(*names) == {"idle", "victim"}
    assert "killer" not in owned
    state = server.reconciler.states.get("killer")
    assert (state.state, state.desired) == ("failed", "stopped")
    assert "Java has ended twice during the same micro-batch of it: Java has ended" in state.error
    assert "START QUERY killer tries it again" in {getattr(r, "hint", None) for r in caplog.records}
    assert tick() == {"idle", "victim"}


def test_the_next_owner_knows_a_suspect(process):
    first = process("one", adopts=True)
    first.reconciler.states.desire("fraud", "running")
    first.reconciler.tick()
    first.runs[0].end_with_java(in_batch=True)
    first.reconciler.tick()
    assert first.query.state.suspect
    first.reconciler.close()
    second = process("two", adopts=True)
    second.reconciler.tick()
    second.runs[0].end_with_java(in_batch=True)
    second.reconciler.tick()
    assert (second.query.status, second.query.state.desired) == ("failed", "stopped")
    assert "Java has ended twice" in second.query.error and not second.query.state.suspect


def test_a_suspect_that_does_a_batch_is_none_any_more(process):
    server = process("server", adopts=True)
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    server.runs[0].end_with_java(in_batch=True)
    server.reconciler.tick()
    server.reconciler._owned["fraud"].retry_at = 0.0
    server.reconciler.tick()
    server.runs[1].batches = 1
    server.reconciler.tick()
    assert (server.query.status, server.query.state.suspect) == ("running", False)


def test_of_two_suspects_one_is_started(process):
    server = process("server", adopts=True)
    server.reconciler.catalog.add(RegisteredQuery("other", None, "SELECT"))
    for name in ("fraud", "other"):
        server.reconciler.states.desire(name, "running")
    server.reconciler.tick()
    for run in server.runs:
        run.end_with_java(in_batch=True)
    server.reconciler.tick()
    server.reconciler.close()
    second = process("second", adopts=True, abreast=4)
    for _ in range(3):
        second.reconciler.tick()
        until(lambda: second.runs)
        second.reconciler._starts.wait()
    assert len(second.runs) == 1
    second.runs[0].batches = 1
    second.reconciler.tick()
    until(lambda: len(second.runs) == 2)


@pytest.mark.parametrize("again", [False, True])
def test_queries_are_started_side_by_side(process, monkeypatch, again):
    server, names = process("server", adopts=True, abreast=3), [f"q{number}" for number in range(6)]
    for name in names:
        server.reconciler.catalog.add(RegisteredQuery(name, None, "SELECT"))
        server.reconciler.states.desire(name, "running")
    if again:
        server.reconciler.tick()
        until(lambda: len(server.runs) == 6)
        server.reconciler._starts.wait()
        for run in server.runs:
            run.status, run.error = "failed", OperationalError("no broker answers")
        server.reconciler.tick()
        for owned in server.reconciler._owned.values():
            owned.retry_at = 0.0
    # Three at a time: with fewer the barrier would break.
    together, started = threading.Barrier(3, timeout=20), []

    def start(query, lease):
        together.wait()
        started.append(query.name)
        return Run(lease.epoch)

    monkeypatch.setattr(server.reconciler, "_start", start)
    server.reconciler.tick()
    until(lambda: len(started) == 6)
    server.reconciler._starts.wait()
    states = server.reconciler.states.all()
    assert {states[name].state for name in names} == {"failing" if again else "running"}
    assert {states[name].restarts for name in names} == {int(again)}


def test_a_start_that_takes_long_keeps_no_other_query_waiting(process, monkeypatch):
    server, answer = process("server", adopts=True, abreast=2), threading.Event()
    states = server.reconciler.states
    server.reconciler.catalog.add(RegisteredQuery("slow", None, "SELECT"))
    for name in ("slow", "fraud"):
        states.desire(name, "running")

    def start(query, lease):
        if query.name == "slow":
            assert answer.wait(20)
        return Run(lease.epoch)

    monkeypatch.setattr(server.reconciler, "_start", start)
    server.reconciler.tick()
    until(lambda: states.get("fraud").state == "running" and states.get("slow").state == "starting")
    for name in ("fraud", "slow"):
        states.desire(name, "paused")
    server.reconciler.tick()
    assert (states.get("fraud").state, states.get("slow").state) == ("paused", "starting")
    answer.set()
    server.reconciler._starts.wait()
    server.reconciler.tick()
    assert (states.get("slow").state, server.reconciler.owned) == ("paused", [])


def test_the_catalog_is_away_while_queries_start_side_by_side(process, monkeypatch, caplog):
    server = process("server", adopts=True, abreast=3)
    for number in range(6):
        server.reconciler.catalog.add(RegisteredQuery(f"q{number}", None, "SELECT"))
        server.reconciler.states.desire(f"q{number}", "running")
    with monkeypatch.context() as patched:
        patched.setattr(server.reconciler.renewal, "acquire", lambda *_: _fail())
        server.reconciler.tick()
        server.reconciler._starts.withdraw()
        server.reconciler._starts.wait()
    server.reconciler.tick()
    until(lambda: len(server.runs) == 6)
    server.reconciler._starts.wait()
    assert len({run.epoch for run in server.runs}) == 6 and not caplog.records


def test_a_start_that_ends_while_others_are_looked_after_stays(process, monkeypatch):
    server, go = process("server", adopts=True, abreast=2), threading.Event()
    server.reconciler.states.desire("fraud", "running")

    def start(query, lease):
        assert go.wait(20)
        server.runs.append(Run(lease.epoch))
        return server.runs[-1]

    monkeypatch.setattr(server.reconciler, "_start", start)
    every = server.reconciler.states.all

    def outdated():
        """Return the states as they were before the query got its lease."""
        states = every()
        if "fraud" in server.reconciler._starts:
            states = {name: replace(state, epoch=None, owner=None) for name, state in states.items()}
            go.set()
            server.reconciler._starts.wait()
        return states

    server.reconciler.tick()
    until(lambda: "fraud" in server.reconciler.owned)
    monkeypatch.setattr(server.reconciler.states, "all", outdated)
    server.reconciler.tick()
    server.reconciler.tick()
    assert (server.query.status, [run.status for run in server.runs]) == ("running", ["running"])


def test_closing_waits_for_what_is_being_started(process, monkeypatch):
    server = process("server", adopts=True, abreast=2)
    server.reconciler.states.desire("fraud", "running")
    closing, runs = threading.Event(), []

    def start(query, lease):
        assert closing.wait(20)
        runs.append(Run(lease.epoch))
        return runs[-1]

    monkeypatch.setattr(server.reconciler, "_start", start)
    server.reconciler.tick()
    until(lambda: "fraud" in server.reconciler._starts)
    monkeypatch.setattr(server.reconciler._starts, "withdraw", lambda: closing.set() or frozenset())
    server.reconciler.close()
    assert [run.status for run in runs] == ["stopped"]
    assert (server.query.status, server.query.state.owner) == ("stopped", None)


def test_java_that_ends_while_a_query_starts_is_no_defect(process, monkeypatch, caplog):
    server = process("server", adopts=True)
    monkeypatch.setattr("cepsql.spark.jvm.gateway.java_ended", lambda patience=0.0: True)
    monkeypatch.setattr("cepsql.spark.jvm.messages.failures.lost_java", lambda failure: True)
    server.broken = ConnectionRefusedError(111, "Connection refused")
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    assert server.query.error.startswith("Spark's Java process has ended")
    assert "Traceback" not in caplog.text


def test_java_may_end_between_batches_as_often_as_it_does(process):
    server = process("server", adopts=True)
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    for _ in range(4):
        server.runs[-1].end_with_java(in_batch=False)
        server.reconciler.tick()
        server.reconciler._owned["fraud"].retry_at = 0.0
        server.reconciler.tick()
    assert (server.query.status, len(server.runs)) == ("failing", 5)


def test_a_defect_of_one_query_does_not_end_the_others(process, caplog):
    server = process("server", adopts=True)
    server.broken = KeyError("no such thing")
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    assert (server.query.status, server.query.error) == ("failing", "cepsql failed: KeyError: 'no such thing'")
    assert "KeyError" in caplog.text


def test_a_defect_does_not_end_who_looks_after_queries(process, monkeypatch, caplog):
    shell = process("shell")
    shell.query.start()
    monkeypatch.setattr(Run, "progress", property(lambda run: {}["numbers"]))
    with caplog.at_level(logging.ERROR, "cepsql.standing"):
        until(lambda: "cepsql failed: 'numbers'" in caplog.text)
    assert shell.reconciler._thread.is_alive()


def test_one_that_was_started_again_meanwhile_runs_once(process):
    shell = process("shell")
    shell.query.start()
    assert shell.reconciler.take("fraud")
    assert [run.status for run in shell.runs] == ["stopped", "running"]


def test_a_query_that_cannot_start_is_an_error_where_it_is_started(process):
    shell = process("shell")
    shell.broken = OperationalError("no such folder")
    with pytest.raises(OperationalError, match="no such folder"):
        shell.query.start()
    assert (shell.query.status, shell.query.state.desired, shell.reconciler.owned) == ("failed", "stopped", [])


def test_one_that_has_ended_is_not_started_again(process):
    server = process("server", adopts=True)
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    server.runs[0].status = "finished"
    server.reconciler.tick()
    server.reconciler.tick()
    assert (server.query.status, len(server.runs)) == ("finished", 1)
    # Whoever waits for its start sees that it came after the wish.
    assert server.query.state.state_since >= server.query.state.desired_since


def test_the_store_is_away(process, monkeypatch):
    server = process("server", adopts=True)
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    away = server.database.writing

    def fail(*_):
        raise OperationalError("the catalog cannot be used")

    monkeypatch.setattr(server.database, "writing", fail)
    until(lambda: server.runs[0].status == "stopped")
    monkeypatch.setattr(server.database, "writing", away)
    server.reconciler.tick()
    assert (server.query.status, len(server.runs)) == ("running", 2)
    assert server.runs[1].epoch > server.runs[0].epoch


def test_the_store_keeps_a_process_waiting(process, monkeypatch):
    server = process("server", adopts=True)
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    answers = threading.Event()
    monkeypatch.setattr(server.reconciler.states.leases, "renew", lambda *_: answers.wait() and [])
    until(lambda: server.runs[0].status == "stopped")
    until(lambda: server.query.status == "lost")
    answers.set()
    server.reconciler.tick()
    assert (server.query.status, [run.status for run in server.runs]) == ("running", ["stopped", "running"])


@pytest.fixture
def away(monkeypatch):
    """Lets the catalog of a process be away within a block."""

    @contextlib.contextmanager
    def away(process):
        with monkeypatch.context() as patched:
            for name in ("reading", "writing"):
                patched.setattr(process.database, name, lambda *_: _fail())
            with contextlib.suppress(OperationalError):
                yield

    return away


def _fail():
    raise OperationalError("the catalog cannot be used")


def test_the_store_is_away_once_a_query_has_started(process, away, monkeypatch):
    server = process("server", adopts=True)
    server.reconciler.states.desire("fraud", "running")
    with contextlib.ExitStack() as stack:
        start = server.start

        def starting(query, lease):
            stack.enter_context(away(server))
            return start(query, lease)

        monkeypatch.setattr(server.reconciler, "_start", starting)
        server.reconciler.tick()
    assert server.query.status == "starting"
    server.reconciler.tick()
    assert (server.query.status, len(server.runs), server.runs[0].status) == ("running", 1, "running")


@pytest.mark.parametrize("desired", ["running", "paused"])
def test_the_store_is_away_once_a_query_has_stopped(process, away, monkeypatch, desired):
    server = process("server", adopts=True)
    server.reconciler.states.desire("fraud", "running")
    server.reconciler.tick()
    server.reconciler.states.desire("fraud", desired, restart=desired == "running")
    with contextlib.ExitStack() as stack:
        stop = server.runs[0].stop

        def stopping(patience):
            stop(patience)
            stack.enter_context(away(server))

        monkeypatch.setattr(server.runs[0], "stop", stopping)
        server.reconciler.tick()
    assert (server.runs[0].status, server.query.status) == ("stopped", "stopping")
    # A pause may be taken back meanwhile.
    server.reconciler.states.desire("fraud", "running")
    monkeypatch.undo()
    server.reconciler.tick()
    # The start that was asked for first failed.
    status = "failing" if desired == "running" else "running"
    assert (server.query.status, [run.status for run in server.runs]) == (status, ["stopped", "running"])


@pytest.mark.parametrize("adopts", [False, True])
def test_a_lease_that_seemed_to_end_is_taken_anew(process, adopts):
    one = process("one", adopts)
    one.query.start()
    lease = one.reconciler._owned["fraud"].lease
    # The catalog did not answer for so long, and does so before the lease has ended there.
    del one.reconciler.renewal._until[lease]
    one.runs[0].stop()
    one.reconciler.tick()
    assert (one.query.status, [run.status for run in one.runs]) == ("running", ["stopped", "running"])
    assert one.query.state.epoch == one.runs[1].epoch > lease.epoch


@pytest.mark.parametrize("taken_over", [False, True])
@pytest.mark.parametrize("adopts", [False, True])
def test_a_query_is_taken_anew_when_the_store_was_away_twice(process, monkeypatch, adopts, taken_over):
    one, other = process("one", adopts), process("other", adopts=True)
    one.query.start()
    lease = one.reconciler._owned["fraud"].lease
    del one.reconciler.renewal._until[lease]
    with monkeypatch.context() as patched:
        patched.setattr(one.reconciler.states.leases, "acquire", lambda *_: _fail())
        with contextlib.suppress(OperationalError):
            one.reconciler.tick()
        assert (one.reconciler.owned, one.runs[0].status) == ([], "stopped")
        one.reconciler.states.leases.release(lease)
        if taken_over:
            other.reconciler.tick()
    one.reconciler.tick()
    other.reconciler.tick()
    assert [one.reconciler.owned, other.reconciler.owned] == ([[], ["fraud"]] if taken_over else [["fraud"], []])


def test_a_start_that_fails_while_the_store_is_away_keeps_no_lease(process, away):
    shell = process("shell")
    with contextlib.ExitStack() as stack:

        def failing(query, lease):
            stack.enter_context(away(shell))
            raise OperationalError("no such folder")

        shell.reconciler._start = failing
        shell.query.start()
    assert shell.reconciler.owned == []


def test_closing_gives_queries_back(process):
    one, other = process("one"), process("other", adopts=True)
    one.query.start()
    one.reconciler.close()
    assert (one.runs[0].status, one.query.status, one.query.state.desired) == ("stopped", "stopped", "running")
    other.reconciler.tick()
    assert (other.query.status, other.query.state.owner) == ("running", "other")


def test_the_history_is_bounded(process, monkeypatch):
    monkeypatch.setattr("cepsql.catalog.query_states.HISTORY_LENGTH", 10)
    shell = process("shell")
    shell.query.start()
    lease = shell.reconciler._owned["fraud"].lease
    for number in range(30):
        shell.reconciler.states.report(lease, "running", {"batches": number}, True)
    history = shell.query.history
    # Reports do not drive states out.
    assert [entry.state for entry in history[:2]] == ["starting", "running"]
    assert len(history) == 12 and history[-1].progress == {"batches": 29}
    for number in range(30):
        shell.reconciler.states.enter(lease, "failed", error=f"error {number}")
    history = shell.query.history
    assert [entry.note for entry in history if entry.progress is None] == [f"error {n}" for n in range(20, 30)]
    assert len(history) == 20
