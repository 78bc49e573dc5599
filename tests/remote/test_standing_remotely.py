"""Standing queries whose checkpoints and savepoints are not on this machine."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from chance import everyday

from cepsql.engine import connect
from cepsql.errors import DatabaseError, NotSupportedError, OperationalError, ProgrammingError
from cepsql.spark.checkpoint.checkpoint_files import is_unbegun, keep_unbegun
from cepsql.spark.checkpoint.savepoint import save_checkpoint

RISES = """SELECT k, a, b FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) DEFINE B AS n > A.n
) AS m"""
DEFINITIONS = f"""
CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) USING csv
OPTIONS (path 'ticks', maxFilesPerTrigger '1');
CREATE STREAM other (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) USING csv OPTIONS (path 'other');
CREATE SINK pairs (k STRING, a INT, b INT) USING sqlite OPTIONS (path 'out.db', create_table 'true');
CREATE SINK others (k STRING, a INT, b INT) USING sqlite OPTIONS (path 'out.db', create_table 'true');
CREATE QUERY rises INTO pairs OPTIONS (checkpoint '{{checkpoint}}') AS {RISES}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ticks").mkdir()


def put(minute, *numbers):
    hidden = Path(f"ticks/.{minute}")
    hidden.write_text("".join(f"a,2026-01-01 00:{minute:02}:{i:02},{n}\n" for i, n in enumerate(numbers)))
    os.utime(hidden, (1_000_000_000 + minute, 1_000_000_000 + minute))
    os.replace(hidden, f"ticks/{minute}.csv")


def table(name):
    with contextlib.closing(sqlite3.connect("out.db")) as connection:
        return connection.execute(f"SELECT a, b FROM {name} ORDER BY a").fetchall()


def until(condition):
    end = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def read(engine, name, rows):
    until(lambda: engine.queries[name].progress.get("rows_read") == rows)


def begin(engine, folder):
    """Start the query, and let it come to the end of one micro-batch."""
    engine.sql(DEFINITIONS.format(checkpoint=folder))
    put(0, 1, 2)
    engine.sql("START QUERY rises")
    read(engine, "rises", 2)


@pytest.mark.parametrize("store", everyday(["s3", "hdfs"]))
def test_a_query_its_savepoints_and_its_replacements(spark, folder, place):
    def folders():
        return sorted(str(path) for path in folder.parent.glob(f"{folder.name}*/*") if path.is_dir())

    with contextlib.closing(connect(spark, catalog="catalog.db")) as engine:
        begin(engine, folder)
        engine.sql("STOP QUERY rises WITH SAVEPOINT 'first'")
        assert any(".savepoints/first-" in path for path in folders())
        # One that begins here, and one beside the catalog, on this machine.
        here = f"OPTIONS (checkpoint '{folder}-copy')"
        engine.sql(f"CREATE QUERY copy INTO others {here} FROM SAVEPOINT 'first' AS {RISES}")
        engine.sql(f"CREATE QUERY near FROM SAVEPOINT 'first' AS {RISES}")
        replaced = f"CREATE OR REPLACE QUERY rises INTO pairs OPTIONS (checkpoint '{folder}') AS "
        with pytest.raises(ProgrammingError, match=r"would need a new checkpoint: .* FROM ticks and is .* FROM other"):
            engine.sql(replaced + RISES.replace("ticks", "other"))
        assert "replayable" in engine.sql(replaced + RISES.replace("(A B)", "(A B+)")).message
        put(1, 3, 4, 1)
        for name in ("rises", "copy", "near"):
            assert "it resumes after batch 0 of its checkpoint" in engine.sql(f"START QUERY {name}").message
            read(engine, name, 5)
            engine.sql(f"STOP QUERY {name}")
        assert (table("pairs"), table("others")) == ([(1, 2), (1, 4)], [(3, 4)])
        assert engine.queries["near"].progress["rows_out"] == 2
        engine.sql("DROP SAVEPOINT 'first'")
        assert not any(".savepoints/first-" in path for path in folders())


