"""Delta Lake writes each batch once: with a stand-in, and --nightly with the Spark that it is made for."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from maven import CACHE, fetched
from skipping import or_skipped

from cepsql.catalog import Sink
from cepsql.errors import OperationalError
from cepsql.sinks.spark_format import SparkSink
from cepsql.sinks.writer import WriterIdentity

SPARK, DELTA = "4.2.0", "4.3.0"
KERNEL = ("delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog")
ARTIFACTS = ("delta-spark_2.13", "delta-storage", *KERNEL)


@pytest.mark.nightly("it fetches Delta Lake and takes two minutes")
def test_a_batch_that_comes_again_is_not_written_again(tmp_path):
    with or_skipped(_jars) as jars:
        for number in range(2):
            _put(tmp_path, number)
        assert _run(tmp_path, jars, "die") is None
        assert _run(tmp_path, jars) == [[[1, 2], [3, 4]], 2]
        shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
        _put(tmp_path, 2)
        assert _run(tmp_path, jars, "repeat")[0] == [[1, 2], [3, 4], [5, 6]]
        shutil.rmtree(tmp_path / "checkpoint")
        shutil.move(tmp_path / "copy", tmp_path / "checkpoint")
        _put(tmp_path, 3)
        assert "an older copy: it does not know batch" in _run(tmp_path, jars, "fail")[0]


@pytest.mark.nightly("it fetches Delta Lake and takes two minutes")
def test_a_table_that_is_away_is_not_made_anew(tmp_path):
    table, away = tmp_path / "pairs", tmp_path / "away"
    with or_skipped(_jars) as jars:
        _put(tmp_path, 0)
        assert _run(tmp_path, jars) == [[[1, 2]], 1]
        shutil.move(table, away)
        _put(tmp_path, 1)
        assert "lacks the record of what query rises has written" in _run(tmp_path, jars, "fail")[0]
        assert not table.exists()
        shutil.move(away, table)
        assert _run(tmp_path, jars) == [[[1, 2], [3, 4]], 2]


class Table:
    """Stands for Delta Lake: the last batch of each writer in a file below the folder of a table, made if missing."""

    def __init__(self, folder: Path, monkeypatch):
        self.folder, self.file, self.before_write = folder, folder / "_delta_log" / "last", lambda: None
        monkeypatch.setattr("cepsql.sinks.spark_format.last_transaction", lambda *_: self.last)
        monkeypatch.setattr(SparkSink, "_writer", lambda *_: self)

    @property
    def last(self):
        return int(self.file.read_text()) if self.file.exists() else -1

    def option(self, name, value):
        self.number = value if name == "txnVersion" else None
        return self

    def save(self):
        self.before_write()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(str(self.number))


def _started(table: Table, checkpoint: str | None) -> SparkSink:
    """Return the sink as a start of the query has it; `checkpoint` is the record_id."""
    sink = Sink("pairs", (), "delta", options=(("path", str(table.folder)),))
    spark_sink = SparkSink(sink, WriterIdentity("rises", 1, "checkpoint"))
    spark_sink.record_id, spark_sink.planned = checkpoint, 10
    return spark_sink


FRAME = Mock(**{"persist.return_value.count.return_value": 3})


def test_a_table_without_its_record_is_refused(tmp_path, monkeypatch):
    table = Table(tmp_path / "pairs", monkeypatch)
    sink = _started(table, None)
    assert sink.place == f"delta {table.folder}"
    assert not sink.recorded and sink.write(FRAME, 0) == 3 and sink.recorded
    assert _started(table, "checkpoint").write(FRAME, 1) == 3
    shutil.move(table.folder, tmp_path / "away")
    with pytest.raises(OperationalError, match="lacks the record of what query rises has written"):
        _started(table, "checkpoint").write(FRAME, 2)
    assert not table.folder.exists()
    # So it is while the query runs: at the start of a batch, and in the middle of one.
    with pytest.raises(OperationalError, match="lacks the record"):
        sink.write(FRAME, 2)
    assert not table.folder.exists()
    shutil.move(tmp_path / "away", table.folder)
    table.before_write = lambda: shutil.move(table.folder, tmp_path / "away")
    with pytest.raises(OperationalError, match="lacks the record"):
        sink.write(FRAME, 2)
    shutil.rmtree(table.folder)
    shutil.move(tmp_path / "away", table.folder)
    table.before_write = lambda: None
    assert table.last == 1 and _started(table, "checkpoint").write(FRAME, 2) == 3


def test_a_table_on_an_object_store_is_refused_by_its_record(tmp_path, monkeypatch):
    table = Table(tmp_path / "pairs", monkeypatch)
    sink = Sink("pairs", (), "delta", options=(("path", "s3a://bucket/pairs"),))
    spark_sink = SparkSink(sink, WriterIdentity("rises", 1, "checkpoint"))
    spark_sink.record_id = "checkpoint"
    with pytest.raises(OperationalError, match="the table s3a://bucket/pairs lacks the record"):
        spark_sink.write(FRAME, 2)
    assert spark_sink.place == "delta s3a://bucket/pairs" and not table.folder.exists()


@contextlib.contextmanager
def _jars() -> Iterator[str]:
    """Lend the jars of Delta Lake, as `or_skipped` asks for them."""
    folder = fetched("delta", {f"io.delta:{name}": DELTA for name in ARTIFACTS}, alone=True)
    yield ",".join(map(str, sorted(folder.glob("*.jar"))))


def _put(folder: Path, number: int) -> None:
    path = folder / "in" / f"{number}.csv"
    path.parent.mkdir(exist_ok=True)
    rows = [f"a,2026-01-01 00:{number:02}:0{i},{2 * number + 1 + i}\n" for i in range(2)]
    path.write_text("".join(rows))
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def _run(folder: Path, jars: str, *fault: str) -> list | None:
    """Return the rows of the table and how many rows the query has written, None if the process killed itself."""
    script = Path(__file__).parent / "run_delta.py"
    path = os.pathsep.join([str(_pyspark()), str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, script, folder, jars, *fault],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=200,
        stdin=subprocess.DEVNULL,
    )
    if fault == ("die",):
        assert done.returncode == -9, done.stderr[-3000:]
        return None
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def _pyspark() -> Path:
    """Return a folder with that PySpark, installed with pip into the user's cache."""
    folder = CACHE / f"pyspark-{SPARK}"
    if not folder.exists():
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        packages = [f"pyspark=={SPARK}", "py4j==0.10.9.9"]
        subprocess.run([sys.executable, *install, "--target", str(folder), *packages], check=True, timeout=600)
    return folder
