"""Lengths of time, and how late rows come, in the words of EXPLAIN."""

from collections.abc import Iterable
from decimal import Decimal

from cepsql.plan.tree.nodes import Node


def spoken_length(micros: int) -> str:
    """Return a length of time in the largest unit that it is whole in."""
    for size, unit in ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second")):
        if micros >= size and micros % size == 0:
            count = micros // size
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{(Decimal(micros) / 1_000_000).normalize():f} seconds"


def spoken_hold(delay: int) -> str:
    """Return how long after the watermark rows are given out."""
    if delay == 0:
        return "given out as soon as the watermark reaches it"
    return f"given out at most {spoken_length(delay)} after the watermark has reached it"


def spoken_delays(nodes: Iterable[Node]) -> str:
    """Return how late the rows of each input can be."""
    return ", ".join(spoken_length(below.properties.event_time.delay) for below in nodes)
