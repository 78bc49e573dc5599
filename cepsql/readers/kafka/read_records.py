"""Read ranges of records with confluent-kafka."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from cepsql.errors import OperationalError
from cepsql.readers.kafka.cluster import PATIENCE_SECONDS, kafka_failure, may_pass, silent_logger
from cepsql.readers.kafka.ranges import Range, read_together

_AT_ONCE = 10_000
_POLL_SECONDS = 0.5
_SETTINGS = {
    "group.id": "cepsql",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A range may end in offsets without records, such as transaction markers: then only the end is reported.
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": 10,
    # By default, a partition pauses for a second if its records are consumed too slowly.
    "fetch.queue.backoff.ms": 5,
    "max.partition.fetch.bytes": 8 * 2**20,
    "log_level": 0,
}

_LOST = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
_PLACES = (KafkaError._PARTITION_EOF, *_LOST)
"""Codes that concern the position in a partition."""

_consumers: dict[tuple, Consumer] = {}
"""Consumers of this process by settings: Spark's workers are reused, and need not connect for each micro-batch."""

_MOST_WAITING = 64 * 2**20
"""The maximum number of bytes of records that wait for those of earlier ranges."""

_sparse: set[tuple[str, str, int]] = set()
"""Partitions, by servers, topic and number, that have offsets without records."""


def read_ranges(
    client: Mapping[str, str], ranges: Sequence[Range], fail_on_loss: bool = True
) -> Generator[list[Message], None, None]:
    """Yield the records of ranges, one range after another, each list in the order of the offsets of one partition.

    client: settings of librdkafka.
    Raises OperationalError if records are missing and `fail_on_loss`, or no broker answers for two minutes.
    """
    consumer = _consumer(client)
    try:
        for group in read_together(ranges, _AT_ONCE):
            yield from _Group(consumer, client["bootstrap.servers"], group, fail_on_loss).records()
    finally:
        consumer.unassign()


def offset(message: Message) -> int:
    """Return the offset of a message from a broker."""
    number = message.offset()
    assert number is not None
    return number


def _consumer(client: Mapping[str, str]) -> Consumer:
    key = tuple(sorted(client.items()))
    if key not in _consumers:
        _consumers[key] = Consumer(_SETTINGS | dict(client), logger=silent_logger())
    return _consumers[key]


