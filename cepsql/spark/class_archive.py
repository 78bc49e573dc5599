"""An archive of the classes that Spark loads when it starts, with which Java needs half the time (Java's AppCDS)."""

import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from cepsql.errors import SessionError
from cepsql.spark.java import cache_folder, ensure_java, java_executable

_WARM = """
import sys
from cepsql.engine import connect
from cepsql.testing import play
from pyspark import SparkContext

engine = connect(master="local[2]", conf={"spark.driver.extraJavaOptions": "-XX:ArchiveClassesAtExit=" + sys.argv[1]})
engine.query("SELECT count(*) AS n, sum(id) FROM range(10) GROUP BY id % 2 ORDER BY n").arrow()
list(engine.query("SELECT id FROM range(20000)").pieces())
play(
    "CREATE STREAM s (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv;"
    "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES B.x AS x PATTERN (A B) DEFINE B AS x > A.x)",
    [[("a", "2026-01-01 00:00:01", 1)]], spark=engine.spark,
)
java = SparkContext._gateway.proc
engine.close()
java.stdin.close()
java.wait()
"""


def archive_file() -> Path:
    """Return where the archive for this Spark and this Java is kept, whether it is there or not."""
    java = re.sub(r"\W+", "-", os.path.realpath(java_executable())).strip("-")
    return cache_folder() / f"classes-spark-{version('pyspark')}-{java}.jsa"


def archive_options() -> str:
    """Return the options of Java that use the archive, "" if there is none. Java ignores one that does not fit."""
    path = archive_file()
    return f"-XX:SharedArchiveFile={path} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off" if path.exists() else ""


def make_archive() -> Path:
    """Make the archive, in a minute or so: run Spark once in a process of its own, and keep what it loaded.

    Raises SessionError if that fails.
    """
    ensure_java()
    path = archive_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / "classes.jsa"
        run = subprocess.run([sys.executable, "-c", _WARM, str(made)], capture_output=True, text=True, check=False)
        if run.returncode or not made.exists():
            raise SessionError("the archive of classes could not be made", detail=run.stderr)
        os.replace(made, path)
    return path
