"""The event time of the inputs of a stage, by their rows, their producers, and the clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cepsql.errors import OperationalError
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, IDLE

MAX_PRODUCERS = 10_000
"""The most producers of an input: the state of every bucket has all of them."""


class PacketHeader(Protocol):
    """The part of `cepsql.ordered.packet.Packet` that is needed here."""

    @property
    def ended(self) -> bool: ...

    @property
    def greatest(self) -> int: ...

    @property
    def heartbeat(self) -> int: ...

    @property
    def producers(self) -> Mapping[str | None, int]: ...


class Clocked(Protocol):
    """The part of `StageInput` that is needed here."""

    @property
    def chained(self) -> bool: ...

    @property
    def name(self) -> str: ...

    @property
    def heartbeat(self) -> int | None: ...

    @property
    def by_producer(self) -> bool: ...

    @property
    def idle(self) -> int | None: ...


@dataclass(frozen=True)
class ProducerTime:
    """The greatest event time of a producer, and since when, by the clock, it has had no row."""

    greatest: int
    silent: int | None = None


@dataclass(frozen=True)
class Reached:
    """The event time of an input.

    greatest:  its greatest event time, or that of its slowest producer; BEGINNING before the first row, IDLE for an
               idle input without any row, END_OF_TIME after its end.
    silent:    since when, by the clock in microseconds, it has had no row; None if it had one after the last heartbeat,
               or has no heartbeats.
    producers: those that are not idle.
    """

    greatest: int = BEGINNING
    silent: int | None = None
    producers: Mapping[str | None, ProducerTime] = field(default_factory=dict)


def reached_after(
    inputs: Sequence[Clocked],
    before: Sequence[Reached],
    packets: Sequence[Sequence[PacketHeader]],
    endless: bool = False,
) -> tuple[Reached, ...]:
    """Return the event time of each input after a micro-batch's packets; `endless`: ignore the end of the input.

    Raises OperationalError if an input has more than MAX_PRODUCERS.
    """
    everything = [packet for mine in packets for packet in mine]
    ended = any(packet.ended for packet in everything) and not endless
    clock = max((packet.heartbeat for packet in everything), default=BEGINNING)
    return tuple(
        Reached(END_OF_TIME) if ended and not clocked.chained else _after(clocked, last, mine, clock, endless)
        for clocked, last, mine in zip(inputs, before, packets, strict=True)
    )


def _after(clocked: Clocked, before: Reached, packets: Sequence[PacketHeader], clock: int, endless: bool) -> Reached:
    times = (packet.greatest for packet in packets)
    seen = max((time for time in times if not (endless and time == END_OF_TIME)), default=BEGINNING)
    if clocked.by_producer:
        return _after_producers(clocked, before, packets, clock)
    if seen > BEGINNING:
        return Reached(max(before.greatest, seen))
    if clocked.heartbeat is None or clock == BEGINNING:
        return before
    greatest, silent = _after_heartbeat(before.greatest, before.silent, clock, clocked.heartbeat)
    return Reached(greatest, silent)


def _after_producers(clocked: Clocked, before: Reached, packets: Sequence[PacketHeader], clock: int) -> Reached:
    came = _greatest(packet.producers for packet in packets)
    if not came and clock == BEGINNING:
        # Keep the heartbeats of a silent input.
        return before
    producers = dict(before.producers)
    for name, time in came.items():
        producers[name] = ProducerTime(max(time, producers[name].greatest) if name in producers else time)
    if len(producers) > MAX_PRODUCERS:
        raise OperationalError(
            f"{clocked.name or 'the stream'} has more than {MAX_PRODUCERS:,} producers that are waited for",
            hint="WATERMARK ... BY a column with fewer values, or WITH IDLE TIMEOUT",
        )
    live = producers
    if clocked.idle is not None and clock > BEGINNING:
        live = {}
        for name, producer in producers.items():
            silent = None if name in came else _silent_since(producer.silent, clock)
            if silent is None or clock - silent < clocked.idle:
                live[name] = ProducerTime(producer.greatest, silent)
    if live:
        greatest = min(producer.greatest for producer in live.values())
    else:
        # All producers are idle: none of them holds back the watermark.
        greatest = max([before.greatest, *(producer.greatest for producer in producers.values())])
    if came or clocked.heartbeat is None or clock == BEGINNING:
        return Reached(greatest if producers else before.greatest, None if came else before.silent, live)
    greatest, since = _after_heartbeat(max(greatest, before.greatest), before.silent, clock, clocked.heartbeat)
    return Reached(greatest, since, live)


def _greatest(times_of_packets: Iterable[Mapping[str | None, int]]) -> dict[str | None, int]:
    greatest: dict[str | None, int] = {}
    for times in times_of_packets:
        for name, time in times.items():
            greatest[name] = max(time, greatest.get(name, BEGINNING))
    return greatest


def _silent_since(silent: int | None, clock: int) -> int:
    # A clock that was set back starts over.
    return clock if silent is None or clock < silent else silent


def _after_heartbeat(greatest: int, silent: int | None, clock: int, interval: int) -> tuple[int, int]:
    """Return the greatest event time of an input without new rows, and since when it is silent, after a heartbeat."""
    since = _silent_since(silent, clock)
    if since == clock or clock - since < interval:
        return greatest, since
    return (IDLE if greatest in (BEGINNING, IDLE) else min(greatest + clock - since, END_OF_TIME - 1)), clock
