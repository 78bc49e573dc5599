"""What docs/backup.md says to copy and to put back, done with the lines that it shows."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from cepsql.engine import connect
from cepsql.errors import OperationalError

PAGE = (Path(__file__).parents[2] / "docs" / "backup.md").read_text("utf-8")
BACKUP, RESTORE = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(GO_BACK,) = re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
DEFINITIONS = """
CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) USING json OPTIONS (path 'ticks');
CREATE SINK pairs (k STRING, a INT, b INT) USING sqlite OPTIONS (path 'out.db', create_table 'true');
CREATE QUERY rises INTO pairs AS SELECT k, a, b FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) DEFINE B AS n > A.n
) AS m;
"""


@pytest.fixture
def opened(tmp_path, monkeypatch, spark):
    """Opens engines on the catalog, as a program does that starts."""
    monkeypatch.chdir(tmp_path)
    Path("ticks").mkdir()
    with contextlib.ExitStack() as engines:
        yield lambda: engines.enter_context(contextlib.closing(connect(spark, catalog="queries.db")))


def put(minute, *numbers):
    rows = [{"k": "a", "ts": f"2026-01-01 00:{minute:02}:{i:02}", "n": n} for i, n in enumerate(numbers)]
    Path(f"ticks/.{minute}").write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.replace(f"ticks/.{minute}", f"ticks/{minute}.json")


def run(engine, lines):
    """Type the lines of a console: those of cepsql into the engine, the others into a shell."""
    for line in re.findall(r"^\$ (.*)\n", lines, re.MULTILINE):
        if line.startswith("cepsql "):
            (statement,) = re.findall(r'-c "(.*)"', line)
            engine.sql(statement)
        else:
            subprocess.run(["bash", "-ec", line], check=True)


def written():
    with contextlib.closing(sqlite3.connect("out.db")) as connection:
        return connection.execute("SELECT a, b FROM pairs ORDER BY a, b").fetchall()


def read(engine, rows, since=None):
    """Wait until the query has read so many rows; `since` is the time of a report of an earlier start."""
    end = time.monotonic() + 120
    while True:
        state = engine.queries["rises"].state
        if state.progress_at != since and (state.progress or {}).get("rows_read") == rows:
            return
        assert time.monotonic() < end, state
        time.sleep(0.05)


def begun(engine):
    """Run the query over two files, with a backup between them; 3 is an open match in the backup."""
    engine.sql(DEFINITIONS)
    put(0, 1, 2, 3)
    engine.sql("START QUERY rises")
    read(engine, 3)
    run(engine, BACKUP)
    put(1, 4, 9, 5)
    read(engine, 6)
    engine.sql("STOP QUERY rises")
    assert written() == [(1, 2), (3, 4)]


def test_all_is_put_back(opened):
    engine = opened()
    begun(engine)
    engine.close()
    # The machine is gone; what came meanwhile is in the input.
    put(2, 8)
    restore, start = RESTORE.rsplit("$ ", 1)
    run(None, restore)
    engine = opened()
    assert written() == [(1, 2)]
    run(engine, f"$ {start}")
    read(engine, 7)
    engine.sql("STOP QUERY rises")
    assert written() == [(1, 2), (3, 4), (5, 8)]


@pytest.mark.nightly("one of several restores")
def test_the_catalog_alone_is_put_back(opened):
    engine = opened()
    begun(engine)
    engine.close()
    for file in Path().glob("queries.db*"):
        if file.is_file():
            file.unlink()
    shutil.copy("backup/queries.db", "queries.db")
    put(2, 8)
    engine = opened()
    engine.sql("START QUERY rises")
    read(engine, 7)
    engine.sql("STOP QUERY rises")
    assert written() == [(1, 2), (3, 4), (5, 8)]


@pytest.mark.nightly("one of several restores")
def test_an_older_sink_is_made_good_by_the_savepoint(opened):
    engine = opened()
    begun(engine)
    shutil.copy("backup/out.db", "out.db")
    stopped = engine.queries["rises"].state.progress_at
    engine.sql(GO_BACK)
    read(engine, 6, stopped)
    engine.sql("STOP QUERY rises")
    assert written() == [(1, 2), (3, 4)]


@pytest.mark.nightly("one of several restores")
def test_an_older_checkpoint_is_refused_and_the_savepoint_repairs_it(opened):
    engine = opened()
    begun(engine)
    (checkpoint,) = (path for path in Path("queries.db.checkpoints").iterdir() if not path.name.endswith(".savepoints"))
    shutil.rmtree(checkpoint)
    shutil.copytree(Path("backup") / checkpoint, checkpoint)
    put(2, 8)
    with pytest.raises(OperationalError, match="is an older copy"):
        engine.sql("START QUERY rises")
    engine.sql(GO_BACK)
    read(engine, 7)
    engine.sql("STOP QUERY rises")
    # The sink has no key.
    assert written() == [(1, 2), (3, 4), (3, 4), (5, 8)]
