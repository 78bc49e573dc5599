"""Standing queries that write to sinks: from the start to the end, and what stands in their way."""

import sqlite3
import time

import pytest

import cepsql
from cepsql.catalog import ColumnDefinition, Sink
from cepsql.errors import InterfaceError, ProgrammingError

STREAM = """CREATE STREAM s (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv OPTIONS (path '{folder}')"""
QUERY = "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS a, B.x AS b PATTERN (A B))"


@pytest.fixture
def query(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.csv").write_text("".join(f"1,2026-01-01 00:00:0{i},{i}\n" for i in range(4)))
    engine = cepsql.connect(spark)
    engine.sql(STREAM.format(folder=folder))
    return engine.sql(QUERY)


def test_rows_go_to_a_sink(query, tmp_path):
    columns = (ColumnDefinition("b", "BIGINT"), ColumnDefinition("a", "INT"), ColumnDefinition("k", "INT"))
    options = (("path", str(tmp_path / "m.db")), ("table", "matches"), ("create_table", "true"))
    sink = Sink("alerts", columns, "sqlite", options, ("k", "a"))
    with query.start(sink=sink, name="pairs", checkpoint=str(tmp_path / "checkpoint"), drain=True) as standing:
        assert standing.await_(60)
        with pytest.raises(InterfaceError, match="the rows of this query go to what it was started with"):
            next(standing.rows())
    progress = standing.progress
    assert (progress.rows_out, progress.matches, progress.sink_retries, progress.waiting) == (2, 2, 0, None)
    connection = sqlite3.connect(tmp_path / "m.db")
    assert connection.execute("SELECT * FROM matches ORDER BY a").fetchall() == [(1, 0, 1), (3, 2, 1)]
    assert connection.execute("SELECT sink, query, epoch FROM cepsql_writers").fetchall() == [("matches", "pairs", 1)]


def test_a_sink_is_closed_after_an_insert_and_a_refusal(query, spark, monkeypatch):
    closed = []
    monkeypatch.setattr("cepsql.sinks.fitted.FittedSink.close", lambda sink: closed.append(sink.sink.name))
    bounded = cepsql.connect(spark).query("SELECT 1 AS x")
    bounded.write(Sink("one", (), "noop"))
    columns = (ColumnDefinition("y", "INT"),)
    with pytest.raises(ProgrammingError, match="the query gives no column y for sink two"):
        bounded.write(Sink("two", columns, "noop"))
    with pytest.raises(ProgrammingError, match="the query gives no column y for sink three"):
        query.start(sink=Sink("three", columns, "noop"))
    assert closed == ["one", "two", "three"]


def test_a_sink_is_given_by_its_name(query, spark, tmp_path):
    options = f"path '{tmp_path / 'n.db'}', table 'matches', create_table 'true'"
    engine = cepsql.connect(spark)
    engine.sql(STREAM.format(folder=tmp_path / "in") + f"; CREATE SINK alerts USING sqlite OPTIONS ({options})")
    with engine.query(QUERY).start(sink="Alerts", drain=True) as standing:
        assert standing.await_(60)
    assert sqlite3.connect(tmp_path / "n.db").execute("SELECT count(*) FROM matches").fetchone() == (2,)
    with pytest.raises(ProgrammingError, match="there is no sink alarms\n  hint: did you mean alerts"):
        engine.query(QUERY).start(sink="alarms")
    with pytest.raises(InterfaceError, match="a sink is given by its name or as a Sink, not as int"):
        engine.query(QUERY).start(sink=5)
    for trigger in ("5 parsecs", "soon", 5):
        with pytest.raises(InterfaceError, match=f"trigger is a time such as '5 seconds', not {trigger!r}"):
            engine.query(QUERY).start(print, trigger=trigger)
    with pytest.raises(InterfaceError, match="on_rows is a function, not 5"):
        engine.query(QUERY).start(5)
    with pytest.raises(InterfaceError, match="a checkpoint is a folder, not 5"):
        engine.query(QUERY).start(print, checkpoint=5)


def test_what_does_not_fit_starts_nothing(query, tmp_path):
    sink = Sink("alerts", (ColumnDefinition("z", "INT"),), "parquet", (("path", str(tmp_path / "out")),))
    for _ in range(2):
        with pytest.raises(ProgrammingError, match="the query gives no column z for sink alerts"):
            query.start(sink=sink, checkpoint=str(tmp_path / "checkpoint"))
    with pytest.raises(InterfaceError, match="rows go either to on_rows or to a sink"):
        query.start(print, sink=sink)


def test_a_stop_after_a_failure_does_not_hide_it(query):
    def refuse(rows, batch):
        raise ValueError("no")

    standing = query.start(refuse)
    with pytest.raises(cepsql.OperationalError, match="on_rows raised ValueError: no") as caught:
        standing.process_available()
    standing.stop()
    assert (standing.status, standing.error) == ("failed", caught.value)
    with pytest.raises(cepsql.OperationalError, match="on_rows raised ValueError: no"):
        standing.await_()


def test_a_query_that_waits_for_its_sink_can_be_stopped(query, tmp_path):
    sink = Sink("alerts", (), "webhook", (("url", "http://127.0.0.1:9/closed"),))
    standing = query.start(sink=sink, checkpoint=str(tmp_path / "checkpoint"))
    deadline = time.monotonic() + 60
    while standing.progress.waiting is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert standing.progress.waiting.startswith("sink alerts does not answer: http://127.0.0.1: ")
    assert repr(standing).startswith("<standing query: waiting: sink alerts does not answer: http://127.0.0.1: ")
    assert standing.status == "running"
    standing.stop()
    assert (standing.status, standing.error) == ("stopped", None)
