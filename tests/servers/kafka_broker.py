"""A real Kafka broker for tests: fetched with Maven into the user's cache, one process in KRaft mode on loopback.

`python tests/servers/kafka_broker.py` fetches what is missing, starts a broker, says where it listens, and stops it at
Ctrl-C; with `--install` it only fetches, with Maven, which it installs by apt if it is not there.
"""

import argparse
import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from maven import Unavailable, fetched, install_maven

_BROKER = {"org.apache.kafka:kafka_2.13": "4.1.0"}
_CONNECTOR = {
    # The token provider has no version of its own for each Spark; its dependencies and the connector's are named here.
    "org.apache.spark:spark-sql-kafka-0-10_2.13": "4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13": "4.0.0",
    "org.apache.kafka:kafka-clients": "3.9.1",
    "org.apache.commons:commons-pool2": "2.12.0",
}
_SECONDS_TO_START = 60
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={logs}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
message.max.bytes=20000000
replica.fetch.max.bytes=20000000
"""


@contextlib.contextmanager
def running_broker() -> Iterator[str]:
    """Start a broker; give its address `127.0.0.1:port` once it answers, and stop it at the end.

    Raises Unavailable if there is no Java, Maven cannot fetch Kafka, or it does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="cepsql-kafka-"))
    try:
        broker = Broker(folder)
        broker.start()
        try:
            yield broker.address
        finally:
            broker.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Broker:
    """A broker whose data are in a folder: it can be stopped and started again on the same port."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.port, controller = _free_port(), _free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._class_path = f"{fetched('kafka-broker', _BROKER, alone=False)}/*"
        self._properties = folder / "server.properties"
        self._properties.write_text(_PROPERTIES.format(port=self.port, controller=controller, logs=folder / "logs"))
        self._process: subprocess.Popen | None = None
        cluster = self._java("kafka.tools.StorageTool", "random-uuid").stdout.split()[-1]
        self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._properties))

    def start(self) -> None:
        """Start the process and wait until it listens. Raises Unavailable if it does not."""
        command = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", self._class_path, "kafka.Kafka", self._properties]
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        said = (self.folder / "broker.log").read_text(errors="replace")[-2000:]
        self.stop()
        raise Unavailable(f"the broker did not start: {said}")

    def stop(self) -> None:
        """End the process that `start` started."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _java(self, *arguments: str) -> subprocess.CompletedProcess:
        command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", self._class_path, *arguments]
        try:
            return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as failure:
            raise Unavailable(f"Kafka's tools do not run: {failure}") from failure


def connector_jars() -> str:
    """Return the jars of Spark's Kafka connector as `spark.jars` takes them. Raises Unavailable."""
    return ",".join(map(str, sorted(fetched("kafka-connector", _CONNECTOR, alone=True).glob("*.jar"))))


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def _install() -> None:
    install_maven()
    print(fetched("kafka-broker", _BROKER, alone=False))
    print(connector_jars())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="only fetch the broker and Spark's connector")
    try:
        if parser.parse_args().install:
            _install()
        else:
            with running_broker() as address, contextlib.suppress(KeyboardInterrupt):
                print(address, flush=True)
                signal.pause()
    except Unavailable as reason:
        sys.exit(f"no Kafka: {reason}")
