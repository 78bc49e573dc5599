"""The same bounded queries through a server of Spark Connect as in one process; what it cannot do is refused."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

import cepsql
from cepsql.spark.frames.frame_sql import _template

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from maven import CACHE
from ticks import write_ticks


class RemoteSession:
    """As far as a session is asked before it is found to be remote: it has no JVM."""

    class catalog:
        @staticmethod
        def functionExists(name):
            return True


def test_a_standing_query_is_refused():
    engine = cepsql.connect(RemoteSession())
    engine.sql("CREATE STREAM s (a INT, at TIMESTAMP, WATERMARK FOR at AS at) USING json OPTIONS (path '/in')")
    with pytest.raises(cepsql.NotSupportedError, match="a standing query over Spark Connect is not supported"):
        engine.sql("SELECT a FROM s").start()


def test_names_of_frames_become_places_in_sql():
    assert _template("SELECT '{x}' FROM `f_1` JOIN f_12 ON f_1x", {"f_1": None, "f_12": None}) == (
        "SELECT '{{x}}' FROM {f_1} JOIN {f_12} ON f_1x"
    )


@pytest.mark.nightly("it takes a minute")
def test_bounded_queries_give_what_one_process_gives(tmp_path):
    packages = _client_packages()
    local, remote = (_run(mode, tmp_path / mode, packages) for mode in ("local", "connect"))
    refused = remote.pop("refused")
    assert local.pop("refused") == ["", ""]
    assert all("a standing query over Spark Connect is not supported" in said for said in refused)
    assert all(local.values()) and remote == local


def _client_packages() -> Path:
    """Return a folder with what PySpark needs for Spark Connect besides, installed with pip into the user's cache."""
    wanted = [entry for entry in requires("pyspark") if 'extra == "connect"' in entry]
    names = sorted(entry.partition(";")[0].strip() for entry in wanted if re.match("grpc|googleapis|zstandard", entry))
    folder = CACHE / "connect-{}.{}".format(*sys.version_info[:2])
    if not folder.exists():
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(folder), *names]
        subprocess.run([sys.executable, *install], check=True, timeout=300)
    return folder


def _run(mode: str, folder: Path, packages: Path) -> dict:
    write_ticks(folder / "in")
    script = Path(__file__).parent / "run_bounded.py"
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(packages)]))
    done = subprocess.run(
        [sys.executable, script, mode, folder],
        env=os.environ | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
