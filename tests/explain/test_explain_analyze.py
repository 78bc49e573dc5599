"""EXPLAIN of queries that stand under names: their patterns, their matches, and what their operators have done."""

import re

import pytest

from cepsql.engine import connect
from cepsql.errors import ProgrammingError

ROWS = ["a,00:00:01,1", "a,00:00:02,2", "b,00:00:03,5", "a,00:00:09,1", "a,00:00:30,7"]
PATTERN = """SELECT k, number FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
    MEASURES MATCH_NUMBER() AS number PATTERN (A B) DEFINE B AS B.x > A.x)"""


@pytest.fixture
def engine(spark, tmp_path):
    folder = tmp_path / "events"
    folder.mkdir()
    lines = (f"{k},2026-01-01 {time},{x}\n" for k, time, x in (row.split(",") for row in ROWS))
    (folder / "0.csv").write_text("".join(lines))
    columns = "k STRING, ts TIMESTAMP, x INT"
    with connect(spark, catalog=str(tmp_path / "catalog.db")) as opened:
        opened.sql(f"CREATE TABLE events ({columns}) USING csv OPTIONS (path '{folder}')")
        opened.sql(
            f"CREATE STREAM stream ({columns}, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS) "
            f"USING csv OPTIONS (path '{folder}')"
        )
        opened.sql(f"CREATE VIEW rises AS {PATTERN.format('stream DEDUPLICATE (PARTITION BY k, ts ORDER BY ts)')}")
        opened.sql("CREATE QUERY fraud AS SELECT k FROM rises WHERE number < 9")
        yield opened


def answer_text(answer) -> str:
    return "\n".join(line for (line,) in answer.rows)


def test_what_a_view_and_a_query_are(engine):
    drawn = answer_text(engine.sql("EXPLAIN QUERY fraud"))
    assert "PATTERN (A B)" in drawn and "○──[A]──[B]──◉" in drawn and "automaton" not in drawn
    assert answer_text(engine.sql("EXPLAIN PATTERN QUERY fraud")) == answer_text(
        engine.sql("EXPLAIN PATTERN VIEW rises")
    )
    key = engine.sql("EXPLAIN MATCH QUERY fraud FOR KEY ('a')")
    assert answer_text(key) == answer_text(engine.sql("EXPLAIN MATCH SELECT * FROM rises FOR KEY ('a')"))
    assert "rows 1 to 2" in answer_text(key)


@pytest.mark.parametrize(
    ("asked", "rows"), [("QUERY fraud", 3), (PATTERN.format("events"), 4)], ids=["stream", "table"]
)
def test_without_a_key_it_names_some(engine, asked, rows):
    lines = answer_text(engine.sql(f"EXPLAIN MATCH {asked}")).splitlines()
    assert [line.strip() for line in lines[1:]] == [f"FOR KEY ('a')  {rows} rows", "FOR KEY ('b')  1 row"]
    assert answer_text(engine.sql(f"EXPLAIN MATCH {asked} {lines[2].strip().removesuffix('1 row')}")).startswith(
        "pattern:"
    )


def test_the_keys_are_those_of_python_too(engine):
    query = engine.query(PATTERN.format("events").replace("BY k ", "BY x, k "))
    assert query.partition_keys(1) == [((1, "a"), 2)]
    assert query.explain_match(query.partition_keys(1)[0][0]).rows == 2


def test_what_the_operators_of_a_running_query_have_done(engine):
    with pytest.raises(ProgrammingError, match="there is no query fruad"):
        engine.sql("EXPLAIN ANALYZE QUERY fruad")
    assert "START QUERY fraud runs it\nQuery  stream" in answer_text(engine.sql("EXPLAIN ANALYZE QUERY fraud"))
    engine.sql("START QUERY fraud")
    running = engine.home.reconciler._owned["fraud"].running
    running.process_available()
    done = [(one.operator, one.rows_in, one.rows_out) for one in running.progress.operators]
    assert done == [("__first_0", 5, 4), ("__match_1", 4, 1)]
    assert all(one.seconds > 0 < one.state_bytes for one in running.progress.operators)
    engine.sql("PAUSE QUERY fraud")
    lines = answer_text(engine.sql("EXPLAIN ANALYZE QUERY fraud"))
    assert "query fraud: paused" in lines and "done: 5 rows in, 4 rows out" in lines and "done: 4 rows in" in lines
    assert re.search(r"batches: 1, .* the last took .*planning .*\nrows: read 5, late 0, malformed 0, out 1", lines)
