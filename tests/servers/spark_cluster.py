"""A real Spark cluster for tests: the standalone master and two workers of the installed Spark, on loopback.

`python tests/servers/spark_cluster.py` starts one, says its URL, and stops it at Ctrl-C.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_SECONDS_TO_START = 90
_WORKERS = 2


class Unavailable(Exception):
    """A cluster cannot be had on this machine."""


@contextlib.contextmanager
def running_cluster() -> Iterator[str]:
    """Start a cluster; give its URL once its workers are there, and stop it at the end.

    Raises Unavailable if there is no Java, or it does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="cepsql-cluster-"))
    processes: list[subprocess.Popen] = []
    try:
        port = _free_port()
        url = f"spark://127.0.0.1:{port}"
        web = str(_free_port())
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", web]
        processes.append(_started(folder / "master.log", "master.Master", *arguments))
        for number in range(_WORKERS):
            place = ["--host", "127.0.0.1", "--webui-port", str(_free_port()), "-d", str(folder / f"worker{number}")]
            log = folder / f"worker{number}.log"
            processes.append(_started(log, "worker.Worker", url, "-c", "1", "-m", "1g", *place))
        _await(folder, processes)
        yield url
    finally:
        for process in reversed(processes):
            _end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _started(log: Path, name: str, *arguments: str) -> subprocess.Popen:
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments]
    with log.open("wb") as output:
        # A group of its own: executors are children of the workers.
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
        )


def _await(folder: Path, processes: list[subprocess.Popen]) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    logs = [folder / f"worker{number}.log" for number in range(_WORKERS)]
    while not all("Successfully registered with master" in log.read_text(errors="replace") for log in logs):
        if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
            said = "\n".join(log.read_text(errors="replace")[-1000:] for log in (folder / "master.log", *logs))
            raise Unavailable(f"the cluster did not start: {said}")
        time.sleep(0.2)


def _end(process: subprocess.Popen) -> None:
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
            return


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with running_cluster() as found:
        print(found, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
