"""Delta Lake writes each batch once, with the Spark that it is made for; --nightly, for it is fetched first."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from maven import CACHE, fetched
from skipping import or_skipped

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
