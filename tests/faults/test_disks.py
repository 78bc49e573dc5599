"""Sinks, late rows and checkpoints on a disk that goes away and comes back: no row is lost, and none is there twice."""

import itertools
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from chance import draws, everyday, examples
from disk import Disk
from numbered_files import put
from pyspark.sql import DataFrameWriter

import cepsql
from cepsql.catalog import Sink
from cepsql.errors import OperationalError
from cepsql.sinks.files import FileSink

STREAM = """CREATE OR REPLACE STREAM s (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts)
USING csv OPTIONS (path '{folder}/in', maxFilesPerTrigger '1')
LATE ROWS INTO late_s USING {late} OPTIONS (path '{late_folder}')
"""
QUERY = "SELECT x, k FROM s"
MATCH = "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS x PATTERN (A))"
SCHEMA = "x INT, k INT"
FORMATS = ("parquet", "json", "csv", "orc")
PLACES = [("sqlite", "out.db"), *itertools.product(FORMATS, ("", "out"))]
"""Sinks at a mount point and below it."""
GONE = "its disk is not mounted"


@pytest.fixture(params=[True, False], ids=["mounted", "renamed"])
def disk(request, tmp_path, monkeypatch):
    if not request.param:
        monkeypatch.setattr(os, "geteuid", lambda: 1)
    found = Disk(tmp_path)
    if request.param and not found.is_mounted:
        pytest.skip("nothing can be mounted here")
    yield found
    found.close()


class Queries:
    """Starts one query again and again."""

    def __init__(self, spark, folder: Path, sql=QUERY, late="json", late_folder=None, checkpoint=None, sink=None):
        self.engine = cepsql.connect(spark)
        late_folder = late_folder or folder / "late"
        self.engine.sql(STREAM.format(folder=folder, late=late, late_folder=late_folder))
        self.query, self.sink = self.engine.query(sql), sink or sink_of("parquet", folder / "out")
        self.checkpoint = checkpoint or folder / "checkpoint"

    def start(self):
        return self.query.start(sink=self.sink, name="q", checkpoint=str(self.checkpoint))

    def run(self) -> None:
        with self.start() as standing:
            standing.process_available()

    def is_refused(self, said: str = GONE) -> None:
        """Make sure that a start fails at once or with its first batch."""
        with pytest.raises(OperationalError, match=said) as raised:
            self.run()
        assert "next start resumes" in raised.value.hint


def sink_of(format: str, path: Path) -> Sink:
    more = (("create_table", "true"),) if format == "sqlite" else ()
    return Sink("out", (), format, (("path", str(path)), *more))


def written(spark, sink: Sink) -> list[int]:
    path = dict(sink.options)["path"]
    if sink.format == "sqlite":
        with sqlite3.connect(path) as database:
            return sorted(x for (x,) in database.execute("SELECT x FROM out"))
    return sorted(row.x for row in spark.read.schema(SCHEMA).format(sink.format).load(path).collect())


@pytest.mark.parametrize(("format", "name"), everyday(PLACES, 3))
def test_a_sink_whose_disk_is_away_is_not_made_anew(spark, tmp_path, disk, format, name):
    queries = Queries(spark, tmp_path, sink=sink_of(format, disk.folder / name))
    put(tmp_path, 0, "00:00,0")
    put(tmp_path, 1, "01:00,1")
    with queries.start() as standing:
        standing.process_available()
        disk.go()
        put(tmp_path, 2, "02:00,2")
        with pytest.raises(OperationalError, match=GONE):
            standing.await_(60)
    for _ in range(2):
        queries.is_refused()
    assert disk.left() == []
    put(tmp_path, 3, "03:00,3")
    disk.come()
    queries.run()
    assert written(spark, queries.sink) == [0, 1, 2, 3]


@pytest.mark.parametrize("at_mount_point", [False, True], ids=["below", "at"])
@pytest.mark.parametrize("late", ["json", "parquet"])
def test_late_rows_wait_for_their_disk(spark, tmp_path, disk, late, at_mount_point):
    folder = disk.folder if at_mount_point else disk.folder / "late"
    queries = Queries(spark, tmp_path, MATCH, late, folder)
    put(tmp_path, 0, "10:00,0")
    put(tmp_path, 1, "11:00,1", "01:00,2")
    queries.run()
    with queries.start() as standing:
        disk.go()
        put(tmp_path, 2, "12:00,3", "02:00,4", "03:00,many")
        with pytest.raises(OperationalError, match=GONE):
            standing.await_(60)
    queries.is_refused()
    assert disk.left() == []
    disk.come()
    shutil.rmtree(folder / "_cepsql")
    with pytest.raises(OperationalError, match=GONE) as refused:
        queries.run()
    mark = Path(re.search(r"make the file (\S+) again", refused.value.hint)[1])
    mark.parent.mkdir()
    mark.touch()
    queries.run()
    put(tmp_path, 3, "13:00,5", "04:00,6")
    queries.run()
    found = queries.engine.sql("SELECT reason, x FROM late_s").collect()
    assert sorted(map(str, map(tuple, found))) == ["('late', 2)", "('late', 4)", "('late', 6)", "('malformed', None)"]
    assert [path.name[:5] for path in (folder / "_cepsql").iterdir()] == ["late-"]


