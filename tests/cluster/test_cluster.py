"""The same queries on a Spark cluster as in one process; run with --nightly."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from skipping import or_skipped
from spark_cluster import running_cluster
from ticks import write_ticks


@pytest.mark.nightly("it takes a minute")
def test_a_cluster_gives_what_one_process_gives(tmp_path):
    local = _run("local[2]", tmp_path / "local")
    assert all(local.values()) and all(rows for _, rows in (local["rises"], local["chain"], local["over"]))
    with or_skipped(running_cluster) as url:
        assert _run(url, tmp_path / "cluster") == local


def _run(master: str, folder: Path) -> dict:
    """Return what queries give over the same files, which are written for each run."""
    write_ticks(folder / "in")
    script = Path(__file__).parent / "run_query.py"
    done = subprocess.run(
        [sys.executable, script, master, folder], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
