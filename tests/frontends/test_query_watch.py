"""What the shell tells of queries that stand under names, without Spark."""

import io
import logging
import time

import pytest

from cepsql.catalog.states import FAILED, FAILING, LOST, PAUSED, RUNNING, STARTING, WAITING, QueryState
from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.shell import query_watch
from cepsql.frontends.shell.query_watch import QueryWatch, summarized
from cepsql.frontends.shell.top import top


def state(name: str, state: str = RUNNING, error: str | None = None, progress: dict | None = None, at: float = 100.0):
    return QueryState(
        name=name, desired=RUNNING, desired_since=0.0, restarts_asked=0, state=state, state_since=0.0, owner="shell",
        epoch=1, restarts=int(state == FAILING), error=error, error_at=None, progress=progress, progress_at=at, now=at,
    )  # fmt: skip


RATE = {"batches": 3, "rows_per_second": 1210.4, "bound": 94_000_000, "state_rows": 12}


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([], ""),
        ([state("a", PAUSED)], ""),
        ([state("a", STARTING)], "1 running · a starting"),
        ([state("a", progress=RATE), state("b", FAILED, "no")],
         "1 running · 1 query failed: b · a 1,210 rows/s lag 6 s state 12"),
        ([state("a"), state("b", WAITING, progress={"waiting": "sink s does not answer"})],
         "1 running · b waiting: sink s does not answer · a running"),
        ([state("b", FAILING, "no column\nat")], "b failing (1 restart): no column"),
        ([state("a", STARTING, progress=RATE | {"bound": None})], "1 running · a 0 rows/s state 12"),
        ([state("a", progress=RATE | {"bound": -10**12, "state_rows": 0})], "1 running · a 1,210 rows/s"),
    ],
)  # fmt: skip
def test_the_toolbar(states, said):
    assert summarized({one.name: one for one in states}) == said


class Engine:
    started = True

    def __init__(self, *states: QueryState):
        self.states = states

    def query_states(self) -> dict[str, QueryState]:
        return {one.name: one for one in self.states}


def wait_for(condition) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_failure_is_announced_once(monkeypatch):
    monkeypatch.setattr(query_watch, "_EVERY", 0.01)
    said: list[str] = []
    shown: list[str] = []
    engine = Engine(state("fraud", FAILED, "disk full\nmore"), state("old", LOST))
    with QueryWatch(engine, said.append, shown.append) as watch:
        logging.getLogger("cepsql.standing").error(
            "query %s failed", "fraud", extra={"query": "fraud", "detail": "at Disk.java:1"}
        )
        wait_for(lambda: len(said) == 2)
        engine.states = (state("fraud", RUNNING), state("old", LOST))
        wait_for(lambda: len(shown) == 2)
        logging.getLogger("cepsql").warning("late rows")
        wait_for(lambda: len(said) == 3)
        assert watch.failure is not None
        assert (watch.failure.query, watch.failure.detail) == ("fraud", "at Disk.java:1")
    assert said == [
        "query fraud failed: disk full; \\errverbose shows the rest",
        "query old is lost: shell, which ran it, is gone; START QUERY old",
        "notice: late rows",
    ]
    assert shown == ["2 queries failed: fraud, old", "1 running · 1 query failed: old · fraud running"]


def test_the_table_of_all_queries():
    out = io.StringIO()
    states = {"fraud": state("fraud", progress=RATE | {"rows_read": 12}), "old": state("old", FAILING, "disk full\nat")}
    top(lambda: states, Console(out, io.StringIO()))
    header, _, fraud, old = ([part.strip() for part in line.split("|")] for line in out.getvalue().splitlines())
    shown = dict(zip(header, fraud, strict=True))
    assert (shown["rows/s"], shown["lately"], shown["read"], shown["lag"]) == ("1210", "█", "12", "6 s")
    assert (old[1], old[-1]) == ("failing: disk full", "1")


@pytest.mark.parametrize(("columns", "last"), [(80, "batch"), (100, "batch"), (140, "restarts")])
def test_the_table_of_all_queries_fits_the_screen(monkeypatch, columns, last):
    monkeypatch.setattr(Console, "columns", columns)
    out = io.StringIO()
    progress = RATE | {"rows_read": 1_000_000, "rows_out": 1_000, "rows_late": 20, "state_rows": 5_000}
    states = {name: state(name, progress=progress) for name in ("fraud", "outages")}
    top(lambda: states, Console(out, io.StringIO()))
    header, _, *rows = out.getvalue().splitlines()
    assert (header.split()[0], header.split()[-1], len(rows)) == ("query", last, 2)
    assert max(map(len, (header, *rows))) < columns