@dataclass
class _RangePosition:
    """The progress of reading a range.

    position: the next offset.
    lists:    records that wait for those of earlier ranges.
    doubted:  the position from which records were requested again, or None.
    """

    range: Range
    position: int
    lists: list[list[Message]] = field(default_factory=list)
    doubted: int | None = None

    @property
    def left(self) -> int:
        """The number of remaining offsets."""
        return max(0, self.range.end - self.position)

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition, to be read from the position."""
        return TopicPartition(self.range.topic, self.range.partition, self.position)


class _Group:
    """Ranges of some partitions of one topic, read concurrently, or one by one if too many records would wait."""

    def __init__(self, consumer: Consumer, servers: str, ranges: Sequence[Range], fail_on_loss: bool):
        self._consumer, self._servers, self._fail_on_loss = consumer, servers, fail_on_loss
        self._topic = ranges[0].topic
        self._places = [_RangePosition(part, part.begin) for part in ranges]
        self._assigned: list[_RangePosition] = []
        self._together = True
        self._silent_seconds, self._said = 0.0, OperationalError(f"no Kafka broker answers at {servers}")

    def records(self) -> Iterator[list[Message]]:
        """Yield the records of one range after another."""
        self._assign()
        for place in self._places:
            if place.left and not self._together:
                self._assign()
            while place.lists or place.left:
                if place.lists:
                    yield place.lists.pop(0)
                else:
                    self._poll()

    def _assign(self) -> None:
        unread = [place for place in self._places if place.left]
        self._assigned = unread if self._together else unread[:1]
        self._consumer.assign([place.topic_partition for place in self._assigned])

    def _poll(self) -> None:
        begun, wanted = time.monotonic(), sum(place.left for place in self._assigned)
        messages = self._consumer.consume(min(_AT_ONCE, wanted), _POLL_SECONDS)
        self._silent_seconds += time.monotonic() - begun
        again = self._take(messages)
        if self._together and len(self._assigned) > 1 and self._waiting_bytes() > _MOST_WAITING:
            self._together, again = False, True
        ended = [place.topic_partition for place in self._assigned if not place.left]
        if again:
            self._assign()
        elif ended and len(ended) < len(self._assigned):
            self._assigned = [place for place in self._assigned if place.left]
            self._consumer.incremental_unassign(ended)
        if self._silent_seconds > PATIENCE_SECONDS:
            raise self._said

    def _waiting_bytes(self) -> int:
        return sum(len(record) for place in self._places for records in place.lists for record in records)

    def _take(self, messages: Sequence[Message]) -> bool:
        """Process messages; tell whether to request those that follow again."""
        doubted, places = set(), {place.range.partition: place for place in self._assigned}
        for partition, run in groupby(messages, Message.partition):
            came = list(run)
            place = None if partition is None or partition in doubted else places.get(partition)
            events = [message for message in came if message.error() is not None]
            records = [message for message in came if message.error() is None] if events else came
            # Messages other than records follow the records before them.
            believed = self._receive(place, records) and all(self._heed(place, event) for event in events)
            if not believed:
                doubted.add(partition)
        return bool(doubted)

    def _receive(self, place: _RangePosition | None, records: list[Message]) -> bool:
        """Add records to their range; return False if they must be requested again."""
        if place is None or not place.left or not records or records[0].topic() != self._topic:
            return True
        self._silent_seconds = 0.0
        dense = _dense(records, place.position)
        place.position += dense
        believed = dense == len(records) or not place.left
        if not believed and self._believes_gap(place):
            believed, dense, place.position = True, len(records), offset(records[-1]) + 1
        in_range = records[:dense]
        if place.position > place.range.end:
            in_range = [record for record in in_range if offset(record) < place.range.end]
        if in_range:
            place.lists.append(in_range)
        return believed

    def _believes_gap(self, place: _RangePosition) -> bool:
        """Tell whether offsets from a position on really have no records, as with transaction markers.

        The first time, records are requested again, in case the client skipped one. Afterwards the partition is treated
        as sparse.
        """
        key = (self._servers, self._topic, place.range.partition)
        if place.doubted == place.position:
            _sparse.add(key)
        place.doubted = place.position
        return key in _sparse

    def _heed(self, place: _RangePosition | None, event: Message) -> bool:
        """Process a message without record: the end of a partition, or an error; False to request records again."""
        error = event.error()
        assert error is not None
        if error.code() not in _PLACES:
            failure = kafka_failure(error, self._servers)
            if not may_pass(error):
                raise failure
            self._said = failure
            return True
        if place is None or not place.left or event.topic() != self._topic:
            return True
        part, position = place.range, place.position
        if error.code() == KafkaError._PARTITION_EOF:
            if offset(event) < part.end and self._fail_on_loss:
                raise _lost(part, offset(event), part.end)
            if not self._believes_gap(place):
                return False
            place.position = part.end
            return True
        first = self._first_there(place)
        if self._fail_on_loss:
            raise _lost(part, position, min(first, part.end) if first > position else part.end)
        place.position = first if first > position else part.end
        return False

    def _first_there(self, place: _RangePosition) -> int:
        """Return the offset of the first record that is still in a partition."""
        try:
            offsets = self._consumer.get_watermark_offsets(place.topic_partition, PATIENCE_SECONDS)
        except KafkaException as failure:
            raise kafka_failure(failure.args[0], self._servers) from failure
        if offsets is None:
            raise self._said
        return offsets[0]


def _dense(records: Sequence[Message], position: int) -> int:
    """Return how many records have consecutive offsets from a position on."""
    if offset(records[-1]) - position + 1 == len(records):
        return len(records)
    return next(i for i, record in enumerate(records) if offset(record) != position + i)


def _lost(part: Range, begin: int, end: int) -> OperationalError:
    return OperationalError(
        f"records of {part.topic}, partition {part.partition}, are gone from Kafka: offsets {begin} to {end - 1}",
        hint="the option failOnDataLoss false continues without them",
    )
