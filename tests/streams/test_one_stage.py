"""Operators with equal keys share a stage, and give what they give in stages of their own."""

import json
import os
import shutil

import pytest
from chance import everyday
from test_equals_batch import disordered, events

import cepsql
from cepsql.spark.building.frame_options import FrameOptions
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.checkpoint.checkpoint import open_checkpoint
from cepsql.spark.checkpoint.host_files import host_files
from cepsql.spark.jvm.spark_plan import analyzed, is_match, nodes
from cepsql.spark.run.replayed_batches import Replay, replay_source, write_batch
from cepsql.testing import _texts

NONE = frozenset()
STREAM = (
    "CREATE STREAM events (k STRING, ts TIMESTAMP, x INT, d DECIMAL(6, 2), s STRING,"
    " WATERMARK FOR ts AS ts - INTERVAL '6' SECONDS)"
)
FIRST = "SELECT * FROM events DEDUPLICATE (PARTITION BY k ORDER BY ts WITHIN INTERVAL '2' SECONDS)"
RISES = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES FIRST(A.x) AS low, LAST(U.x) AS high, MATCH_ROWTIME() AS rowtime, CLASSIFIER() AS label
  AFTER MATCH SKIP TO NEXT ROW PATTERN (A U+?) WITHIN INTERVAL '15' SECONDS DEFINE U AS U.x > A.x)"""
MINUTES = """SELECT k, window_end AS ended, COUNT(*) AS n, SUM(d) AS total, MIN(s) AS least
  FROM {} WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k, window_start, window_end"""
PAIRS = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY {} MEASURES {} AS value, MATCH_ROWTIME() AS until
  PATTERN (A B) DEFINE B AS {})"""

ONE = {
    "a pattern over first rows": f"SELECT * FROM (SELECT k, x, ts FROM ({FIRST})) {RISES} AS m",
    "a pattern over a pattern": f"""SELECT k, value * 2 AS twice FROM (
        SELECT *, high - low AS size FROM events {RISES} AS m WHERE high - low < 50
      ) {PAIRS.format("rowtime", "SUM(size)", "B.size >= LAST(A.size) AND B.label = A.label")} AS p""",
    "a pattern over windows": f"""SELECT * FROM ({MINUTES.format("events")})
      {PAIRS.format("ended", "B.total - A.total", "B.n > A.n")} AS p""",
    "windows over a pattern": f"""SELECT k, window_end, MAX(high) AS high, COUNT(DISTINCT low) AS lows
      FROM (SELECT * FROM events {RISES} AS m) WINDOW HOPPING (SIZE 20 SECONDS, ADVANCE BY 10 SECONDS)
      GROUP BY k, window_start, window_end""",
    "frames over windows over first rows": f"""SELECT k, ended, n, AVG(n) OVER (
        PARTITION BY k ORDER BY ended RANGE BETWEEN INTERVAL '30' SECONDS PRECEDING AND CURRENT ROW) AS usual
      FROM ({MINUTES.format(f"({FIRST})")})""",
    "without keys": """SELECT * FROM (
        SELECT ts, x, SUM(x) OVER (ORDER BY ts ROWS UNBOUNDED PRECEDING) AS total FROM events
      ) MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(B.total) AS total PATTERN (A B) DEFINE B AS B.x > A.x) AS m""",
}
TWO = {
    "fewer keys": f"SELECT * FROM (SELECT * FROM events DEDUPLICATE (PARTITION BY k, x ORDER BY ts)) {RISES} AS m",
    "a key that is computed": f"""SELECT * FROM (
      SELECT upper(k) AS k, high AS x, rowtime AS ts FROM events {RISES} AS m) {RISES} AS n""",
    "a function that only Spark computes": f"""SELECT * FROM (
      SELECT k, hash(high) AS x, rowtime AS ts FROM events {RISES} AS m) {RISES} AS n""",
    "a join with a table": f"""SELECT * FROM (
      SELECT m.k, high AS x, rowtime AS ts FROM events {RISES} AS m JOIN (VALUES ('p'), ('q')) AS t (k) ON t.k = m.k
      ) {RISES} AS n""",
    "one key for all": f"""SELECT * FROM (SELECT k, high AS x, rowtime AS ts FROM events {RISES} AS m)
      MATCH_RECOGNIZE (ORDER BY ts MEASURES B.x AS x PATTERN (A B) DEFINE B AS B.x > A.x) AS n""",
    "keys of the second only": f"""SELECT * FROM (
        SELECT s, k, high AS x, rowtime AS ts FROM ({FIRST}) {RISES.replace("BY k", "BY s, k")} AS m
      ) {RISES.replace("BY k", "BY s")} AS n""",
    "aggregates of Spark's": f"""SELECT * FROM (
      SELECT k, PERCENTILE(x, 0.5) OVER (PARTITION BY k ORDER BY ts ROWS 3 PRECEDING) AS x, ts FROM events)
      {RISES} AS n""",
}


