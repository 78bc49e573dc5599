"""What becomes of a query whose checkpoint is in use, damaged, or has no room on its disk."""

import contextlib
import errno
import functools
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from chance import everyday
from numbered_files import put

import cepsql
from cepsql.catalog import Sink
from cepsql.errors import OperationalError
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.spark.checkpoint import checkpoint
from cepsql.spark.checkpoint.checkpoint import open_checkpoint
from cepsql.spark.checkpoint.checkpoint_files import check_files
from cepsql.spark.checkpoint.checkpoint_lock import lock_checkpoint
from cepsql.spark.checkpoint.savepoint import save_checkpoint

STREAM = """CREATE OR REPLACE STREAM s (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts)
USING csv OPTIONS (path '{folder}/in', maxFilesPerTrigger '1')
"""
QUERY = "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS a, B.x AS b PATTERN (A B))"


@pytest.fixture(scope="module")
def begun(spark, tmp_path_factory) -> Path:
    """A folder with three files that a query has taken in, and its checkpoint."""
    folder = tmp_path_factory.mktemp("begun")
    for number in range(3):
        put(folder, number, f"0{number}:00,{number}")
    rows = run(query(spark, folder), folder / "checkpoint")
    assert rows == [{"k": 1, "a": 0, "b": 1}]
    put(folder, 3, "03:00,3", "04:00,4")
    return folder


@pytest.fixture
def copy(spark, begun, tmp_path) -> Path:
    """The query's checkpoint, to be spoilt."""
    return Path(shutil.copytree(begun / "checkpoint", tmp_path / "checkpoint"))


def query(spark, folder: Path):
    engine = cepsql.connect(spark)
    engine.sql(STREAM.format(folder=folder))
    return engine.sql(QUERY)


def run(query, checkpoint: Path) -> list[dict]:
    tables = []
    with query.start(lambda rows, _: tables.append(rows), checkpoint=str(checkpoint)) as standing:
        standing.process_available()
    return [row for table in tables for row in table.to_pylist()]


def test_a_checkpoint_in_use_is_refused(spark, begun, copy):
    first = query(spark, begun).start(checkpoint=str(copy))
    with pytest.raises(OperationalError, match=f"the checkpoint {copy} is in use by a query of this program"):
        query(spark, begun).start(checkpoint=str(copy))
    first.process_available()
    assert first.status == "running"
    first.stop()
    with query(spark, begun).start(checkpoint=str(copy)) as again:
        assert again.status == "running"


@pytest.mark.parametrize(
    "sink",
    everyday(
        [
            Sink("out", (), "sqlite", (("path", "{}/out.db"), ("create_table", "true"))),
            Sink("out", (), "parquet", (("path", "{}/out"),)),
        ]
    ),
    ids=lambda sink: sink.format,
)
def test_an_older_copy_is_refused_by_a_sink_that_is_ahead_of_it(spark, tmp_path, sink):
    sink = replace(sink, options=tuple((name, value.format(tmp_path)) for name, value in sink.options))
    for number in range(2):
        put(tmp_path, number, f"0{number}:00,{number}")
    engine = cepsql.connect(spark)
    engine.sql(STREAM.format(folder=tmp_path))

    def go_on() -> None:
        with engine.query("SELECT x FROM s").start(
            sink=sink, name="q", checkpoint=str(tmp_path / "checkpoint")
        ) as standing:
            standing.process_available()

    go_on()
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    put(tmp_path, 2, "02:00,2")
    go_on()
    shutil.move(tmp_path / "checkpoint", tmp_path / "newest")
    shutil.copytree(tmp_path / "copy", tmp_path / "checkpoint")
    put(tmp_path, 3, "03:00,3")
    for _ in range(3):
        with pytest.raises(OperationalError, match="query q is an older copy: it does not know batch 2, of which sink"):
            go_on()
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.move(tmp_path / "newest", tmp_path / "checkpoint")
    go_on()
    if sink.format == "parquet":
        values = [row.x for row in spark.read.parquet(f"{tmp_path}/out").collect()]
    else:
        with sqlite3.connect(tmp_path / "out.db") as database:
            values = [x for (x,) in database.execute("SELECT x FROM out")]
    assert sorted(values) == [0, 1, 2, 3]


