"""Savepoints of queries that run in this process, over files and into tables."""

import contextlib
import json
import os
import sqlite3
import time
from pathlib import Path

import pytest

from cepsql.catalog.savepoint_names import Savepoint
from cepsql.engine import connect
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.spark.checkpoint.checkpoint_files import drop_planned, is_between_batches
from cepsql.spark.checkpoint.savepoint import begin_checkpoint, save_checkpoint

DEFINITIONS = """
CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) USING json OPTIONS (path 'ticks');
CREATE SINK pairs (k STRING, a INT, b INT) USING sqlite OPTIONS (path 'out.db', create_table 'true');
CREATE SINK others (k STRING, a INT, b INT) USING sqlite OPTIONS (path 'out.db', create_table 'true');
CREATE QUERY rises INTO pairs AS {}
"""
RISES = """SELECT k, a, b FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) DEFINE B AS n > A.n
) AS m"""


@pytest.fixture
def engine(tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    Path("ticks").mkdir()
    with contextlib.closing(connect(spark, catalog="catalog.db")) as engine:
        engine.sql(DEFINITIONS.format(RISES))
        yield engine


def put(minute, numbers):
    rows = [{"k": "a", "ts": f"2026-01-01 00:{minute:02}:{i:02}", "n": n} for i, n in enumerate(numbers)]
    Path(f"ticks/.{minute}").write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.replace(f"ticks/.{minute}", f"ticks/{minute}.json")


def table(name):
    with contextlib.closing(sqlite3.connect("out.db")) as connection:
        return connection.execute(f"SELECT a, b FROM {name} ORDER BY a").fetchall()


def read(engine, name, rows):
    until(lambda: engine.queries[name].progress.get("rows_read") == rows)


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_query_begins_where_another_one_was(engine):
    put(0, [1, 2, 3])
    engine.sql("START QUERY rises")
    read(engine, "rises", 3)
    said = engine.sql("STOP QUERY rises WITH SAVEPOINT 'before noon'").message
    assert said == "query rises stopped; its savepoint is before noon"
    ((name, query, _, folder),) = engine.sql("SHOW SAVEPOINTS").rows
    assert (name, query) == ("before noon", "rises") and (Path(folder) / "plan.json").exists()
    other = RISES.replace("SELECT k", "SELECT upper(k) AS k")
    said = engine.sql(f"CREATE QUERY more INTO others FROM SAVEPOINT 'before noon' AS {other}").message
    assert said == "query more created: it begins with savepoint before noon; START QUERY more runs it"
    engine.sql("DROP SAVEPOINT 'before noon'")
    assert not Path(folder).exists() and engine.sql("SHOW SAVEPOINTS").rows == ()
    put(1, [4, 9, 5])
    engine.sql("START QUERY rises; START QUERY more")
    # The open match of 3 goes on in both, and counts go on from those of the savepoint.
    for name in ("rises", "more"):
        read(engine, name, 6)
    engine.sql("STOP QUERY rises; STOP QUERY more")
    assert table("pairs") == [(1, 2), (3, 4)] and table("others") == [(3, 4)]


def test_a_copy_stays_where_the_catalog_may_have_taken_the_query(engine, monkeypatch):
    put(0, [1, 2, 3])
    engine.sql("START QUERY rises")
    read(engine, "rises", 3)
    engine.sql("STOP QUERY rises WITH SAVEPOINT 'x'")
    add = engine.catalog.add

    def unanswered(*arguments):
        add(*arguments)
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(engine.catalog, "add", unanswered)
    with pytest.raises(OperationalError, match="the connection is lost"):
        engine.sql(f"CREATE QUERY more INTO others FROM SAVEPOINT 'x' AS {RISES}")
    put(1, [4, 9, 5])
    engine.sql("START QUERY more")
    read(engine, "more", 6)
    engine.sql("STOP QUERY more")
    assert table("others") == [(3, 4)]


def test_a_query_goes_back_to_a_savepoint(engine):
    put(0, [1, 2, 3])
    engine.sql("START QUERY rises")
    read(engine, "rises", 3)
    engine.sql("STOP QUERY rises WITH SAVEPOINT 'x'")
    with pytest.raises(ProgrammingError, match="savepoint x exists already"):
        engine.sql("STOP QUERY rises WITH SAVEPOINT 'x'")
    windows = "SELECT k, COUNT(*) AS a FROM ticks GROUP BY k, window(ts, '1 hour')"
    with pytest.raises(ProgrammingError, match=r"savepoint x is of a query with another meaning: query.sql was"):
        engine.sql(f"CREATE OR REPLACE QUERY rises FROM SAVEPOINT 'x' AS {windows}")
    with pytest.raises(ProgrammingError, match="rises exists already"):
        engine.sql(f"CREATE QUERY rises INTO pairs FROM SAVEPOINT 'x' AS {RISES}")
    put(1, [4, 9, 5])
    engine.sql("START QUERY rises")
    read(engine, "rises", 6)
    engine.sql(f"CREATE OR REPLACE QUERY rises INTO pairs FROM SAVEPOINT 'x' AS {RISES}; RESTART QUERY rises")
    until(lambda: table("pairs") == [(1, 2), (3, 4), (3, 4)])
    read(engine, "rises", 6)
    engine.sql("STOP QUERY rises")


def test_what_has_no_savepoint(engine):
    with pytest.raises(ProgrammingError, match=r"query rises has no checkpoint in .* yet"):
        engine.sql("STOP QUERY rises WITH SAVEPOINT 'x'")
    with pytest.raises(ProgrammingError, match="there is no savepoint x"):
        engine.sql(f"CREATE QUERY more FROM SAVEPOINT 'x' AS {RISES}")
    with pytest.raises(ProgrammingError, match="there is no savepoint x"):
        engine.sql("DROP SAVEPOINT 'x'")
    assert engine.sql("DROP SAVEPOINT IF EXISTS 'x'").message == "there is no savepoint x"


def test_a_folder_of_a_savepoint_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("cepsql.spark.checkpoint.checkpoint_path.remove_tree", lambda folder: None)
    folder = tmp_path / "x"
    with connect(catalog=str(tmp_path / "catalog.db")) as engine:
        for said in ("was not there: if its disk is not mounted, it is still on it", "could not be removed"):
            engine.home.savepoints.add(Savepoint("x", "q", str(folder)))
            assert engine.sql("DROP SAVEPOINT 'x'").message == f"savepoint x dropped; its folder {folder} {said}"
            folder.mkdir(exist_ok=True)


@pytest.mark.parametrize(
    ("begun", "committed", "left"), [(2, 2, [1, 2]), (None, 2, [1, 2]), (3, 2, [1, 2, 3]), (None, None, [])]
)
def test_a_batch_that_was_only_planned_is_forgotten(tmp_path, begun, committed, left):
    for folder, last in (("offsets", 3 if committed else 0), ("commits", committed)):
        (tmp_path / folder).mkdir()
        for number in range(1, last + 1) if last else [0] if last == 0 else []:
            (tmp_path / folder / str(number)).touch()
    (tmp_path / "state" / "0").mkdir(parents=True)
    drop_planned(tmp_path, 3, begun)
    assert sorted(int(path.name) for path in (tmp_path / "offsets").iterdir()) == ([1, 2, 3] if committed else [0])
    drop_planned(tmp_path, begun)
    assert sorted(int(path.name) for path in (tmp_path / "offsets").iterdir()) == left
    assert is_between_batches(tmp_path) == (3 not in left)
    assert (tmp_path / "state").exists() == bool(left)


@pytest.mark.parametrize("file", ["plan.json", "spark/metadata"])
@pytest.mark.parametrize("content", ['{"id": "a', "null", ""])
def test_a_half_written_file_of_a_savepoint_is_named(tmp_path, file, content):
    savepoint, checkpoint = tmp_path / "savepoint", tmp_path / "checkpoint"
    (savepoint / "spark").mkdir(parents=True)
    for name in ("plan.json", "spark/metadata"):
        (savepoint / name).write_text(content if name == file else '{"id": "a"}')
    with pytest.raises(OperationalError, match=f"the checkpoint file {savepoint / file} is damaged"):
        begin_checkpoint(savepoint, checkpoint)
    assert [path.name for path in tmp_path.iterdir()] == ["savepoint"]


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        ("offsets/0", "its file {} is damaged"),
        ("sources/0/0", "its file {} is damaged"),
        ("metadata", "its file {} is damaged"),
        ("commits/0", "the last batch of the checkpoint .* was cut short"),
    ],
)
def test_no_savepoint_is_made_of_a_damaged_checkpoint(tmp_path, damaged, said):
    spark = tmp_path / "checkpoint" / "spark"
    for name in ("offsets/0", "sources/0/0", "commits/0"):
        (spark / name).parent.mkdir(parents=True)
        (spark / name).write_text("v1\n{}\n")
    (spark / "metadata").write_text('{"id": "f0000000-0000-4000-8000-000000000000"}')
    (tmp_path / "checkpoint" / "plan.json").write_text("{}")
    save_checkpoint(tmp_path / "checkpoint", tmp_path / "whole")
    (spark / damaged).write_text("v1\n{")
    with pytest.raises(OperationalError, match=said.format(spark / damaged)):
        save_checkpoint(tmp_path / "checkpoint", tmp_path / "savepoint")
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint", "whole"}


def test_a_batch_that_was_cut_short_is_no_savepoint(engine):
    put(0, [1, 2, 3])
    engine.sql("START QUERY rises")
    read(engine, "rises", 3)
    engine.sql("STOP QUERY rises")
    (folder,) = Path("catalog.db.checkpoints").iterdir()
    max((folder / "spark" / "commits").glob("[0-9]*"), key=lambda path: int(path.name)).unlink()
    with pytest.raises(OperationalError, match="was cut short"):
        engine.sql("STOP QUERY rises WITH SAVEPOINT 'x'")