@pytest.mark.nightly("it takes ten seconds")
@pytest.mark.parametrize("store", ["s3", "hdfs"])
def test_a_state_made_anew_is_that_of_the_checkpoint_and_its_copies(spark, folder, place, monkeypatch):
    def parts(path):
        return [part.name for part in path.iterdir() if part.name.startswith("spark")]

    def cut_short(*_):
        raise OSError("it is cut short")

    with contextlib.closing(connect(spark, catalog="catalog.db")) as engine:
        begin(engine, folder)
        engine.sql("STOP QUERY rises")
        replaced = f"CREATE OR REPLACE QUERY rises INTO pairs OPTIONS (checkpoint '{folder}') AS "
        texts = [RISES.replace("(A B)", pattern) for pattern in ("(A B+)", "(A B B?)")]
        engine.sql(replaced + texts[0])
        with monkeypatch.context() as patched:
            # plan.json names the new state, and the old one lies there still.
            patched.setattr("cepsql.spark.checkpoint.rebuilding.move_record", cut_short)
            with pytest.raises(OperationalError, match="it is cut short"):
                engine.query(texts[0]).start(checkpoint=str(folder), upgrades=True)
        put(1, 3, 4, 1)
        engine.sql("START QUERY rises")
        read(engine, "rises", 5)
        assert table("pairs") == [(1, 2), (1, 4)]
        engine.sql("STOP QUERY rises WITH SAVEPOINT 'anew'")
        engine.sql(f"CREATE QUERY near INTO others FROM SAVEPOINT 'anew' AS {texts[0]}")
        engine.sql(replaced + texts[1])
        put(2, 5, 6, 7, 1)
        for name in ("near", "rises"):
            engine.sql(f"START QUERY {name}")
            read(engine, name, 9)
            engine.sql(f"STOP QUERY {name}")
        assert table("others") == [(1, 7)]
        assert table("pairs") == [(1, 2), (1, 4), (1, 6)]
        assert len(parts(folder)) == 1


@pytest.mark.nightly("it takes ten seconds")
@pytest.mark.parametrize("store", ["s3"])
def test_a_batch_that_was_planned_and_not_begun_is_in_no_savepoint(spark, folder, place):
    with contextlib.closing(connect(spark, catalog="catalog.db")) as engine:
        begin(engine, folder)
        engine.sql("STOP QUERY rises")
        planned = folder / "spark" / "offsets" / "1"
        planned.write_bytes((folder / "spark" / "offsets" / "0").read_bytes())
        with pytest.raises(OperationalError, match=r"the last batch of the checkpoint .* was cut short"):
            save_checkpoint(folder, folder.with_name(f"{folder.name}-1"))
        keep_unbegun(folder)
        saved = folder.with_name(f"{folder.name}-2")
        save_checkpoint(folder, saved)
        assert planned.exists()
        assert not (saved / "spark" / "offsets" / "1").exists()
        # Once the query goes on, it may be begun.
        put(1, 3, 4)
        engine.sql("START QUERY rises")
        read(engine, "rises", 4)
        assert not is_unbegun(folder)
        engine.sql("STOP QUERY rises")
        assert table("pairs") == [(1, 2), (3, 4)]


