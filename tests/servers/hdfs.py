"""A real HDFS for tests: a name node and a data node of Apache Hadoop in one process, on loopback.

Maven fetches Hadoop. `python tests/servers/hdfs.py` starts it and says its URL.
"""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from maven import fetched, install_maven
from server import Unavailable, ending, run_as_program, scratch

_ASSERTIONS = {"org.junit.jupiter:junit-jupiter-api": "5.11.4"}
"""What the cluster's class loads besides."""
_SECONDS_TO_START = 90


@contextlib.contextmanager
def running_hdfs() -> Iterator[str]:
    """Start a cluster; give its URL `hdfs://127.0.0.1:port` once it answers, and stop it at the end.

    Raises Unavailable if there is no Java, Maven cannot fetch Hadoop, or it does not start.
    """
    with scratch("hdfs") as folder:
        log, details = folder / "log", folder / "details.json"
        with log.open("wb") as output:
            process = subprocess.Popen(
                _command(folder, details), cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            yield f"hdfs://127.0.0.1:{_port(process, details, log)}"
        finally:
            # Nothing of it is kept.
            process.kill()
            process.wait()


def _command(folder: Path, details: Path) -> list[str]:
    class_path = f"{_cluster()}/*:{fetched('hdfs-assertions', _ASSERTIONS, alone=False)}/*:{_spark_jars()}/*"
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path]
    places = [f"-D{name}={folder}" for name in ("test.build.data", "hadoop.log.dir", "hdfs.minidfs.basedir")]
    cluster = ["org.apache.hadoop.test.MiniDFSClusterManager", "-format", "-datanodes", "1"]
    ports = ["-nnport", "0", "-httpport", "0", "-writeDetails", str(details), "-D", "dfs.permissions.enabled=false"]
    return [*java, *places, *cluster, *ports]


def _port(process: subprocess.Popen, details: Path, log: Path) -> int:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            return json.loads(details.read_text())["namenode_port"]
        time.sleep(0.1)
    raise Unavailable(f"HDFS did not start: {ending(log)}")


def _cluster() -> Path:
    """Return the folder with Hadoop's cluster in one jar, of the version that Spark brings."""
    (client,) = _spark_jars().glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    return fetched("hdfs", {"org.apache.hadoop:hadoop-client-minicluster": version}, alone=True)


def _spark_jars() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent / "jars"


def _install() -> None:
    install_maven()
    print(_cluster())
    print(fetched("hdfs-assertions", _ASSERTIONS, alone=False))


if __name__ == "__main__":
    run_as_program(__doc__, running_hdfs, _install)
