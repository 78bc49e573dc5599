"""What a DROP takes that cannot be had again, without Spark."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from cepsql.catalog.savepoint_names import Savepoint
from cepsql.catalog.states import RUNNING
from cepsql.engine import Engine, connect
from cepsql.spark.checkpoint.checkpoint import discard, open_checkpoint

DEFINED = """
    CREATE STREAM s (a INT) USING json OPTIONS (path '/tmp/none');
    CREATE STREAM alone (a INT) USING json OPTIONS (path '/tmp/none');
    CREATE VIEW v AS SELECT a FROM s;
    CREATE VIEW w AS SELECT a FROM alone;
    CREATE SINK k USING console;
    CREATE QUERY runs INTO k AS SELECT a FROM v;
    CREATE QUERY rests AS SELECT a FROM s;
    CREATE QUERY begun AS SELECT a FROM s;
    CREATE QUERY tried AS SELECT a FROM s;
    CREATE QUERY never AS SELECT a FROM s;
"""


@dataclass(frozen=True)
class Case:
    statement: str
    loss: str | None


CASES = [
    Case("DROP QUERY runs", "query runs (runs, state after 12 batches)"),
    Case("drop query RUNS;", "query runs (runs, state after 12 batches)"),
    Case("DROP QUERY rests", "query rests (state after 1 batch)"),
    Case("DROP QUERY begun", "query begun (has a checkpoint)"),
    Case("DROP QUERY tried", None),
    Case("DROP QUERY never", None),
    Case("DROP QUERY IF EXISTS nothing", None),
    Case("DROP QUERY nothing", None),
    Case("DROP STREAM v CASCADE", None),
    Case("DROP VIEW v", None),
    Case("DROP VIEW w CASCADE", None),
    Case("DROP VIEW v CASCADE", "view v, and with it query runs (runs, state after 12 batches)"),
    Case("DROP STREAM alone CASCADE", "stream alone, and with it view w"),
    Case("DROP SINK k CASCADE", "sink k, and with it query runs (runs, state after 12 batches)"),
    Case(
        "DROP STREAM s CASCADE",
        "stream s, and with it view v, query rests (state after 1 batch), query begun (has a checkpoint), query tried, "
        "query never and query runs (runs, state after 12 batches)",
    ),
    Case("DROP SAVEPOINT 'before'", "savepoint before (of query rests, made TIME)"),
    Case("DROP SAVEPOINT 'after'", None),
    Case("SELECT 'drop query runs'", None),
    Case("DROP", None),
    Case("CREATE VIEW dropped AS SELECT 1", None),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    """Queries in each state, as the processes that ran them have left it."""
    folder = tmp_path_factory.mktemp("catalog")
    engine = connect(catalog=str(folder / "catalog.db"))
    engine.sql(DEFINED)
    states = engine.home.states
    for name, batches in (("runs", 12), ("rests", 1), ("begun", 0), ("tried", 0)):
        states.desire(name, RUNNING)
        lease = states.leases.acquire(f"query {name}", "another process")
        assert lease is not None
        states.enter(lease, RUNNING)
        if batches:
            states.report(lease, RUNNING, {"batches": batches}, False)
        if name != "runs":
            states.leases.release(lease)
    discard(open_checkpoint(Path(engine.home.checkpoint(engine.catalog.query("begun"))), {}))
    engine.home.savepoints.add(Savepoint("before", "rests", str(folder / "copy")))
    yield engine
    engine.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.statement)
def test_what_is_lost(engine, case):
    loss = engine.loss(case.statement)
    assert loss == case.loss or re.sub(r"made [^)]*Z", "made TIME", loss or "") == case.loss
