"""Read ranges of records with confluent-kafka."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from cepsql.errors import OperationalError
from cepsql.kafka.cluster import PATIENCE_SECONDS, kafka_failure, may_pass, silent_logger
from cepsql.kafka.ranges import Range

_AT_ONCE = 10_000
_POLL_SECONDS = 0.5
_SETTINGS = {
    "group.id": "cepsql",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A range may end in offsets that hold no record, such as the marks of transactions: only the end tells then.
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": 100,
    # By default a partition whose records are not taken as fast as they come rests for a second.
    "fetch.queue.backoff.ms": 5,
    "max.partition.fetch.bytes": 8 * 2**20,
    "log_level": 0,
}

_LOST = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
_PLACES = (KafkaError._PARTITION_EOF, *_LOST)
"""Codes that say something of the place in a partition."""

_consumers: dict[tuple, Consumer] = {}
"""Consumers of this process by their settings: Spark's workers live on, and need not connect for each micro-batch."""


def read_ranges(
    client: Mapping[str, str], ranges: Sequence[Range], fail_on_loss: bool = True
) -> Generator[list[Message], None, None]:
    """Yield the records of ranges, each list from one partition, in the order of their offsets.

    client: settings of librdkafka.
    Raises OperationalError if records are gone and `fail_on_loss`, or no broker answers for two minutes.
    """
    consumer = _consumer(client)
    try:
        for part in ranges:
            yield from _read_range(consumer, client, part, fail_on_loss)
    finally:
        consumer.unassign()


def offset(message: Message) -> int:
    """Return the offset of a message that came from a broker."""
    found = message.offset()
    assert found is not None
    return found


def _consumer(client: Mapping[str, str]) -> Consumer:
    key = tuple(sorted(client.items()))
    if key not in _consumers:
        _consumers[key] = Consumer(_SETTINGS | dict(client), logger=silent_logger())
    return _consumers[key]


def _read_range(
    consumer: Consumer, client: Mapping[str, str], part: Range, fail_on_loss: bool
) -> Iterator[list[Message]]:
    servers = client["bootstrap.servers"]
    position, heard, said = part.begin, time.monotonic(), OperationalError(f"no Kafka broker answers at {servers}")
    place = TopicPartition(part.topic, part.partition, position)
    consumer.assign([place])
    sure = False
    while position < part.end:
        messages = consumer.consume(min(_AT_ONCE, part.end - position), _POLL_SECONDS)
        records = [message for message in messages if message.error() is None]
        if records and not sure:
            sure = True
            if offset(records[0]) != position or records[0].partition() != part.partition:
                # The first offsets may be gone, or marks of transactions. But on a busy machine the first record of a
                # range was seen missing that was there: what is really there comes the second time.
                consumer.assign([place])
                continue
        if records:
            position = offset(records[-1]) + 1
            if position > part.end:
                records = [record for record in records if offset(record) < part.end]
            if records:
                yield records
            # Whoever takes the records may have taken long.
            heard = time.monotonic()
        for event in messages:
            error = event.error()
            if error is not None and error.code() not in _PLACES and may_pass(error):
                said = kafka_failure(error, servers)
            elif error is not None:
                position = _after_event(consumer, servers, part, position, event, fail_on_loss)
        if time.monotonic() - heard > PATIENCE_SECONDS:
            raise said


def _after_event(
    consumer: Consumer, servers: str, part: Range, position: int, event: Message, fail_on_loss: bool
) -> int:
    """Return where to read on after what is no record: the end of the partition, or an error."""
    error = event.error()
    assert error is not None
    if error.code() == KafkaError._PARTITION_EOF:
        if offset(event) < part.end and fail_on_loss:
            raise _lost(part, offset(event), part.end)
        return part.end
    if error.code() in _LOST:
        first, _ = consumer.get_watermark_offsets(TopicPartition(part.topic, part.partition), PATIENCE_SECONDS)
        if fail_on_loss:
            raise _lost(part, position, min(first, part.end) if first > position else part.end)
        if first <= position:
            return part.end
        consumer.assign([TopicPartition(part.topic, part.partition, first)])
        return first
    raise kafka_failure(error, servers)


def _lost(part: Range, begin: int, end: int) -> OperationalError:
    return OperationalError(
        f"records of {part.topic}, partition {part.partition}, are gone from Kafka: offsets {begin} to {end - 1}",
        hint="the option failOnDataLoss false goes on without them",
    )
