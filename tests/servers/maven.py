"""Jars for the servers of tests, fetched with Maven into the user's cache."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from server import Unavailable, apt_install

CACHE = Path(os.environ.get("CEPSQL_TEST_CACHE") or Path.home() / ".cache" / "cepsql-tests")

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>cepsql</groupId><artifactId>tests</artifactId><version>1</version><dependencies>
{}
</dependencies></project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


def fetched(name: str, artifacts: dict[str, str], alone: bool) -> Path:
    """Return the cache folder with the jars of Maven artifacts; fetch them if they are not there.

    alone: without the artifacts' own dependencies. Raises Unavailable.
    """
    versions = "-".join(artifacts.values())
    folder = CACHE / f"{name}-{versions}"
    if folder.exists():
        return folder
    if shutil.which("mvn") is None or shutil.which("java") is None:
        raise Unavailable("there is no Maven (mvn) and Java to fetch it with")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=CACHE) as made:
        wanted = [(*key.split(":"), version, _ALONE if alone else "") for key, version in artifacts.items()]
        Path(made, "pom.xml").write_text(_POM.format("\n".join(_DEPENDENCY.format(*item) for item in wanted)))
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={made}/jars"]
        done = subprocess.run(command, cwd=made, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Unavailable(f"Maven cannot fetch {', '.join(artifacts)}: {done.stdout[-1000:]}")
        with contextlib.suppress(OSError):
            # Another process may have been quicker.
            os.rename(Path(made, "jars"), folder)
    return folder


def install_maven() -> None:
    """Install Maven by apt if it is not there."""
    if shutil.which("mvn") is None:
        apt_install("maven")
