"""A real Spark cluster for tests: the standalone master and two workers of the installed Spark, on loopback.

`python tests/servers/spark_cluster.py` starts it and says its URL.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from server import Unavailable, free_port, run_as_program, scratch

_SECONDS_TO_START = 90
_WORKERS = 2


@contextlib.contextmanager
def running_cluster() -> Iterator[str]:
    """Start a cluster; give its URL once its workers are there, and stop it at the end.

    Raises Unavailable if there is no Java, or it does not start.
    """
    processes = []
    with scratch("cluster") as folder, contextlib.ExitStack() as ends:

        def start(name: str, what: str, *arguments: str) -> None:
            processes.append(_started(folder / f"{name}.log", what, *arguments))
            ends.callback(_end, processes[-1])

        port = free_port()
        url = f"spark://127.0.0.1:{port}"
        web = str(free_port())
        start("master", "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", web)
        for number in range(_WORKERS):
            place = ["--host", "127.0.0.1", "--webui-port", str(free_port()), "-d", str(folder / f"worker{number}")]
            start(f"worker{number}", "worker.Worker", url, "-c", "1", "-m", "1g", *place)
        _await(folder, processes)
        yield url


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


if __name__ == "__main__":
    run_as_program(__doc__, running_cluster)
