"""One micro-batch of several stages in one task: the output of a stage is at once the input of the next."""

import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from cepsql.errors import OperationalError
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.ordered.packet import Packet
from cepsql.ordered.stage import Advanced, Stage, advance

_MAGIC, _VERSION = b"CEPF", 1
_HEADER = struct.Struct("<4sBI")
_ABSENT = -1
_MANY_BYTES = 2**20
"""From so many bytes of packets on, threads pay."""

_MOST_BYTES = 2**31 - 2**20
"""The greatest value that Spark stores."""


@dataclass(frozen=True)
class Channel:
    """A channel of rows from a stage to an input of another one.

    above:   the number of the stage that reads the rows.
    packets: makes packets for its input from the result of the stage below.
    """

    above: int
    packets: Callable[[Advanced], Iterable[bytes | Packet]]


@dataclass(frozen=True)
class Dataflow:
    """Stages connected by channels; each has one bucket.

    stages:   in topological order; the output of the last one is that of the dataflow.
    channels: the channels from each stage.
    """

    stages: tuple[Stage, ...]
    channels: tuple[tuple[Channel, ...], ...]


@dataclass(frozen=True)
class _Result:
    """What a stage made of a micro-batch.

    packets: those for each of its channels.
    seconds: how long that took.
    state:   its new state with the seconds of writing it, which may go on.
    """

    advanced: Advanced
    packets: Sequence[Sequence[bytes | Packet]]
    seconds: float
    state: "Future[tuple[bytes, float]]"


def advance_all(
    flow: Dataflow,
    state: bytes | None,
    packets: Mapping[int, Sequence[bytes]],
    folder: StateFolder | None = None,
) -> tuple[dict[int, tuple[Advanced, float]], bytes]:
    """Process one micro-batch of a dataflow.

    state:   the result of the last call, None at first.
    packets: the packets from outside, by the number of the stage.
    folder:  the folder of the states' files; None without files.
    Returns the result of each stage that got packets, by its number, with the seconds that it took; and the new state.
    Of many rows, the state of a stage is written while the stages above it run, and stages that do not read one another
    run together.
    Raises what `cepsql.ordered.stage.advance` raises, and OperationalError if the state is of another dataflow.
    """
    count = len(flow.stages)
    states: list[bytes | None] = [None] * count if state is None else _split(state, count)
    many = sum(len(packet) for mine in packets.values() for packet in mine) >= _MANY_BYTES
    futures: list[Future[_Result | None]] = []
    with ThreadPoolExecutor(2 * count) as threads:
        submit = threads.submit if many else _at_once
        for number in range(count):
            below = [
                (future, place)
                for future, channels in zip(futures, flow.channels, strict=False)
                for place, channel in enumerate(channels)
                if channel.above == number
            ]
            outside = packets.get(number, ())
            futures.append(submit(_process, flow, number, states[number], outside, below, folder, submit))
        results = {}
        for number, future in enumerate(futures):
            if (result := future.result()) is not None:
                states[number], seconds = result.state.result()
                results[number] = result.advanced, result.seconds + seconds
    return results, _joined(states)


def _process(
    flow: Dataflow,
    number: int,
    state: bytes | None,
    outside: Sequence[bytes],
    below: Sequence[tuple["Future[_Result | None]", int]],
    folder: StateFolder | None,
    submit: Callable[..., Future],
) -> _Result | None:
    """Process a micro-batch in one stage, once those below have processed it; return None if no packet has come.

    outside: the packets from outside.
    below:   the results of stages below, each with the place of the channel among those from its stage.
    """
    packets: list[bytes | Packet] = [*outside]
    for future, place in below:
        if (result := future.result()) is not None:
            packets += result.packets[place]
    if not packets:
        return None
    began = time.perf_counter()
    advanced = advance(flow.stages[number], state, packets, folder)
    passed = [list(channel.packets(advanced)) for channel in flow.channels[number]]
    return _Result(advanced, passed, time.perf_counter() - began, submit(_written, advanced))


def _written(advanced: Advanced) -> tuple[bytes, float]:
    began = time.perf_counter()
    return advanced.state, time.perf_counter() - began


def _at_once(function: Callable, *arguments: Any) -> Future:
    """Call a function, as `Executor.submit` lets a thread do: with few rows, threads hinder one another."""
    future = Future[Any]()
    future.set_result(function(*arguments))
    return future


def _joined(states: Sequence[bytes | None]) -> bytes:
    """Join the states of stages; raises OperationalError if they are larger than Spark stores."""
    sizes = [_ABSENT if state is None else len(state) for state in states]
    if sum(sizes) > _MOST_BYTES:
        raise OperationalError(
            f"the operators of the query hold {sum(sizes) / 10**9:.1f} GB in one task, more than Spark keeps of one",
            hint="SET 'cepsql.one_task' = 'false', start with a new checkpoint and replay the input",
        )
    lengths = struct.pack(f"<{len(states)}q", *sizes)
    return b"".join([_HEADER.pack(_MAGIC, _VERSION, len(states)), lengths, *(state or b"" for state in states)])


def _split(state: bytes, count: int) -> list[bytes | None]:
    """Split the state of a dataflow into those of its stages; raises OperationalError for another number of them."""
    magic, version, stages = _HEADER.unpack_from(state)
    if (magic, version, stages) != (_MAGIC, _VERSION, count):
        raise OperationalError(
            f"the stored state is of {stages} operators in one task, the query has {count}",
            hint="use the version of cepsql that began the checkpoint, or a new one, and replay the input",
        )
    begin = _HEADER.size + 8 * count
    states: list[bytes | None] = []
    for size in struct.unpack_from(f"<{count}q", state, _HEADER.size):
        states.append(None if size == _ABSENT else bytes(state[begin : begin + size]))
        begin += max(size, 0)
    return states