HOLDER = """
import sys, pathlib
from cepsql.spark.checkpoint.checkpoint_lock import lock_checkpoint
lock = lock_checkpoint(pathlib.Path(sys.argv[1]), int(sys.argv[2]) or None)
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def holder(folder: Path, epoch: int = 0):
    """Another process that holds a checkpoint."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", HOLDER, folder, str(epoch)], **pipes) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_another_process_holds_it_until_it_dies(spark, begun, copy):
    with holder(copy) as process:
        with pytest.raises(OperationalError, match=f"is in use by process {process.pid} on .*-c"):
            query(spark, begun).start(checkpoint=str(copy))
        process.kill()
        process.wait()
        assert run(query(spark, begun), copy) == [{"k": 1, "a": 2, "b": 3}]


def test_a_later_owner_takes_it_from_one_that_hangs(spark, begun, copy):
    with holder(copy, epoch=7):
        for epoch in (None, 6, 7):
            with pytest.raises(OperationalError, match="is in use by process"):
                query(spark, begun).start(checkpoint=str(copy), epoch=epoch)
        with query(spark, begun).start(checkpoint=str(copy), epoch=8) as standing:
            standing.process_available()
            with holder(copy, epoch=9):
                put(begun, 9, "59:00,9")
                with pytest.raises(OperationalError, match=f"the checkpoint {copy} was taken over by another process"):
                    standing.await_(60)
    (begun / "in" / "9.csv").unlink()


def test_a_process_that_hangs_while_it_writes_is_told(tmp_path, monkeypatch):
    lock = lock_checkpoint(tmp_path, 1)
    monkeypatch.setattr("cepsql.spark.checkpoint.file_turn._PATIENCE_SECONDS", 0.1)
    with lock.held(), pytest.raises(OperationalError, match=f"a process hangs while it writes to .* {tmp_path}, which"):
        lock_checkpoint(tmp_path, 2)
    lock_checkpoint(tmp_path, 2).release()
    lock.release()


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(OperationalError, match=f"the checkpoint {tmp_path} cannot be written: No locks available"):
        open_checkpoint(tmp_path, "a query")


def test_a_folder_that_is_moved_away_is_gone_and_not_taken_over(tmp_path):
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    lock = lock_checkpoint(folder)
    folder.rename(tmp_path / "moved")
    for remains in (False, True):
        if remains:
            # Spark makes folders of it anew.
            folder.mkdir()
        with pytest.raises(OperationalError, match=f"the checkpoint {folder} is gone"), lock.held():
            pass
    shutil.rmtree(folder)
    (tmp_path / "moved").rename(folder)
    with lock.held():
        pass
    lock.release()


def test_a_query_whose_checkpoint_is_moved_away_says_so(spark, begun, copy, tmp_path):
    with query(spark, begun).start(checkpoint=str(copy)) as standing:
        standing.process_available()
        copy.rename(tmp_path / "moved")
        put(begun, 9, "59:00,9")
        with pytest.raises(OperationalError, match=f"the checkpoint {copy} is gone"):
            standing.await_(60)
    (begun / "in" / "9.csv").unlink()


