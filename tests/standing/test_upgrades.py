"""Queries that go on under another text, with data running through them."""

import contextlib
import json
import os
import sqlite3
import time
from pathlib import Path

import pytest

import cepsql.spark.checkpoint.rebuilding
from cepsql.engine import connect
from cepsql.errors import OperationalError
from cepsql.spark.run.standing_query import StandingQuery

DEFINITIONS = """
CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts - INTERVAL '2' SECONDS)
USING json OPTIONS (path 'ticks') LATE ROWS INTO late USING json OPTIONS (path 'late');
CREATE SINK pairs (k STRING, a INT, b INT) USING sqlite OPTIONS (path 'out.db', create_table 'true');
CREATE QUERY rises INTO pairs AS {}
"""
RISES = """SELECT k, a, b FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) DEFINE B AS n > A.n
) AS m"""
STEEP = RISES.replace("n > A.n", "n > A.n + 1")


@pytest.fixture
def engine(tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    Path("ticks").mkdir()
    with contextlib.closing(connect(spark, catalog="catalog.db")) as engine:
        engine.sql(DEFINITIONS.format(RISES))
        yield engine


def put(minute, numbers):
    rows = [{"k": "a", "ts": f"2026-01-01 00:{minute:02}:{i:02}", "n": n} for i, n in enumerate(numbers)]
    Path(f"ticks/.{minute}").write_text("".join(json.dumps(row) + "\n" for row in rows) + "no tick\n")
    os.replace(f"ticks/.{minute}", f"ticks/{minute}.json")


def pairs():
    with contextlib.closing(sqlite3.connect("out.db")) as connection:
        return connection.execute("SELECT a, b FROM pairs").fetchall()


def read(engine, rows):
    end = time.monotonic() + 60
    while engine.queries["rises"].progress.get("rows_read") != rows:
        assert time.monotonic() < end, engine.queries["rises"].state
        time.sleep(0.05)


def begun(engine, *files):
    """Run the query over files, one after the other, and stop it."""
    for minute, numbers in enumerate(files):
        put(minute, numbers)
        engine.sql("START QUERY rises")
        read(engine, sum(map(len, files[: minute + 1])) + minute + 1)
        engine.sql("STOP QUERY rises")


def test_the_state_is_made_anew(engine):
    # What the new text finds up to the watermark is not written; 6 and 7 wait for it.
    begun(engine, [1, 2, 5, 0], [4, 6, 7])
    assert pairs() == [(1, 2), (0, 4)]
    late = [path.read_text() for path in Path("late").glob("*.json")]
    said = engine.sql(f"CREATE OR REPLACE QUERY rises INTO pairs AS {STEEP}").message
    assert said.startswith("query rises replaced: replayable; ")
    put(2, [20, 30, 31])
    engine.sql("START QUERY rises")
    read(engine, 13)
    engine.sql("STOP QUERY rises")
    # Over all rows the new text has (2, 5), (0, 4) and (7, 20).
    assert pairs() == [(1, 2), (0, 4), (7, 20)]
    counts = engine.queries["rises"].progress
    assert (counts["rows_malformed"], counts["rows_out"], len(late)) == (3, 3, 2)
    assert len(engine.sql("SELECT * FROM late").collect()) == 3


@pytest.mark.nightly("one of several upgrades")
def test_cut_short_it_is_brought_to_its_end(engine, monkeypatch):
    begun(engine, [1, 2, 5, 0])
    engine.sql(f"CREATE OR REPLACE QUERY rises INTO pairs AS {STEEP}")

    def fail(*_):
        raise OSError(5, "the machine stops here")

    with monkeypatch.context() as patched:
        patched.setattr(cepsql.spark.checkpoint.rebuilding, "move_whole", fail)
        with pytest.raises(OperationalError, match="the machine stops here"):
            engine.sql("START QUERY rises")
    put(1, [9, 0, 0, 0])
    engine.sql("START QUERY rises")
    read(engine, 10)
    engine.sql("STOP QUERY rises")
    # The last of (2, 5) waited for the watermark.
    assert pairs() == [(1, 2), (2, 5), (0, 9)]


@pytest.mark.nightly("one of several upgrades")
def test_what_is_read_again_is_so_once_more_under_a_third_text(engine, monkeypatch):
    begun(engine, [1, 2, 5, 0], [4, 6, 7])
    engine.sql(f"CREATE OR REPLACE QUERY rises INTO pairs AS {STEEP.replace('+ 1', '+ 2')}")

    def fail(*_):
        raise OSError(5, "the machine stops here")

    with monkeypatch.context() as patched:
        patched.setattr(StandingQuery, "_after_batch", fail)
        engine.sql("START QUERY rises")
        assert engine.queries["rises"].wait(60) == "failing"
        engine.sql("STOP QUERY rises")
    engine.sql(f"CREATE OR REPLACE QUERY rises INTO pairs AS {STEEP}")
    put(2, [20, 30, 31])
    engine.sql("START QUERY rises")
    read(engine, 13)
    engine.sql("STOP QUERY rises")
    assert pairs() == [(1, 2), (0, 4), (7, 20)]
    counts = engine.queries["rises"].progress
    assert (counts["rows_malformed"], counts["rows_out"]) == (3, 3)
    assert len(engine.sql("SELECT * FROM late").collect()) == 3


@pytest.mark.nightly("buckets tell the same")
def test_another_number_of_shuffle_partitions(engine, spark):
    begun(engine, [1, 2, 5, 0])
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        put(1, [9, 0, 0, 0])
        engine.sql("START QUERY rises")
        read(engine, 10)
        engine.sql("STOP QUERY rises")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    assert pairs() == [(1, 2), (0, 9)]
