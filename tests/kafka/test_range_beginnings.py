"""The first record of a range, which a client that is told another place may leave out."""

import pytest

from cepsql.kafka import records
from cepsql.kafka.ranges import Range


class Message:
    def __init__(self, offset, partition=0):
        self._offset, self._partition = offset, partition

    def offset(self):
        return self._offset

    def partition(self):
        return self._partition

    def error(self):
        return None


class Consumer:
    """Gives the messages of one list for each time that it is told a place."""

    def __init__(self, *lists):
        self.lists, self.left, self.places = list(lists), [], []

    def assign(self, places):
        self.places += [place.offset for place in places]
        self.left = list(self.lists.pop(0))

    def consume(self, number, _timeout):
        taken, self.left = self.left[:number], self.left[number:]
        return taken

    def unassign(self):
        pass


@pytest.mark.parametrize(
    ("lists", "found", "assigned"),
    [
        ([[3, 4, 5]], [3, 4, 5], 1),
        ([[4, 5, 6], [3, 4, 5]], [3, 4, 5], 2),
        # What is gone stays so.
        ([[4, 5], [4, 5]], [4, 5], 2),
    ],
)
def test_a_range_begins_where_it_was_told(monkeypatch, lists, found, assigned):
    consumer = Consumer(*([Message(offset) for offset in offsets] for offsets in lists))
    monkeypatch.setattr(records, "_consumer", lambda _: consumer)
    given = records.read_ranges({"bootstrap.servers": "h:1"}, [Range("t", 0, 3, 6)])
    assert [message.offset() for part in given for message in part] == found
    assert consumer.places == [3] * assigned


def test_a_record_of_the_partition_before_is_none_of_this_one(monkeypatch):
    consumer = Consumer([Message(0, 1), Message(0), Message(1)], [Message(0), Message(1)])
    monkeypatch.setattr(records, "_consumer", lambda _: consumer)
    given = records.read_ranges({"bootstrap.servers": "h:1"}, [Range("t", 0, 0, 2)])
    assert [(message.offset(), message.partition()) for part in given for message in part] == [(0, 0), (1, 0)]
