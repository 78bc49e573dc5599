"""A real Kafka broker for tests: one process in KRaft mode on loopback.

Maven fetches Kafka and Spark's connector. `python tests/servers/kafka_broker.py` starts it and says its address.
"""

import base64
import contextlib
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from maven import fetched, install_maven
from server import Unavailable, ending, free_port, run_as_program, scratch

_BROKER = {"org.apache.kafka:kafka_2.13": "4.1.0"}
_CONNECTOR = {
    # The token provider has no version of its own for each Spark; its dependencies and the connector's are named here.
    "org.apache.spark:spark-sql-kafka-0-10_2.13": "4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13": "4.0.0",
    "org.apache.kafka:kafka-clients": "3.9.1",
    "org.apache.commons:commons-pool2": "2.12.0",
}
_SECONDS_TO_START = 60
_JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
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
log.retention.ms=-1
"""


@contextlib.contextmanager
def running_broker() -> Iterator[str]:
    """Start a broker; give its address `127.0.0.1:port` once it answers, and stop it at the end.

    Raises Unavailable if there is no Java, Maven cannot fetch Kafka, or it does not start.
    """
    with scratch("kafka") as folder:
        broker = Broker(folder)
        broker.start()
        try:
            yield broker.address
        finally:
            broker.stop()


class Broker:
    """A broker whose data are in a folder: it can be stopped and started again on the same port."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.port, controller = free_port(), free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._class_path = f"{fetched('kafka-broker', _BROKER, alone=False)}/*"
        self._properties = folder / "server.properties"
        self._properties.write_text(_PROPERTIES.format(port=self.port, controller=controller, logs=folder / "logs"))
        self._process: subprocess.Popen | None = None
        # Kafka writes such numbers in the digits of URLs, and takes what begins with - for an option.
        cluster = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
        self._format(cluster)

    def start(self) -> None:
        """Start the process and wait until it listens. Raises Unavailable if it does not."""
        command = [*_JAVA, "-Xmx512m", "-cp", self._class_path, "kafka.Kafka", self._properties]
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        self.stop()
        raise Unavailable(f"the broker did not start: {ending(self.folder / 'broker.log')}")

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

    def _format(self, cluster: str) -> None:
        command = [*_JAVA, "-cp", self._class_path, "kafka.tools.StorageTool", "format", "-t", cluster, "-c"]
        try:
            subprocess.run([*command, self._properties], check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as failure:
            raise Unavailable(f"Kafka's tools do not run: {failure}") from failure


def connector_jars() -> str:
    """Return the jars of Spark's Kafka connector as `spark.jars` takes them. Raises Unavailable."""
    return ",".join(map(str, sorted(fetched("kafka-connector", _CONNECTOR, alone=True).glob("*.jar"))))


def _install() -> None:
    install_maven()
    print(fetched("kafka-broker", _BROKER, alone=False))
    print(connector_jars())


if __name__ == "__main__":
    run_as_program(__doc__, running_broker, _install)
