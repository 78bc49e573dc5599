"""Send records and confirm their delivery."""

from collections.abc import Iterable, Mapping

from cepsql.errors import Error

_SECONDS_TO_ANSWER = 10
_DEFAULTS = {
    "enable.idempotence": True,
    "linger.ms": 20,
    "message.timeout.ms": 30_000,
    "queue.buffering.max.messages": 200_000,
    "log_level": 0,
}


class TopicMissing(Exception):
    """The topic is missing."""


class Undelivered(Exception):
    """Kafka has not accepted a record; `passing`: a retry may succeed."""

    def __init__(self, said: str, passing: bool):
        super().__init__(said)
        self.passing = passing


class Producer:
    """A connection for sending; it contacts no broker before the first record.

    Raises ImportError if confluent-kafka is not installed.
    """

    def __init__(self, client: Mapping[str, str]):
        import confluent_kafka

        from cepsql.readers.kafka.cluster import silent_logger

        self._servers = client["bootstrap.servers"]
        self._producer = confluent_kafka.Producer(_DEFAULTS | dict(client), logger=silent_logger())

    def check(self, topic: str) -> None:
        """Raise TopicMissing if the topic is missing, Undelivered if no broker answers."""
        from confluent_kafka import KafkaException

        try:
            topics = self._producer.list_topics(topic, timeout=_SECONDS_TO_ANSWER).topics
        except KafkaException as failure:
            raise self._undelivered(failure.args[0]) from failure
        if topic not in topics or topics[topic].error is not None:
            raise TopicMissing(f"Kafka at {self._servers} has no topic {topic}")

    def send(self, topic: str, records: Iterable[tuple[str | None, str | None]]) -> int:
        """Send records, key and value, None for a tombstone; return their number when all are delivered.

        Raises Undelivered if one is not delivered; others may be.
        """
        from confluent_kafka import KafkaException

        failed: list = []

        def delivered(error, _) -> None:
            if error is not None:
                failed.append(error)

        number = 0
        try:
            for key, value in records:
                self._produce(topic, key, value, delivered)
                number += 1
                if failed:
                    break
            self._producer.flush()
        except KafkaException as failure:
            raise self._undelivered(failure.args[0]) from failure
        if failed:
            raise self._undelivered(failed[0])
        return number

    def _produce(self, topic: str, key: str | None, value: str | None, delivered) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, on_delivery=delivered)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _undelivered(self, error) -> Undelivered:
        from confluent_kafka import KafkaError

        from cepsql.readers.kafka.cluster import PASSING, kafka_failure

        failure: Error = kafka_failure(error, self._servers)
        return Undelivered(failure.message, error.code() in (*PASSING, KafkaError._MSG_TIMED_OUT))
