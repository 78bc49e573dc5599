"""Sinks that promise exactly once, killed while they write: no row is lost and none is there twice.

Who reads a view meanwhile sees the rows of whole batches, those up to its position.
"""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset
import pytest
from chance import draws, everyday, examples
from postgresql import running_postgresql
from skipping import or_skipped
from writing import PARTS, ROWS

HERE = Path(__file__).parent
KILLS = examples(12)
BATCHES = 4 * KILLS


@pytest.fixture(scope="module")
def server():
    with or_skipped(running_postgresql) as running:
        yield running.url


def written(folder: Path, format: str, url: str | None) -> list[int]:
    query = f"SELECT id FROM {folder.name} ORDER BY id"
    if format == "parquet":
        return sorted(pyarrow.dataset.dataset(folder / "out").to_table()["id"].to_pylist())
    if format in ("sqlite", "view"):
        return [number for (number,) in sqlite3.connect(folder / "out.db").execute(query)]
    import psycopg

    with psycopg.connect(url) as connection:
        return [number for (number,) in connection.execute(query).fetchall()]


@pytest.mark.parametrize("format", everyday(["postgresql", "parquet", "sqlite", "view", "view_postgresql"], 5))
def test_nothing_is_lost_or_doubled(request, tmp_path, format):
    url = request.getfixturevalue("server") if format.endswith("postgresql") else None
    folder = tmp_path / format
    folder.mkdir()
    command = [
        sys.executable,
        HERE / "writing.py",
        folder,
        format,
        str(BATCHES),
        str(KILLS),
        str(draws(format).random()),
    ]
    environment = os.environ | {"FAULTS_POSTGRESQL": url or ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert written(folder, format, url) == list(range(BATCHES * PARTS * ROWS))
    assert int(done.stdout) > 0
