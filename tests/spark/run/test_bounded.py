"""Bounded queries in Spark: rows piece by piece, and cancelling what runs."""

import errno
import itertools
import os
import signal
import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest

from cepsql.engine import connect
from cepsql.errors import DataError, InterfaceError, OperationalError
from cepsql.spark.run import receiver

ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE hash(id) = id % 7"


@pytest.fixture(scope="module")
def engine(spark):
    return connect(spark)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, id % 7 AS k FROM range(50000) ORDER BY k, id DESC",
        "SELECT id, timestamp_micros(id) AS t, INTERVAL '1' MONTH * id AS i FROM range(20000)",
        "SELECT id FROM range(100) WHERE id < 0",
        "SELECT id FROM range(0, 30000, 1, 13) WHERE id % 10000 = 9999",
    ],
)
def test_pieces_are_the_rows_in_order(engine, sql, monkeypatch):
    monkeypatch.setattr(receiver, "_SPILLED_BYTES", 10_000)
    query = engine.query(sql)
    assert pa.concat_tables(query.pieces()).equals(query.arrow())


def test_rows_that_cannot_be_put_aside_are_no_end_of_the_result(monkeypatch):
    def spill(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    second = SimpleNamespace(partitionId=lambda: 1)
    monkeypatch.setattr(receiver, "TaskContext", SimpleNamespace(get=lambda: second))
    monkeypatch.setattr("cepsql.spark.run.receiver._Lane.spill", spill)
    with receiver.Receiver("127.0.0.1", "127.0.0.1") as receiving:
        with pytest.raises((OperationalError, OSError)):
            receiver.sender(receiving)([pa.record_batch({"id": [1]})])
        receiving.end()
        said = "rows that wait for others cannot be put aside in .*: No space left"
        with pytest.raises(OperationalError, match=said):
            list(receiving.batches())


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT * FROM r", [(1,), (2,), (3,)]),
        ("SELECT * FROM r MATCH_RECOGNIZE (ORDER BY n MEASURES SUM(n) AS s PATTERN (A{3}))", [(6,)]),
        ("SELECT q.n, o.n AS m FROM (SELECT n FROM r WHERE n > 1) AS q JOIN r AS o ON o.n = q.n + 1", [(2, 3)]),
    ],
)
def test_a_cte_may_read_itself(engine, query, rows):
    recursive = "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3)"
    assert sorted(map(tuple, engine.query(f"{recursive} {query}").collect())) == rows
    engine.sql(f"CREATE OR REPLACE VIEW counted AS {recursive} {query}")
    assert sorted(map(tuple, engine.query("SELECT * FROM counted").collect())) == rows


def assert_no_job_goes_on(tracker):
    """Spark's tracker learns of the end of a job after whoever waited for it."""
    deadline = time.monotonic() + 60
    while (active := tracker.getActiveJobsIds()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not active


def test_an_endless_result_comes_in_pieces_and_can_be_left(engine):
    pieces = engine.query("SELECT id FROM range(1000000000000)").pieces()
    ids = [row for piece in itertools.islice(pieces, 3) for row in piece["id"].to_pylist()]
    pieces.close()
    assert ids == list(range(len(ids)))
    assert_no_job_goes_on(engine.spark.sparkContext.statusTracker())


def test_how_much_is_done(engine):
    query = engine.query("SELECT id FROM range(0, 400000, 1, 8)")
    assert query.tasks is None
    pieces = query.pieces()
    next(pieces)
    done, total = query.tasks
    assert 0 <= done <= total and total == 8
    pieces.close()
    assert query.tasks is None


def test_a_limit_reaches_spark(engine):
    (piece,) = engine.query("SELECT id FROM range(1000000000000)").pieces(limit=3)
    assert piece["id"].to_pylist() == [0, 1, 2]


def test_what_fails_in_a_task_is_raised(engine):
    pieces = engine.query("SELECT if(id > 90000, raise_error('it broke'), id) AS x FROM range(100000)").pieces()
    with pytest.raises(DataError, match="it broke"):
        list(pieces)


def test_a_stream_has_no_pieces(engine):
    engine.sql("CREATE STREAM beats (value BIGINT, timestamp TIMESTAMP) USING rate")
    with pytest.raises(InterfaceError, match="never end"):
        next(engine.query("SELECT value FROM beats").pieces())


@pytest.mark.parametrize("take", ["collect", "arrow", "pieces"])
def test_a_query_is_cancelled_from_another_thread(engine, take):
    query, raised = engine.query(ENDLESS), []

    def run():
        try:
            rows = getattr(query, take)()
            raised.append(list(rows))
        except OperationalError as error:
            raised.append(error.message)

    thread = threading.Thread(target=run)
    thread.start()
    tracker = engine.spark.sparkContext.statusTracker()
    deadline = time.monotonic() + 60
    while not tracker.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.05)
    engine.cancel()
    thread.join(30)
    assert raised == ["the query was cancelled"]
    assert_no_job_goes_on(tracker)


@pytest.mark.parametrize("take", ["collect", "arrow", "pieces"])
def test_ctrl_c_in_a_program_ends_the_query_and_no_other(engine, take, capfd, monkeypatch):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    tracker = engine.spark.sparkContext.statusTracker()

    def press():
        deadline = time.monotonic() + 60
        while not tracker.getActiveJobsIds() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    query = engine.query(ENDLESS)
    try:
        for _ in range(2):
            # What was cancelled can be run again.
            thread = threading.Thread(target=press)
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                list(getattr(query, take)())
            thread.join()
            assert_no_job_goes_on(tracker)
    finally:
        signal.signal(signal.SIGINT, before)
    assert engine.query("SELECT count(*) AS n FROM range(10)").collect() == [(10,)]
    assert capfd.readouterr() == ("", "")


def test_a_query_that_failed_can_be_run_again(engine, tmp_path):
    engine.sql(f"CREATE TABLE later (a INT) USING json OPTIONS (path '{tmp_path}/later')")
    query = engine.query("SELECT 1 / sum(a) AS x FROM later")
    for take in (query.collect, query.arrow, lambda: list(query.pieces())):
        with pytest.raises(OperationalError):
            take()
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "1.json").write_text('{"a": 2}')
    assert query.collect() == [(0.5,)]