def test_a_batch_that_was_planned_beside_the_checkpoint_is_not_written(spark, tmp_path, disk):
    queries = Queries(spark, tmp_path, checkpoint=disk.folder / "checkpoint")
    put(tmp_path, 0, "00:00,0")
    put(tmp_path, 1, "01:00,1")
    with queries.start() as standing:
        standing.process_available()
        disk.go()
        put(tmp_path, 2, "02:00,2")
        with pytest.raises(OperationalError, match=f"the checkpoint {queries.checkpoint} is gone"):
            standing.await_(60)
    assert written(spark, queries.sink) == [0, 1]
    disk.come()
    put(tmp_path, 3, "03:00,3")
    queries.run()
    assert written(spark, queries.sink) == [0, 1, 2, 3]


@pytest.mark.parametrize("sql", [QUERY, MATCH], ids=["stateless", "stateful"])
def test_a_checkpoint_that_was_away_for_a_part_of_a_batch_is_noticed(spark, tmp_path, disk, monkeypatch, sql):
    queries = Queries(spark, tmp_path, sql, checkpoint=disk.folder / "checkpoint")
    put(tmp_path, 0, "00:00,0", "01:00,1")
    queries.run()
    take = FileSink.write

    def write(sink, frame, batch):
        disk.go()
        try:
            return take(sink, frame, batch)
        finally:
            time.sleep(1.5)
            disk.come()

    monkeypatch.setattr(FileSink, "write", write)
    put(tmp_path, 1, "02:00,2", "03:00,3")
    with queries.start() as standing, pytest.raises(OperationalError, match=r"is gone|cannot"):
        standing.await_(60)
    monkeypatch.undo()
    queries.run()
    put(tmp_path, 2, "04:00,4", "05:00,5")
    queries.run()
    assert written(spark, queries.sink) == [0, 1, 2, 3, 4, 5]


def test_a_sink_that_was_away_for_a_part_of_a_batch_loses_no_file(spark, tmp_path, disk, monkeypatch):
    queries = Queries(spark, tmp_path, sink=sink_of("json", disk.folder / "out"))
    put(tmp_path, 0, "00:00,0")
    queries.run()
    save = DataFrameWriter.save

    def saved(writer, *arguments):
        disk.go()
        save(writer, *arguments)
        time.sleep(0.5)
        disk.come()

    put(tmp_path, 1, "01:00,1")
    with monkeypatch.context() as patched:
        patched.setattr(DataFrameWriter, "save", saved)
        with queries.start() as standing, pytest.raises(OperationalError, match=GONE):
            standing.await_(60)
    queries.run()
    assert written(spark, queries.sink) == [0, 1]


def test_another_place_of_the_sink_is_begun(spark, tmp_path):
    put(tmp_path, 0, "00:00,0")
    Queries(spark, tmp_path, sink=sink_of("json", tmp_path / "first")).run()
    put(tmp_path, 1, "01:00,1")
    second = Queries(spark, tmp_path, sink=sink_of("sqlite", tmp_path / "second.db"))
    second.run()
    assert written(spark, second.sink) == [1]
    shutil.rmtree(tmp_path / "first")
    Queries(spark, tmp_path, sink=sink_of("json", tmp_path / "first")).is_refused()


@pytest.mark.parametrize("format", ["parquet", "sqlite"])
def test_a_checkpoint_of_an_earlier_version_goes_on(spark, tmp_path, format):
    queries = Queries(spark, tmp_path, MATCH, sink=sink_of(format, tmp_path / "out"))
    put(tmp_path, 0, "10:00,0", "11:00,1")
    queries.run()
    plan = queries.checkpoint / "plan.json"
    plan.write_text(json.dumps({key: value for key, value in json.loads(plan.read_text()).items() if key != "records"}))
    shutil.rmtree(tmp_path / "late", ignore_errors=True)
    put(tmp_path, 1, "12:00,2", "01:00,3")
    queries.run()
    assert written(spark, queries.sink) == [0, 1, 2]
    assert len(json.loads(plan.read_text())["records"]) == 2
    assert queries.engine.sql("SELECT x FROM late_s").collect() == [(3,)]


@pytest.mark.nightly("it takes minutes")
def test_disks_that_go_and_come_at_random(tmp_path):
    command = [sys.executable, str(Path(__file__).with_name("disks.py")), "--times", str(examples(4))]
    done = subprocess.run([*command, "--seed", str(draws("disks").random())], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
