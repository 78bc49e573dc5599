"""The records of a micro-batch, and the share of each task, as ranges of offsets."""

from collections.abc import Sequence
from dataclasses import dataclass

from cepsql.readers.kafka.kafka_options import Offsets


@dataclass(frozen=True)
class Range:
    """The records of a partition from offset `begin` up to, without, offset `end`."""

    topic: str
    partition: int
    begin: int
    end: int


def limited(start: Offsets, latest: Offsets, limit: int) -> dict[str, dict[str, int]]:
    """Return the end of a micro-batch of about `limit` records, in proportion to the waiting records of each partition.

    start, latest: the next offset of each partition, and its end. A partition with records contributes at least one.
    """
    waiting = {(t, p): max(0, latest[t][p] - start[t][p]) for t in latest for p in latest[t]}
    total = sum(waiting.values())
    if total <= limit:
        return {topic: dict(ends) for topic, ends in latest.items()}

    def end(topic: str, partition: str) -> int:
        number = waiting[topic, partition]
        share = max(1, number * limit // total) if number else 0
        return start[topic][partition] + min(number, share)

    return {topic: {partition: end(topic, partition) for partition in ends} for topic, ends in latest.items()}


def ranges_between(start: Offsets, end: Offsets) -> list[Range]:
    """Return the ranges between two positions; a partition that is not in `start` is read from its beginning."""
    ranges = (
        Range(topic, int(partition), start.get(topic, {}).get(partition, 0), last)
        for topic, ends in end.items()
        for partition, last in ends.items()
    )
    return [part for part in ranges if part.end > part.begin]


def spread(ranges: Sequence[Range], tasks: int, least: int = 10_000) -> list[tuple[Range, ...]]:
    """Split ranges into at most `tasks` shares of equal size, all except the last with at least `least` records."""
    total = sum(part.end - part.begin for part in ranges)
    size = max(-(-total // tasks), least)
    shares: list[list[Range]] = []
    room = 0
    # Large ranges come first, so that few small ones are split.
    for part in sorted(ranges, key=lambda part: part.begin - part.end):
        begin = part.begin
        while begin < part.end:
            if room == 0:
                shares.append([])
                room = size
            end = min(part.end, begin + room)
            shares[-1].append(Range(part.topic, part.partition, begin, end))
            begin, room = end, room - (end - begin)
    return [tuple(share) for share in shares]


def read_together(ranges: Sequence[Range], most: int) -> list[list[Range]]:
    """Split ranges, in their order, into groups of partitions of one topic with at most `most` records, or one range.

    A consumer that switches to another partition waits for the broker's answer to its previous request.
    """
    groups: list[list[Range]] = []
    room = 0
    for part in ranges:
        size = part.end - part.begin
        if groups and size <= room and groups[-1][0].topic == part.topic:
            groups[-1].append(part)
        else:
            groups.append([part])
            room = most
        room -= size
    return groups
