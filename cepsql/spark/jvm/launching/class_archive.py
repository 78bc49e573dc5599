"""An archive of the classes that Spark loads when it starts, with which Java needs half the time.

It is an AOT cache (JEP 514) from Java 25 on, which needs nothing else. Before, it is a dynamic AppCDS archive, for
which Java must have come with one of its own classes.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from cepsql.base.private_files import is_private
from cepsql.errors import SessionError
from cepsql.spark.jvm.launching.java import cache_folder, ensure_java, java_executable, java_version

_ROOM_BYTES = 2 * 2**30
_AGAIN_SECONDS = 24 * 3600
_FIRST_WITH_CACHE = 25
_IS_GIVEN = ("ArchiveClassesAtExit", "SharedArchiveFile", "AOTCache", "AOTMode")
"""What options of Java have in their names that are about an archive."""

_LATER = """
import os, pathlib, sys
from cepsql.spark.jvm.launching.class_archive import make_archive

os.nice(19)
make_archive()
pathlib.Path(sys.argv[1]).unlink(missing_ok=True)
"""

_WARM = """
import sys
import tempfile
from pathlib import Path
from cepsql.engine import connect
from cepsql.testing import play
from pyspark import SparkContext

engine = connect(master="local[2]", conf={"spark.driver.extraJavaOptions": sys.argv[1]})
engine.query("SELECT count(*) AS n, sum(id) FROM range(10) GROUP BY id % 2 ORDER BY n").arrow()
list(engine.query("SELECT id FROM range(20000)").pieces())
play(
    "CREATE STREAM s (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv;"
    "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES B.x AS x PATTERN (A B) DEFINE B AS x > A.x)",
    [[("a", "2026-01-01 00:00:01", 1)]], spark=engine.spark,
)
with tempfile.TemporaryDirectory() as folder:
    files, rows = Path(folder, "files"), Path(folder, "rows")
    files.mkdir()
    (files / "a.csv").write_text("1,2026-01-01 00:00:01,3" + chr(10))
    engine.sql(f"CREATE STREAM s (k INT, ts TIMESTAMP, x INT) USING csv OPTIONS (path '{files}')")
    engine.sql(f"CREATE SINK r USING csv OPTIONS (path '{rows}')")
    engine.sql("INSERT INTO r SELECT a.k, count(*) AS n FROM s a JOIN s b ON a.k = b.k GROUP BY a.k EMIT CHANGES")
java = SparkContext._gateway.proc
engine.close()
java.stdin.close()
java.wait()
"""


def archive_file() -> Path:
    """Return where the archive for this Spark and this Java, as they are installed now, is kept, if there is one."""
    java, jars = Path(os.path.realpath(java_executable())), _jars()
    place = hashlib.sha256(f"{java} {jars}".encode()).hexdigest()[:8]
    made = hashlib.sha256(f"{_changed(java)} {_changed(jars)}".encode()).hexdigest()[:8]
    ending = "aot" if (java_version(java_executable()) or 0) >= _FIRST_WITH_CACHE else "jsa"
    return cache_folder() / f"classes-spark-{version('pyspark')}-{place}-{made}.{ending}"


def _jars() -> Path:
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "jars"


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def archive_options() -> str:
    """Return the options of Java that use the archive, "" if there is none. Java ignores one that does not fit."""
    path = archive_file()
    # Java runs what is in it.
    if not is_private(path):
        return ""
    if path.suffix == ".aot":
        return f"-XX:AOTCache={path} -XX:AOTMode=auto -Xlog:aot=off -Xlog:cds=off"
    return f"-XX:SharedArchiveFile={path} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"


def has_archive_option(options: str) -> bool:
    """Tell whether options of Java say what archive to use or to make."""
    return any(name in options for name in _IS_GIVEN)


def make_archive() -> Path:
    """Make the archive, in a minute or so: run Spark once in a process of its own, and keep what it loaded.

    Raises SessionError if that fails.
    """
    ensure_java()
    path = archive_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in path.parent.glob(f"{path.stem.rpartition('-')[0]}-*{path.suffix}"):
        old.unlink()
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="making-") as folder:
        made = Path(folder) / path.name
        option = f"-XX:{'AOTCacheOutput' if path.suffix == '.aot' else 'ArchiveClassesAtExit'}={made}"
        run = subprocess.run([sys.executable, "-c", _WARM, option], capture_output=True, text=True, check=False)
        if run.returncode or not made.exists():
            raise SessionError(
                f"{java_executable()} made no archive of classes",
                hint="Spark works as well without one, only that it starts later",
                detail=run.stderr,
            )
        os.replace(made, path)
    return path


def make_archive_later() -> Path | None:
    """Let a process of its own, which outlives this one and gives way to others, make the archive if there is none.

    Nothing is done where there is little room, and for a day after a process has begun it that did not come to its end.
    Return where the archive will be, None if nothing is done.
    """
    path = archive_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() or shutil.disk_usage(path.parent).free < _ROOM_BYTES:
            return None
        marker = path.with_suffix(".making")
        if marker.exists() and time.time() - marker.stat().st_mtime < _AGAIN_SECONDS:
            return None
        marker.touch()
        subprocess.Popen(
            [sys.executable, "-P", "-c", _LATER, str(marker)], start_new_session=True, cwd=path.parent,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        # Without an archive all works as well, only that it starts later.
        return None
    return path