@pytest.fixture(scope="module")
def engine(spark, tmp_path_factory):
    return _engine(spark, tmp_path_factory.mktemp("in"))


def _engine(spark, folder):
    engine = cepsql.connect(spark, catalog="")
    engine.sql(f"{STREAM} USING csv OPTIONS (path '{folder}')")
    return engine


def _stages(frame) -> int:
    return sum(map(is_match, nodes(analyzed(frame))))


def _played(engine, query, folder, batches, sharing):
    """Return the rows after each batch, restarted after some, and what the last run counted."""
    (source,) = query.origins
    columns = ", ".join(f"{column.name} STRING" for column in source.columns)
    replayed = replay_source(engine.spark, folder / "in", columns)
    typed = replayed.selectExpr(
        *(f"CAST({column.name} AS {column.type}) AS {column.name}" for column in source.columns)
    )
    checkpoint = open_checkpoint(folder / "checkpoint", query.identity())
    files = host_files(checkpoint.folder)
    frame = query.build(FrameOptions(checkpoint.control, {"events": typed}, files=files, sharing=sharing))
    seen = []
    with Replay(frame, checkpoint) as replay:
        for number, batch in enumerate([*batches, None]):
            if batch is not None:
                write_batch(folder / "in", _texts(source, batch))
            table = replay.advance() if batch is not None else replay.end()
            seen.append([] if table is None else sorted(map(repr, table.to_pylist())))
            if number % 3 == 1:
                replay.restart()
        progress = replay.query.progress
    counts = {name: value for name, value in vars(progress).items() if name.startswith("rows_") and "wait" not in name}
    return seen, {**counts, "matches": progress.matches, "open": progress.open}


@pytest.mark.parametrize("name", everyday(ONE, 6))
def test_one_stage_gives_what_stages_of_their_own_give(engine, tmp_path, name):
    query = engine.sql(ONE[name])
    assert (_stages(query.build()), _stages(query.build(FrameOptions(sharing=Sharing(NONE)))) > 1) == (1, True)
    batches = disordered(events(len(name)), len(name), least=1)[:6]
    one = _played(engine, query, tmp_path / "one", batches, Sharing())
    two = _played(engine, query, tmp_path / "two", batches, Sharing(NONE))
    assert one == two
    assert sum(map(len, one[0])) > 0


@pytest.mark.parametrize("name", TWO)
def test_what_cannot_share_a_stage_has_one_of_its_own(engine, name):
    assert _stages(engine.sql(TWO[name]).build()) == 2


def test_a_checkpoint_stays_as_it_was_begun(spark, tmp_path):
    (tmp_path / "in").mkdir()
    query = _engine(spark, tmp_path / "in").sql(ONE["a pattern over first rows"])
    file = tmp_path / "checkpoint" / "plan.json"

    def started() -> list[int]:
        (tmp_path / "in" / f"{len(os.listdir(tmp_path / 'in'))}.csv").write_text("p,2026-01-01 00:00:01,1,0,a\n")
        with query.start(checkpoint=file.parent) as standing:
            standing.process_available()
        return json.loads(file.read_text())["shared"]

    assert [started(), started()] == [[1], [1]]
    plan = json.loads(file.read_text())
    shutil.rmtree(file.parent)
    open_checkpoint(file.parent, query.identity()).lock.release()
    assert json.loads(file.read_text())["shared"] is None
    # A version that shared no stage did not say so.
    file.write_text(json.dumps({name: value for name, value in plan.items() if name != "shared"}))
    assert [started(), started()] == [[], []]


def test_a_pattern_over_first_rows_is_explained_by_what_is_held(spark, tmp_path):
    rows = ["p,{}:01,1,0,a", "p,{}:02,7,0,a", "p,{}:04,1,0,a", "q,{}:05,5,0,a", "p,{}:11,0,0,a"]
    (tmp_path / "in.csv").write_text("".join(row.format("2026-01-01 00:00") + "\n" for row in rows))
    with _engine(spark, tmp_path).sql(ONE["a pattern over first rows"]).start() as query:
        query.process_available()
        held = str(query.explain_match("p"))
    # The row at :01 is decided, the one at :02 is no first row, and the one at :11 waits below the pattern's input.
    assert [time for time in ("00:00:01", "00:00:02", "00:00:04", "00:00:11") if f" {time} " in held] == ["00:00:04"]
