"""EXPLAIN MATCH over what Spark reads: a table, a stream with its own micro-batches, and a standing query's state."""

import os
import threading
import time

import pytest
from chance import everyday

from cepsql.engine import connect
from cepsql.errors import InterfaceError, OperationalError, ProgrammingError
from cepsql.spark.run import run_once

CLAUSE = "MATCH_RECOGNIZE (PARTITION BY k, n ORDER BY ts MEASURES MATCH_NUMBER() AS number {})"
PATTERN = "PATTERN (A B C) DEFINE A AS x < 3, B AS B.x > A.x AND B.x <> 7, C AS C.x > B.x"
BATCHES = [
    ["a,1,00:00:01,1", "b,1,00:00:02,1", "a,1,00:00:05,2"],
    # The bound is now 00:00:15.
    ["a,1,00:00:04,7", "b,1,00:00:20,3", "nonsense"],
    ["a,1,00:00:15,9", "a,1,00:00:16,1", "b,1,00:00:24,1", "a,1,,4"],
]


@pytest.fixture(scope="module")
def engine(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    for number, lines in enumerate(BATCHES):
        file = folder / f"{number}.csv"
        cells = [line.split(",") for line in lines]
        rows = [[k, n, t and f"2026-01-01 {t}", x] for k, n, t, x in (c for c in cells if len(c) == 4)]
        rows += [c for c in cells if len(c) != 4]
        file.write_text("".join(",".join(row) + "\n" for row in rows))
        # Spark takes files in the order of their times, and these are written in the same millisecond.
        os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
    connected = connect(spark)
    columns = "k STRING, n DECIMAL(4, 1), ts TIMESTAMP, x INT"
    connected.sql(f"CREATE TABLE events ({columns}) USING csv OPTIONS (path '{folder}')")
    connected.sql(
        f"CREATE STREAM stream ({columns}, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS) "
        f"USING csv OPTIONS (path '{folder}', maxFilesPerTrigger '1')"
    )
    return connected


def query(relation: str, clauses: str = PATTERN) -> str:
    return f"SELECT number FROM {relation} {CLAUSE.format(clauses)} AS m WHERE number < 9"


def taken(attempt) -> list[tuple[int, str]]:
    return [(row.number, row.variable) for row in attempt.rows]


def test_a_table(engine):
    explanation = engine.sql(query("events")).explain_match({"n": 1, "K": "a"})
    assert explanation.key == (("k", "a"), ("n", "1.0"))
    assert (explanation.rows, explanation.first, explanation.last) == (5, "2026-01-01 00:00:01", "2026-01-01 00:00:16")
    assert (explanation.matches, explanation.without_event_time, explanation.watermark, explanation.open) == (
        (),
        1,
        None,
        None,
    )
    assert list(map(taken, explanation.failed)) == [[(3, "A"), (4, "B")], [(5, "A")], [(1, "A")]]
    (trial,) = explanation.best.trials
    assert [(part.sql, part.values, part.result) for part in trial.parts] == [("C.x > B.x", "1 > 9", "false")]
    (trial,) = explanation.failed[2].trials
    assert [part.values for part in trial.parts] == ["7 > 1", "7 <> 7"]
    answer = engine.sql(f"EXPLAIN MATCH {query('events')} FOR KEY ('a', 1)")
    assert "\n".join(line for (line,) in answer.rows) == str(explanation)


def test_a_stream_as_a_standing_query_sees_it(engine):
    explanation = engine.sql(query("stream")).explain_match(("a", 1))
    assert explanation.watermark == "2026-01-01 00:00:19"
    assert [row.values[0] for row in explanation.late] == ["2026-01-01 00:00:15"]
    assert (explanation.rows, explanation.without_event_time, explanation.waiting, explanation.matches) == (
        4,
        1,
        (),
        (),
    )
    assert (taken(explanation.open), explanation.open.awaited) == ([(4, "A")], ("B",))
    assert list(map(taken, explanation.failed)) == [[(3, "A")]]


def test_what_a_standing_query_holds(engine, tmp_path):
    asked = engine.sql(query("stream"))
    with asked.start(lambda *_: None, checkpoint=str(tmp_path / "checkpoint")) as standing:
        standing.process_available()
        explanation = standing.explain_match(("a", 1))
        with pytest.raises(ProgrammingError, match=r"nothing is held of k = z, n = 1\.0"):
            standing.explain_match(("z", 1))
    assert (explanation.rows, explanation.whole, explanation.watermark) == (1, False, "2026-01-01 00:00:19")
    assert (taken(explanation.open), explanation.open.awaited) == ([(1, "A")], ("B",))
    waits = standing.explain_match(["b", 1])
    assert [row.values[0] for row in waits.waiting] == ["2026-01-01 00:00:20", "2026-01-01 00:00:24"]
    assert "rows: 1 that a match can still read" in str(waits)


TWO = "(SELECT * FROM stream WHERE x < 2 UNION ALL SELECT * FROM stream WHERE x >= 2)"
FIRST_ROWS = "stream DEDUPLICATE (PARTITION BY k, n, x ORDER BY ts)"
PAIRS = """(SELECT l.k, l.n, l.ts, l.x FROM stream l JOIN stream r
            ON l.k = r.k AND l.ts BETWEEN r.ts AND r.ts AND l.x = r.x)"""


@pytest.mark.parametrize(
    ("relation", "watermark", "rows", "waiting", "late"),
    everyday([(TWO, "00:00:15", 4, 1, 0), (FIRST_ROWS, "00:00:19", 3, 0, 0), (PAIRS, "00:00:19", 4, 0, 0)], 3),
)
def test_several_streams_and_what_other_operators_give(engine, tmp_path, relation, watermark, rows, waiting, late):
    asked = engine.sql(query(relation))
    explanation = asked.explain_match(("a", 1))
    assert (explanation.watermark, explanation.rows) == (f"2026-01-01 {watermark}", rows)
    assert (len(explanation.waiting), len(explanation.late), explanation.matches) == (waiting, late, ())
    with asked.start(lambda *_: None, checkpoint=str(tmp_path / "checkpoint")) as standing:
        standing.process_available()
        held = standing.explain_match(("a", 1))
    assert (held.watermark, held.whole, held.open.awaited) == (explanation.watermark, False, explanation.open.awaited)
    assert [row.values[0] for row in held.waiting] == [row.values[0] for row in explanation.waiting]
    assert [row.variable for row in held.open.rows] == [row.variable for row in explanation.open.rows]


def test_what_cannot_be_explained(engine):
    with pytest.raises(ProgrammingError) as raised:
        engine.sql(f"EXPLAIN MATCH {query('events')} FOR KEY ('a', 7)")
    assert raised.value.message == "no row has k = a, n = 7.0"
    assert raised.value.hint.startswith("keys: (a, 1.0), (b, 1.0)")
    with pytest.raises(ProgrammingError, match=r"'x' is no DECIMAL\(4,1\), the type of n"):
        engine.sql(query("stream")).explain_match(("a", "x"))
    with pytest.raises(ProgrammingError, match="no row has k = z, n = NULL") as raised:
        engine.sql(query("stream")).explain_match(("z", None))
    assert "(a, 1.0)" in raised.value.hint
    gone = engine.sql(query("stream")).start()
    gone.stop()
    with pytest.raises(InterfaceError, match="no state"):
        gone.explain_match(("a", 1))


def test_a_run_over_a_stream_can_be_cancelled(engine, spark):
    def nap(frames):
        for frame in frames:
            time.sleep(4)
            yield frame

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    slow = rows.mapInPandas(nap, "timestamp TIMESTAMP, value BIGINT")
    engine.register("slow", slow, ("timestamp", "0 seconds"))
    asked = engine.sql("SELECT * FROM slow MATCH_RECOGNIZE (ORDER BY timestamp MEASURES A.value AS x PATTERN (A B))")
    raised = []

    def explain():
        try:
            asked.explain_match()
        except OperationalError as error:
            raised.append(error.message)

    thread = threading.Thread(target=explain)
    thread.start()
    deadline = time.monotonic() + 60
    while not run_once._RUNNING and time.monotonic() < deadline:
        time.sleep(0.05)
    engine.cancel()
    thread.join(30)
    assert raised == ["the query was cancelled"]
