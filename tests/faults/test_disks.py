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
import cepsql.catalog.mounts
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


@pytest.fixture(params=everyday([False, True]), ids=lambda mounted: "mounted" if mounted else "renamed")
def disk(request, tmp_path, monkeypatch):
    if not request.param:
        monkeypatch.setattr(os, "geteuid", lambda: 1)
    opened = Disk(tmp_path)
    if request.param and not opened.is_mounted:
        pytest.skip("nothing can be mounted here")
    yield opened
    opened.close()


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


@pytest.mark.parametrize("disk", [True, False], indirect=True, ids=["mounted", "renamed"])
@pytest.mark.parametrize(("format", "name"), everyday(PLACES, 9))
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


@pytest.mark.parametrize(
    ("late", "at_mount_point"), everyday([("json", True), ("json", False), ("parquet", True), ("parquet", False)], 4)
)
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
    late_rows = queries.engine.sql("SELECT reason, x FROM late_s").collect()
    assert sorted(map(str, map(tuple, late_rows))) == [
        "('late', 2)",
        "('late', 4)",
        "('late', 6)",
        "('malformed', None)",
    ]
    assert [path.name[:5] for path in (folder / "_cepsql").iterdir()] == ["late-"]


def test_late_rows_wait_for_a_disk_that_goes_before_the_first_batch(spark, tmp_path, disk):
    queries = Queries(spark, tmp_path, MATCH, late_folder=disk.folder / "late")
    (tmp_path / "in").mkdir()
    with queries.start() as standing:
        disk.go()
        put(tmp_path, 0, "10:00,0")
        put(tmp_path, 1, "11:00,1", "01:00,2")
        with pytest.raises(OperationalError, match=GONE):
            standing.await_(60)
    queries.is_refused()
    assert disk.left() == []
    disk.come()
    queries.run()
    assert queries.engine.sql("SELECT x FROM late_s").collect() == [(2,)]
    assert written(spark, queries.sink) == [0, 1]


@pytest.mark.parametrize("format", ["json", "sqlite"])
@pytest.mark.parametrize("disk", [True], indirect=True)
def test_a_query_that_began_at_an_empty_mount_point_goes_on_once_the_disk_is_there(spark, tmp_path, disk, format):
    disk.go()
    queries = Queries(spark, tmp_path, MATCH, late_folder=disk.folder / "late", sink=sink_of(format, disk.folder / "o"))
    (tmp_path / "in").mkdir()
    with queries.start():
        """No row has come."""
    disk.come(keep=True)
    put(tmp_path, 0, "10:00,0")
    put(tmp_path, 1, "11:00,1", "01:00,2")
    queries.run()
    assert written(spark, queries.sink) == [0, 1]
    assert queries.engine.sql("SELECT x FROM late_s").collect() == [(2,)]


@pytest.mark.parametrize("disk", [True], indirect=True)
def test_rows_below_a_disk_that_was_mounted_later_are_not_forgotten(spark, tmp_path, disk):
    disk.go()
    queries = Queries(spark, tmp_path, MATCH, late_folder=disk.folder / "late", sink=sink_of("json", disk.folder / "o"))
    put(tmp_path, 0, "10:00,0")
    put(tmp_path, 1, "11:00,1", "01:00,2")
    queries.run()
    disk.come(keep=True)
    with pytest.raises(OperationalError, match=GONE) as refused:
        queries.run()
    assert f"a disk was mounted at {disk.folder} after" in refused.value.hint
    disk.go()
    shutil.move(disk.folder / "late", tmp_path / "late")
    shutil.move(disk.folder / "o", tmp_path / "o")
    disk.come(keep=True)
    shutil.move(tmp_path / "o", disk.folder / "o")
    with pytest.raises(OperationalError, match="late rows lacks the mark") as refused:
        queries.run()
    assert f"a disk was mounted at {disk.folder} after" in refused.value.hint
    shutil.move(tmp_path / "late", disk.folder / "late")
    put(tmp_path, 2, "12:00,3", "02:00,4")
    queries.run()
    assert written(spark, queries.sink) == [0, 1, 3]
    assert sorted(queries.engine.sql("SELECT x FROM late_s").collect()) == [(2,), (4,)]


@pytest.mark.parametrize("what", everyday(["parquet", "sqlite", "checkpoint", "late"]))
def test_nothing_is_made_at_an_empty_mount_point_of_a_disk_that_shall_be_mounted(
    spark, tmp_path, disk, monkeypatch, what
):
    (tmp_path / "fstab").write_text(f"# disks\nUUID=1 {disk.folder} ext4 defaults 0 2\n")
    monkeypatch.setattr(cepsql.catalog.mounts, "EXPECTED", tmp_path / "fstab")
    sink = sink_of(what, disk.folder / "out") if what in ("parquet", "sqlite") else None
    place = disk.folder / "place"
    queries = Queries(spark, tmp_path, MATCH, sink=sink, **{"late_folder" if what == "late" else "checkpoint": place})
    if sink is not None:
        queries.checkpoint = tmp_path / "checkpoint"
    (tmp_path / "in").mkdir()
    disk.go()
    with pytest.raises(OperationalError, match=f"the disk of {disk.folder} is not mounted"):
        queries.run()
    assert disk.left() == []
    disk.come()
    if disk.is_mounted:
        queries.run()


def test_rows_of_an_insert_are_not_left_at_an_empty_mount_point(spark, tmp_path, disk, monkeypatch):
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE STREAM t (x INT) USING json OPTIONS (path '{disk.folder}/in')")
    engine.sql("INSERT INTO t VALUES (1)")
    save = DataFrameWriter.save

    def saved(writer, *arguments):
        disk.go()
        save(writer, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(DataFrameWriter, "save", saved)
        with pytest.raises(OperationalError, match="no row was inserted into t"):
            engine.sql("INSERT INTO t VALUES (2)")
    disk.come()
    assert [row.x for row in spark.read.schema("x INT").json(f"{disk.folder}/in").collect()] == [1]


def test_a_catalog_is_not_made_at_an_empty_mount_point(tmp_path, disk, monkeypatch):
    (tmp_path / "fstab").write_text(f"UUID=1 {disk.folder} ext4 defaults 0 2\n")
    monkeypatch.setattr(cepsql.catalog.mounts, "EXPECTED", tmp_path / "fstab")
    disk.go()
    with pytest.raises(OperationalError, match=f"the disk of {disk.folder} is not mounted"):
        cepsql.connect(catalog=disk.folder / "queries.db")
    assert disk.left() == []


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


@pytest.mark.parametrize("sql", everyday([MATCH, QUERY]))
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