PROCESS = """
import json, sys, time
import cepsql
conf = json.loads(sys.argv[2]) | {"spark.sql.shuffle.partitions": "2"}
engine = cepsql.connect(catalog="catalog.db", master="local[1]", conf=conf)
engine.sql("START QUERY rises")
while engine.queries["rises"].progress.get("rows_read") != int(sys.argv[1]):
    time.sleep(0.05)
print("read", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def another_process(spark, conf, rows):
    """Lend a process that has started the query and read so many rows."""
    reaching = json.dumps(conf | {"spark.sql.session.timeZone": spark.conf.get("spark.sql.session.timeZone")})
    command = [sys.executable, "-c", PROCESS, str(rows), reaching]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        try:
            assert process.stdout.readline() == "read\n"
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


WAYS = [("s3", signal.SIGSTOP), ("hdfs", signal.SIGKILL), ("s3", signal.SIGKILL)]


@pytest.mark.nightly("it starts a Spark that it kills")
@pytest.mark.parametrize(("store", "way"), WAYS)
def test_a_process_that_fails_is_gone_on_for(spark, folder, place, conf, way):
    with contextlib.closing(connect(spark, catalog="catalog.db")) as engine:
        engine.sql(DEFINITIONS.format(checkpoint=folder))
        for minute in range(3):
            put(minute, minute, minute + 1)
        with another_process(spark, conf, rows=6) as process:
            used = f"the checkpoint {folder} is in use by process {process.pid} on"
            with pytest.raises(OperationalError, match=used):
                engine.sql(RISES).start(checkpoint=str(folder))
            put(3, 3, 4)
            until(lambda: (folder / "spark" / "offsets" / "3").exists())
            # A process that is frozen while it writes to SQLite keeps all others from writing.
            with contextlib.closing(sqlite3.connect("catalog.db", timeout=60)) as catalog:
                catalog.execute("BEGIN IMMEDIATE")
                os.killpg(process.pid, way)
            put(4, 4, 5)
            until(lambda: engine.queries["rises"].status == "lost")
            engine.sql("START QUERY rises")
            read(engine, "rises", 10)
            if way == signal.SIGSTOP:
                # It goes on in the middle of its batch.
                os.killpg(process.pid, signal.SIGCONT)
                put(5, 5, 6)
                read(engine, "rises", 12)
                process.stdin.close()
                assert process.wait(60) == 0
                assert engine.queries["rises"].status == "running"
            engine.sql("STOP QUERY rises")
        assert table("pairs") == [(n, n + 1) for n in range(5 if way == signal.SIGKILL else 6)]
        with pytest.raises(OperationalError, match=f"the checkpoint {folder} belongs to a different query: .*A B\\+"):
            engine.sql(RISES.replace("A B", "A B+")).start(checkpoint=str(folder))


@pytest.mark.nightly("it takes ten seconds")
@pytest.mark.parametrize("store", ["hdfs", "s3"])
def test_totals_go_on_and_an_input_that_was_ended_stays_so(spark, folder, place):
    with contextlib.closing(connect(spark)) as engine:
        engine.sql(DEFINITIONS.format(checkpoint=folder))
        counts = "SELECT window.start, COUNT(*) AS n FROM ticks GROUP BY window(ts, '10 seconds')"
        for minute, numbers in enumerate([(1, 2, 1), (5,)]):
            put(minute, *numbers)
            with engine.sql(counts).start(checkpoint=f"{folder}-counts") as standing:
                standing.process_available()
        assert standing.progress.rows_read == 4
        drained = engine.sql(RISES).start(drain=True, checkpoint=str(folder))
        rows_out = [(row["a"], row["b"]) for rows in drained.rows() for row in rows.to_pylist()]
        assert rows_out == [(1, 2), (1, 5)]
        with pytest.raises(OperationalError, match="was ended: every further row would be late"):
            engine.sql(RISES).start(checkpoint=str(folder))


@pytest.mark.nightly("it takes ten seconds")
@pytest.mark.parametrize("store", ["s3", "hdfs"])
def test_rows_of_tables_are_kept(spark, folder, place, tmp_path, monkeypatch):
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    out = []

    def run(rows, fails=False):
        def keep(table, _batch):
            out.extend(row["at"] for row in table.to_pylist())
            if fails:
                raise RuntimeError("it is cut short")

        with contextlib.closing(connect(spark)) as engine:
            for statement in (earlier, ticks, names):
                engine.sql(statement)
            query = engine.sql(rated).start(on_rows=keep, checkpoint=str(folder))
            if fails:
                with pytest.raises(DatabaseError, match="it is cut short"):
                    query.await_()
            else:
                until(lambda: query.progress.rows_read == rows)
                assert [path.name.startswith("cepsql-tables-") for path in copies.iterdir()] == [True]
                query.stop()
        assert not list(copies.iterdir())
        assert len(list((folder / "tables" / "names").glob("*.arrow"))) >= 1
        rows_so_far, out[:] = sorted(out), []
        return rows_so_far

    ticks = f"{DEFINITIONS.split(';')[0]} BACKFILL FROM earlier UNTIL TIMESTAMP '2026-01-01 00:00:00'"
    earlier = "CREATE TABLE earlier (k STRING, ts TIMESTAMP, n INT) USING csv OPTIONS (path 'earlier.csv')"
    names = "CREATE TABLE names (k STRING, name STRING) USING csv OPTIONS (path 'names.csv')"
    names += " REFRESH EVERY INTERVAL '1' HOUR"
    rated = "SELECT concat(name, n) AS at FROM ticks JOIN names USING (k)"
    Path("earlier.csv").write_text("a,2025-12-31 23:00:00,7\na,2026-01-01 01:00:00,8\n")
    Path("names.csv").write_text("a,x\n")
    put(0, 1, 2)
    assert run(4, fails=True) == ["x1", "x2", "x7"]
    # The first micro-batch is done again: with the rows that it had.
    Path("earlier.csv").write_text("a,2025-12-31 23:00:00,9\n")
    assert (folder / "history" / "ticks" / "rows.arrow").exists()
    assert run(3) == ["x1", "x2", "x7"]
    Path("names.csv").write_text("a,y\n")
    put(1, 3)
    assert run(4) == ["y3"]
    assert not (folder / "history" / "ticks" / "rows.arrow").exists()
    # A table that cannot be read is taken as it was.
    Path("names.csv").unlink()
    Path("earlier.csv").unlink()
    put(2, 4)
    assert run(5) == ["y4"]


def test_what_tasks_of_a_cluster_would_read_of_it_is_refused(spark, folder, place, monkeypatch):
    monkeypatch.setattr("cepsql.spark.checkpoint.host_files.tasks_share_files", lambda _: False)
    with contextlib.closing(connect(spark)) as engine:
        engine.sql(DEFINITIONS.format(checkpoint=folder))
        engine.sql("CREATE TABLE names (k STRING) USING csv OPTIONS (path 'names') REFRESH EVERY INTERVAL '1' MINUTE")
        with pytest.raises(NotSupportedError, match=f"names is a table with REFRESH EVERY.*not supported in {folder}"):
            engine.sql("SELECT t.* FROM ticks t JOIN names n ON t.k = n.k").start(checkpoint=str(folder))
        assert not folder.exists()
