"""Standing queries as a program sees them: LIMIT, what a callback raises, what is held, and what newcomers are told."""

import copy
import datetime
import functools
import gc
import json
import os
import pickle
import signal
import threading
import time
import weakref

import pytest
from pyspark.errors import PySparkException

import cepsql.spark.building.build
from cepsql.clause import match_recognize
from cepsql.engine import connect
from cepsql.errors import Error, InterfaceError, NotSupportedError, OperationalError, ProgrammingError
from cepsql.frontends.runner.silence import reason, standing
from cepsql.spark.checkpoint.progress import Progress
from cepsql.spark.run.standing_query import StandingQuery

OPEN = (
    "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES B.n AS n PATTERN (A B) "
    "WITHIN INTERVAL '1' HOUR DEFINE B AS B.n > LAST(A.n) + 100)"
)


@pytest.fixture(scope="module")
def engine(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("in")
    rows = [{"sym": "ab"[n % 2], "ts": f"2026-01-01T00:00:{n:02d}Z", "n": n} for n in range(20)]
    (folder / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = connect(spark)
    for name in ("ticks", "others"):
        made.sql(
            f"CREATE STREAM {name} (sym STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS) "
            f"USING json OPTIONS (path '{folder}')"
        )
    return made


def test_limit_ends_a_query_and_holds_over_its_starts(engine, tmp_path):
    row_counts = []
    for _ in range(2):
        query = engine.query("SELECT n FROM ticks LIMIT 3")
        with query.start(
            lambda rows, batch: row_counts.append(rows.num_rows), checkpoint=str(tmp_path / "c")
        ) as running:
            assert running.await_(60)
            assert (running.status, running.error) == ("finished", None)
    assert row_counts == [3]


def test_limit_holds_for_rows_that_are_taken(engine):
    with engine.query("SELECT n FROM ticks LIMIT 2").start() as running:
        assert sum(rows.num_rows for rows in running.rows(60)) == 2
    assert running.progress.rows_out == 2


def test_a_callback_may_end_its_query(engine, tmp_path):
    row_counts, refused, running = [], [], []

    def enough(rows, batch):
        while not running:
            time.sleep(0.01)
        for wait in (running[0].await_, running[0].process_available):
            with pytest.raises(InterfaceError, match="in on_rows would wait for itself"):
                wait()
            refused.append(wait)
        running[0].stop()
        row_counts.append(rows.num_rows)

    query = engine.query("SELECT n FROM ticks")
    running.append(query.start(enough, checkpoint=str(tmp_path / "c")))
    assert running[0].await_(60) and len(refused) == 2
    assert (running[0].status, running[0].error, row_counts) == ("stopped", None, [20])
    with query.start(enough, checkpoint=str(tmp_path / "c")) as again:
        again.process_available()
    assert row_counts == [20]


def test_what_a_callback_raises_stays_the_cause(engine):
    def refuse(rows, batch):
        raise KeyError("mine")

    running = engine.query("SELECT n FROM ticks").start(refuse)
    with pytest.raises(OperationalError, match="on_rows raised KeyError: 'mine'") as raised:
        running.await_(60)
    assert isinstance(raised.value.__cause__, KeyError)


def test_times_that_python_has_not_are_text_for_a_callback(spark, tmp_path):
    times = ["2026-01-01 00:00:00", "+12000-01-01 00:00:00", "2026-01-02 00:00:00"]
    rows = [{"n": n, "t2": time, "d": time[:-9], "ts": [{"t": time}]} for n, time in enumerate(times)]
    rows += [{"n": 3, "ts": [], "t2": "-0044-03-15 12:00:00.5"}, {"n": 4}]
    for part in range(2):
        (tmp_path / f"{part}.json").write_text("".join(json.dumps(row) + "\n" for row in (rows, rows[:1])[part]))
        os.utime(tmp_path / f"{part}.json", (part, part))
    engine, batches = connect(spark), []
    engine.sql(
        f"CREATE STREAM far (n INT, t2 TIMESTAMP, d DATE, ts ARRAY<STRUCT<t: TIMESTAMP_NTZ>>) USING json "
        f"OPTIONS (path '{tmp_path}', maxFilesPerTrigger '1')"
    )
    query = engine.query("SELECT n, t2, d, ts, IF(n < 3, map(d, t2), NULL) AS m FROM far WHERE n < 4")
    query.start(lambda table, _: batches.append(table.to_pylist()), drain=True).await_()
    far, near = sorted(batches[0], key=lambda row: row["n"]), batches[1]
    assert [row["t2"] for row in far] == [
        "2026-01-01 00:00:00",
        times[1],
        "2026-01-02 00:00:00",
        "-0044-03-15 12:00:00.5",
    ]
    assert [row["d"] for row in far[:3]] == [time[:-9] for time in times]
    assert [row["ts"] for row in far] == [[{"t": times[0]}], [{"t": times[1]}], [{"t": times[2]}], []]
    # Spark hands times within maps out in UTC.
    assert far[1]["m"] == [("+12000-01-01", "+12000-01-01 05:00:00")]
    # Where all have a place in Python they come as always.
    assert near[0]["t2"].replace(tzinfo=None) == datetime.datetime(2026, 1, 1)
    assert near[0]["d"] == datetime.date(2026, 1, 1)


@pytest.mark.parametrize("late", [1, 20])
def test_python_that_starts_late_is_started_again(engine, monkeypatch, late):
    begun, start = [], StandingQuery._start_spark

    def begin(query):
        begun.append(query)
        if len(begun) <= late:
            raise PySparkException("Timed out while waiting for the Python worker to connect back after 10000 ms")
        start(query)

    monkeypatch.setattr(StandingQuery, "_start_spark", begin)
    query, row_counts = engine.query("SELECT n FROM ticks LIMIT 3"), []
    if late == 1:
        with query.start(lambda rows, _: row_counts.append(rows.num_rows)) as running:
            assert running.await_(60)
        assert (row_counts, len(begun)) == ([3], 2)
        return
    with pytest.raises(OperationalError, match="Python did not start within the ten seconds"):
        query.start(lambda rows, _: None)
    assert len(begun) == 6


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_callback_that_would_end_the_process_ends_the_query(kind, engine):
    def leave(rows, batch):
        raise kind()

    running = engine.query("SELECT n FROM ticks").start(leave)
    with pytest.raises(OperationalError, match=f"on_rows raised {kind.__name__}"):
        running.await_(60)
    running.stop()


class Shown:
    async def __call__(self, rows, batch):
        raise AssertionError


async def show(rows, batch):
    raise AssertionError


@pytest.mark.parametrize("on_rows", [show, Shown(), functools.partial(show, batch=1)])
def test_an_async_callback_that_no_loop_would_run_is_refused(engine, on_rows):
    with pytest.raises(InterfaceError, match="on_rows is an async function, which no loop would run"):
        engine.query("SELECT n FROM ticks").start(on_rows)


def test_neither_engines_nor_queries_are_copied_or_pickled(engine):
    query = engine.query("SELECT n FROM ticks")
    with query.start(lambda rows, batch: None) as running:
        for made in (engine, query, running):
            for use in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(InterfaceError, match="cannot be copied or pickled"):
                    use(made)


@pytest.mark.parametrize("moment", ["cepsql.spark.building.build.build", "cepsql.engine.context.Context.keep"])
def test_ctrl_c_while_a_query_starts_lets_nothing_run(engine, monkeypatch, moment):
    home, _, name = moment.rpartition(".")
    place = functools.reduce(getattr, home.split(".")[1:], cepsql)
    plain, get_all = getattr(place, name), engine.spark.conf.getAll

    def press(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return plain(*arguments)

    monkeypatch.setattr(place, name, press)
    running = {query.runId for query in engine.spark.streams.active}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.query("SELECT n FROM ticks").start(lambda rows, batch: None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert {query.runId for query in engine.spark.streams.active} <= running
    assert engine.spark.conf.getAll == get_all


def test_what_is_held_and_why_nothing_comes(engine):
    query = engine.query(OPEN)
    with query.start(lambda rows, batch: None) as running:
        running.process_available()
    # Only the end has the events of all batches.
    progress = running.progress
    assert progress.watermark == datetime.datetime(2026, 1, 1, 0, 0, 14, tzinfo=datetime.UTC)
    assert (progress.rows_waiting, progress.open) == (5, 2)
    assert progress.deadline == datetime.datetime(2026, 1, 1, 1, 0, 12, 999_999, tzinfo=datetime.UTC)
    assert standing(progress, query.plan, "UTC") == (
        "read 20 · waiting 5 · watermark 2026-01-01 00:00:14 · 2 open until 2026-01-01 01:00:12.999999"
    )
    assert reason(progress, query.plan, "UTC") == (
        "5 rows newer than the watermark wait until later rows move it past 2026-01-01 00:00:14; 2 partitions have "
        "open matches, which later rows decide, or the watermark when it passes 2026-01-01 01:00:12.999999"
    )


def test_milliseconds_taken_for_seconds_show_in_the_watermark(engine):
    progress = Progress(rows_read=2, rows_waiting=1, bound=1_772_442_000_000_000_000)
    assert standing(progress, engine.query(OPEN).plan, "UTC") == "read 2 · waiting 1 · watermark +58136-06-14 00:00:00"
    assert reason(progress, engine.query(OPEN).plan, "UTC") == (
        "1 row newer than the watermark waits until later rows move it past +58136-06-14 00:00:00"
    )


def test_matches_of_which_no_row_comes_are_told(engine):
    where = OPEN.replace("LAST(A.n) + 100", "LAST(A.n)") + " WHERE n > 1000"
    query = engine.query(where)
    with query.start(lambda rows, batch: None) as running:
        running.process_available()
    progress = running.progress
    assert (progress.matches, progress.rows_out) == (7, 0)
    assert reason(progress, query.plan, "UTC").startswith("7 matches found, and none passed WHERE; 5 rows newer")


def test_a_query_that_starts_does_not_wait_for_input(engine, tmp_path):
    query = engine.query(OPEN)
    assert reason(Progress(), query.plan, "UTC") == "the query is starting: its first micro-batch has not begun"
    assert reason(Progress(), query.plan, "UTC", busy=True) == "the first micro-batch is still running"
    assert reason(Progress(batches=1), query.plan, "UTC") == "no input has arrived yet"
    engine.sql(f"CREATE STREAM later (n INT) USING json OPTIONS (path '{tmp_path}')")
    later = engine.query("SELECT n FROM later").plan
    assert reason(Progress(), later, "UTC") == f"{tmp_path}, which later reads, has no files yet"
    assert standing(Progress(), later, "UTC") == "read 0"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sym, COUNT(*) AS c FROM ticks GROUP BY sym EMIT CHANGES",
        "SELECT sym, n FROM ticks ORDER BY n DESC LIMIT 2 EMIT CHANGES",
        "SELECT COUNT(*) AS c FROM latest EMIT CHANGES",
    ],
)
def test_a_query_without_event_time_has_no_watermark(engine, sql):
    folder = dict(engine.catalog.get("ticks").options)["path"]
    engine.sql(
        f"CREATE OR REPLACE STREAM latest (sym STRING, n INT, PRIMARY KEY (sym)) USING json OPTIONS (path '{folder}')"
    )
    with engine.query(sql).start(lambda rows, batch: None) as running:
        running.process_available()
    progress = running.progress
    assert (progress.rows_read, progress.watermark, progress.bound) == (20, None, None)


def test_windows_are_not_called_matches(engine):
    query = engine.query("SELECT sym, COUNT(*) AS n FROM ticks GROUP BY sym, window(ts, '1 hour')")
    with query.start(lambda rows, batch: None) as running:
        running.process_available()
    progress = running.progress
    assert (progress.rows_waiting, progress.open) == (0, 2)
    assert reason(progress, query.plan, "UTC") == (
        "2 keys or windows are not over, and wait for later rows, or for the watermark to pass "
        "2026-01-01 00:59:59.999999"
    )


@pytest.mark.parametrize(
    ("sql", "kind", "said"),
    [
        (
            "SELECT sym, count(*) FROM ticks GROUP BY sym",
            NotSupportedError,
            "an aggregate over a stream needs a window of event time",
        ),
        ("SELECT DISTINCT sym FROM ticks", NotSupportedError, "DISTINCT over a stream needs its event time"),
        ("SELECT sym FROM ticks UNION SELECT sym FROM others", NotSupportedError, "UNION over a stream needs its"),
        (
            "SELECT a.n FROM ticks AS a LEFT JOIN others AS b ON a.sym = b.sym",
            NotSupportedError,
            "does not say how much later than a.ts b.ts may be",
        ),
        (
            "SELECT a.n FROM ticks AS a JOIN others AS b",
            NotSupportedError,
            "does not say how much later than a.ts b.ts may be",
        ),
        ("SELECT n FROM ticks WHERE n IN (1, 2) AND n IN (ARRAY(3, 4))", ProgrammingError, "here is a list"),
        (OPEN.replace("B.n > LAST(A.n) + 100", "n IN (array(1))"), ProgrammingError, "here is a list"),
        (OPEN.replace("LAST(A.n) + 100", "nofunction(n)"), ProgrammingError, "there is no function nofunction"),
    ],
)
def test_first_mistakes_have_words_a_place_and_a_hint(engine, sql, kind, said):
    with pytest.raises(kind) as raised:
        engine.query(sql).start(lambda rows, batch: None).await_(60)
    assert said in raised.value.message
    assert raised.value.span is not None
    assert raised.value.hint is not None or "nofunction" in sql


@pytest.mark.parametrize("condition", ["nofunction(n) > 1", "n + array(1) > 1"])
def test_no_error_of_sparks_comes_out_of_the_clause_alone(spark, condition):
    frame = spark.createDataFrame([("a", 1, 5)], ["k", "p", "n"])
    with pytest.raises(Error):
        match_recognize(frame, f"PARTITION BY k ORDER BY p PATTERN (A B) DEFINE B AS {condition}").collect()


def test_parameters_in_order(engine):
    assert engine.query("SELECT ? || ? AS x, ? IS NULL AS y", ["a", "b", None]).collect() == [("ab", True)]
    with pytest.raises(InterfaceError, match="the text has 1 parameters"):
        engine.sql("SELECT ?", [1, 2])
    with pytest.raises(ProgrammingError, match="no value was given for"):
        engine.sql("SELECT ?")


def test_a_silent_stream_goes_on_with_the_clock(spark, tmp_path):
    engine, output = connect(spark), []
    rows = tmp_path / "in"
    rows.mkdir()
    (rows / "rows.csv").write_text("1,2026-01-01 00:00:00\n")
    engine.sql(
        "CREATE STREAM orders (id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts WITH HEARTBEAT INTERVAL '1' SECOND) "
        f"USING csv OPTIONS (path '{rows}')"
    )
    query = engine.query(
        "SELECT id, missing FROM orders MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts "
        "MEASURES MATCH_TIMEOUT() AS missing ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (O P) "
        "WITHIN INTERVAL '2' SECONDS)"
    )
    checkpoint = tmp_path / "checkpoint"
    with query.start(lambda table, _: output.extend(table.to_pylist()), checkpoint=str(checkpoint)) as running:
        deadline = time.monotonic() + 60
        while not output and time.monotonic() < deadline:
            time.sleep(0.1)
        assert output == [{"id": 1, "missing": True}]
        assert running.progress.rows_read == 1
    assert list((checkpoint / "control").glob("heartbeat-*.txt"))


def test_windows_of_spark_are_not_told_of_heartbeats(spark):
    engine = connect(spark)
    engine.sql(
        "CREATE STREAM s (timestamp TIMESTAMP, WATERMARK FOR timestamp AS timestamp "
        "WITH HEARTBEAT INTERVAL '1' SECOND) USING rate"
    )
    windows = "SELECT window, COUNT(*){} FROM s GROUP BY ROLLUP (timestamp), window(timestamp, '1 minute')"
    with pytest.raises(NotSupportedError, match="HEARTBEAT of s does not reach the windows"):
        engine.query(windows.format(", MAX(window.end - timestamp)")).start()
    engine.query(windows.format("")).start().stop()


def test_what_has_ended_is_let_go(spark, tmp_path):
    (tmp_path / "1.csv").write_text("a,2026-01-01 00:00:00\n")
    engine = connect(spark)
    engine.sql(
        "CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) "
        f"USING csv OPTIONS (path '{tmp_path}', maxFilesPerTrigger '1')"
    )
    query = engine.query("SELECT k, COUNT(*) AS n FROM s GROUP BY k, window(ts, '1 minute')")
    first, second = (query.start(drain=True) for _ in range(2))
    assert first.await_(60) and second.await_(60)
    ended = weakref.ref(first)
    del first
    query.start(drain=True).await_(60)
    gc.collect()
    assert ended() is None


def test_a_query_that_failed_is_let_go_with_its_connection_to_java(engine):
    def refuse(rows, batch):
        raise KeyError("mine")

    def failed():
        running = engine.query("SELECT n FROM ticks").start(refuse)
        with pytest.raises(OperationalError):
            running.await_(60)
        return weakref.ref(running)

    # Spark's own threads call Python, too.
    failed()
    threads = threading.active_count()
    # The last one stays until there is a next one.
    *ended, _ = [failed() for _ in range(4)]
    deadline = time.monotonic() + 30
    while any(one() for one in ended) or threading.active_count() > threads:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        gc.collect()
