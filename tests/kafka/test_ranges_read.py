"""What is read of ranges, from a client that gives records in any order of partitions and sometimes leaves one out."""

import itertools
import random

import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from hypothesis import given
from hypothesis import strategies as st

from cepsql.errors import OperationalError
from cepsql.readers.kafka import read_records
from cepsql.readers.kafka.ranges import Range

_names = itertools.count()


class Consumer:
    """Stands for a client and its broker.

    logs: of each partition the offsets that hold a record, and where it ends.
    faults: leaves records out, each at most once, and gives stale ones of partitions that it no longer reads.
    """

    def __init__(self, topic, logs, draw=None, faults=False):
        self.topic, self.logs, self.draw, self.faults = topic, logs, draw or random.Random(0), faults
        self.positions, self.left_out, self.stale, self.asked = {}, set(), [], []

    def assign(self, places):
        self.stale = [p for p in self.positions if p not in {place.partition for place in places}]
        self.positions = {place.partition: place.offset for place in places}
        self.asked.append(dict(self.positions))

    def incremental_unassign(self, places):
        for place in places:
            del self.positions[place.partition]

    def unassign(self):
        self.positions = {}

    def consume(self, number, _seconds):
        taken = []
        for partition in self.draw.sample(list(self.positions), len(self.positions)):
            held, end = self.logs[partition]
            waiting = [offset for offset in held if offset >= self.positions[partition]]
            some = waiting[: self.draw.randint(1, len(waiting) + 1)]
            taken += [self._message(partition, offset) for offset in some if not self._leaves_out(partition, offset)]
            if some:
                self.positions[partition] = some[-1] + 1
            if some == waiting:
                taken.append(self._message(partition, end, KafkaError(KafkaError._PARTITION_EOF)))
        if self.faults and self.stale:
            partition = self.stale.pop()
            taken.insert(0, self._message(partition, self.draw.choice(self.logs[partition][0])))
        # What is not taken is there the next time.
        for message in taken[number:]:
            partition = message.partition()
            if message.error() is None and partition in self.positions:
                self.positions[partition] = min(self.positions[partition], message.offset())
        return taken[:number]

    def _leaves_out(self, partition, offset):
        if not self.faults or (partition, offset) in self.left_out or self.draw.random() < 0.7:
            return False
        self.left_out.add((partition, offset))
        return True

    def _message(self, partition, offset, error=None):
        return Message(topic=self.topic, partition=partition, offset=offset, value=b"x" * 9, error=error)


def read(monkeypatch, consumer, *ranges, fail_on_loss=True):
    """Return partition and offset of what is read of ranges (partition, begin, end)."""
    monkeypatch.setattr(read_records, "_consumer", lambda _: consumer)
    parts = [Range(consumer.topic, *part) for part in ranges]
    lists = list(read_records.read_ranges({"bootstrap.servers": "h:1"}, parts, fail_on_loss))
    assert all(len({message.partition() for message in messages}) == 1 for messages in lists)
    return [(message.partition(), message.offset()) for messages in lists for message in messages]


@pytest.mark.parametrize("faults", [False, True])
@given(data=st.data())
def test_ranges_are_read_whole_and_in_order(faults, data):
    sizes = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=4))
    ranges = [(p, begin := data.draw(st.integers(0, size - 1)), data.draw(st.integers(begin + 1, size)))
              for p, size in enumerate(sizes)]  # fmt: skip
    held = [
        range(size) if faults else sorted(data.draw(st.sets(st.integers(0, size - 1), max_size=size))) for size in sizes
    ]
    logs = {p: (list(offsets), size) for p, (offsets, size) in enumerate(zip(held, sizes, strict=True))}
    consumer = Consumer(f"t{next(_names)}", logs, data.draw(st.randoms(use_true_random=False)), faults)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_records, "_AT_ONCE", data.draw(st.sampled_from([10_000, 20, 3])))
        patch.setattr(read_records, "_MOST_WAITING", data.draw(st.sampled_from([10**9, 50])))
        records = read(patch, consumer, *ranges)
    assert records == [(p, offset) for p, begin, end in ranges for offset in held[p] if begin <= offset < end]


def test_partitions_are_read_at_the_same_time_where_they_are_small(monkeypatch):
    consumer = Consumer("small", {p: (list(range(20)), 20) for p in range(3)})
    assert len(read(monkeypatch, consumer, *((p, 5, 20) for p in range(3)))) == 45
    assert consumer.asked == [{0: 5, 1: 5, 2: 5}]


def test_offsets_without_records_are_asked_for_once_more_and_not_again(monkeypatch):
    consumer = Consumer("sparse", {0: ([0, 1, 4, 6], 8)}, random.Random(5))
    assert [offset for _, offset in read(monkeypatch, consumer, (0, 0, 8))] == [0, 1, 4, 6]
    assert consumer.asked == [{0: 0}, {0: 2}]
    consumer.asked.clear()
    assert [offset for _, offset in read(monkeypatch, consumer, (0, 2, 8))] == [4, 6]
    assert consumer.asked == [{0: 2}]


def test_a_partition_that_ends_before_its_range_has_lost_records(monkeypatch):
    with pytest.raises(OperationalError, match="are gone from Kafka: offsets 3 to 4"):
        read(monkeypatch, Consumer("short", {0: ([0, 1, 2], 3)}), (0, 0, 5))
    records = read(monkeypatch, Consumer("short", {0: ([0, 1, 2], 3)}), (0, 0, 5), fail_on_loss=False)
    assert records == [(0, 0), (0, 1), (0, 2)]


@pytest.mark.parametrize("failure", [None, KafkaException(KafkaError(KafkaError._TIMED_OUT))])
def test_a_broker_that_does_not_say_what_is_left_is_told(failure, monkeypatch):
    class Silent(Consumer):
        def consume(self, number, _seconds):
            return [self._message(0, 0, KafkaError(KafkaError.OFFSET_OUT_OF_RANGE))]

        def get_watermark_offsets(self, partition, timeout):
            if failure is not None:
                raise failure

    with pytest.raises(OperationalError, match="no Kafka broker answers at h:1"):
        read(monkeypatch, Silent("silent", {}), (0, 0, 5))