@pytest.mark.parametrize("damage", [b"", b"v1\n", b'v1\n{"nextBat'])
def test_a_damaged_last_commit_is_done_again(spark, begun, copy, caplog, damage):
    last = max((copy / "spark" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.write_bytes(damage)
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    assert run(query(spark, begun), copy) == [{"k": 1, "a": 2, "b": 3}]
    assert f"{last} is damaged: batch {last.name} is done again" in caplog.text


@pytest.mark.parametrize("log", ["offsets", "sources/0", "metadata", "../plan.json"])
def test_other_damaged_files_are_named(spark, begun, copy, log):
    place = copy / "spark" / log
    file = max(place.glob("[0-9]*"), key=lambda path: int(path.name)) if place.is_dir() else place.resolve()
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(OperationalError, match=f"{file}.* is damaged") as raised:
        run(query(spark, begun), copy)
    assert "replay the input" in raised.value.hint
    # The refused start leaves no lock behind.
    with pytest.raises(OperationalError, match="is damaged"):
        run(query(spark, begun), copy)


def in_the_middle(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + b"\xff" + content[middle + 1 :]


DAMAGES = {
    "sources/0/0": [in_the_middle, lambda content: content[:40], lambda content: b""],
    "offsets/1": [in_the_middle, lambda content: content[:40], lambda content: b""],
    "offsets/2": [in_the_middle, lambda content: content.replace(b'partitions":"2', b'partitions":"0')],
    "metadata": [
        in_the_middle,
        lambda content: content.replace(b"-", b"m"),
        lambda content: content.replace(b"id", b"ie"),
    ],
    "state/0/0/_metadata/schema": [in_the_middle, lambda content: content[:20]],
    "state/0/{}/3.delta": [in_the_middle, lambda content: content[:-30]],
}


@pytest.mark.parametrize(
    ("name", "number"),
    everyday(((name, number) for name, damages in DAMAGES.items() for number in range(len(damages))), 3),
)
def test_damage_of_any_file_is_told_as_that_of_the_checkpoint(spark, begun, copy, name, number):
    buckets = range(2) if "{}" in name else range(1)
    for file in (copy / "spark" / name.format(bucket) for bucket in buckets):
        changed = DAMAGES[name][number](file.read_bytes())
        assert changed != file.read_bytes()
        file.write_bytes(changed)
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(OperationalError) as raised:
        run(query(spark, begun), copy)
    place = str(file) if name.count("/") < 3 else str(copy)
    assert place in raised.value.message
    assert "replay the input" in raised.value.hint


def test_a_missing_file_of_the_state_is_named(spark, begun, copy):
    for delta in (copy / "spark" / "state" / "0").glob("[01]/*.*"):
        delta.unlink()
    with pytest.raises(OperationalError, match=f"the checkpoint {copy}.*state/0/.*") as raised:
        run(query(spark, begun), copy)
    assert "Exception" not in str(raised.value) and "replay the input" in raised.value.hint


def test_an_empty_file_of_the_state_is_told(spark, begun, copy):
    for delta in (copy / "spark" / "state" / "0").glob("[01]/*.delta"):
        delta.write_bytes(b"")
        (delta.parent / f".{delta.name}.crc").unlink()
    with pytest.raises(OperationalError, match=f"a file below {copy}/spark/state cannot be read") as raised:
        run(query(spark, begun), copy)
    assert "replay the input" in raised.value.hint


@pytest.fixture
def groups(spark, tmp_path, monkeypatch):
    """Groups whose state is in files, small as it is."""
    monkeypatch.setattr(checkpoint, "StateFolder", functools.partial(StateFolder, least=1))
    for number in range(3):
        put(tmp_path, number, f"0{number}:00,{number}")
    engine = cepsql.connect(spark)
    engine.sql(STREAM.format(folder=tmp_path))
    return engine.sql("SELECT k, SUM(x) AS total FROM s GROUP BY k EMIT CHANGES")


@pytest.mark.parametrize("damage", ["one byte", "gone"])
def test_damage_of_a_file_with_rows_of_keys_is_named(groups, tmp_path, damage):
    run(groups, tmp_path / "checkpoint")
    files = list((tmp_path / "checkpoint" / "spark" / "levels").iterdir())
    for file in files:
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes(in_the_middle(file.read_bytes()))
    put(tmp_path, 3, "03:00,3")
    with pytest.raises(OperationalError, match=r"levels/.* of the checkpoint cannot be read") as raised:
        run(groups, tmp_path / "checkpoint")
    assert any(str(file) in raised.value.message for file in files)
    assert "replay the input" in raised.value.hint


def test_files_of_a_first_batch_that_is_done_again_go(groups, tmp_path):
    folder = tmp_path / "checkpoint" / "spark"
    run(groups, tmp_path / "checkpoint")
    shutil.rmtree(folder)
    (folder / "levels").mkdir(parents=True)
    (folder / "levels" / "0123-1-4567").write_bytes(b"of a task that was killed")
    assert [row["total"] for row in run(groups, tmp_path / "checkpoint")] == [0, 0, 1, 1, 3]
    assert not (folder / "levels" / "0123-1-4567").exists()


def test_logs_that_are_gone_do_not_make_batches_come_again(spark, begun, copy):
    for log in ("offsets", "commits"):
        shutil.rmtree(copy / "spark" / log)
    with pytest.raises(OperationalError, match="offsets"):
        run(query(spark, begun), copy)
    assert any((copy / "spark" / "state").rglob("*.delta"))


def test_a_first_batch_that_is_committed_and_not_planned_does_not_come_again(tmp_path):
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    with pytest.raises(OperationalError, match=f"its file {tmp_path}/offsets/0 is missing"):
        check_files(tmp_path)


def test_a_first_batch_whose_planning_was_cut_short_is_planned_anew(spark, tmp_path):
    (tmp_path / "in").mkdir()
    assert run(query(spark, tmp_path), tmp_path / "checkpoint") == []
    for name in ("offsets/.0.7f7c.tmp", "offsets/..0.7f7c.tmp.crc", "state/0/_metadata/.metadata.77aa.tmp"):
        file = tmp_path / "checkpoint" / "spark" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("v1")
    put(tmp_path, 0, "00:00,0", "01:00,1", "02:00,2")
    assert run(query(spark, tmp_path), tmp_path / "checkpoint") == [{"k": 1, "a": 0, "b": 1}]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system can be mounted by root only")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    with contextlib.suppress(OSError), (folder / "filling").open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    return folder / "filling"


def test_a_full_disk_ends_the_query_and_loses_nothing(spark, begun, copy, small_disk):
    checkpoint = Path(shutil.copytree(copy, small_disk / "checkpoint"))
    tables = []
    with query(spark, begun).start(lambda rows, _: tables.append(rows), checkpoint=str(checkpoint)) as standing:
        standing.process_available()
        filling = fill(small_disk)
        put(begun, 8, "05:00,5", "06:00,6")
        said = f"the checkpoint {checkpoint} cannot be written: No space left on device"
        with pytest.raises(OperationalError, match=said):
            standing.process_available()
        with pytest.raises(OperationalError, match=said):
            standing.await_(60)
    with pytest.raises(OperationalError, match=said):
        run(query(spark, begun), checkpoint)
    filling.unlink()
    matches = [row for table in tables for row in table.to_pylist()] + run(query(spark, begun), checkpoint)
    (begun / "in" / "8.csv").unlink()
    assert [(row["a"], row["b"]) for row in matches] == [(2, 3), (4, 5)]


def test_a_full_disk_of_the_sink_is_named(spark, tmp_path, small_disk):
    put(tmp_path, 0, "00:00,0", "01:00,1", "02:00,2")
    sink = Sink("out", (), "parquet", (("path", str(small_disk / "rows")),))
    with query(spark, tmp_path).start(sink=sink, checkpoint=str(tmp_path / "checkpoint")) as standing:
        standing.process_available()
        fill(small_disk)
        put(tmp_path, 1, "05:00,5", "06:00,6")
        with pytest.raises(OperationalError) as caught:
            standing.process_available()
    assert caught.value.message == f"sink out at {small_disk}/rows cannot be written: No space left on device"


def test_a_savepoint_on_a_full_disk_says_so_in_a_line(copy, small_disk):
    shutil.copytree(copy, small_disk / "checkpoint")
    fill(small_disk)
    with pytest.raises(OperationalError) as caught:
        save_checkpoint(small_disk / "checkpoint", small_disk / "saved")
    reason = r"\[Errno 28\] No space left on device: '[^']+' -> '[^']+'"
    assert re.fullmatch(rf"the checkpoint \S+ cannot be copied to \S+/saved: {reason}", caught.value.message)


def test_a_start_that_was_cut_short_before_anything_was_kept(spark, begun, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    (checkpoint / "control").mkdir(parents=True)
    for name in ("lock", "lock.turn", ".plan.json.new"):
        (checkpoint / name).write_text("{")
    assert run(query(spark, begun), checkpoint)[:1] == [{"k": 1, "a": 0, "b": 1}]
