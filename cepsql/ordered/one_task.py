"""One micro-batch of several stages in one task: what a stage gives out is the input of the next at once."""

import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cepsql.errors import OperationalError
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.ordered.packet import Packet
from cepsql.ordered.stage import Advanced, Stage, advance

_MAGIC, _VERSION = b"CEPF", 1
_HEADER = struct.Struct("<4sBI")
_ABSENT = -1
_MOST_BYTES = 2**31 - 2**20
"""Spark keeps no longer value."""


@dataclass(frozen=True)
class Channel:
    """The way of rows from a stage to an input of another one.

    above:   the number of the stage that reads them.
    packets: makes packets for its input of what a micro-batch of the stage below gave.
    """

    above: int
    packets: Callable[[Advanced], Iterable[bytes | Packet]]


@dataclass(frozen=True)
class Dataflow:
    """Stages that give each other rows; each has one bucket.

    stages:   each after those whose rows it reads; the last one gives out what the dataflow does.
    channels: where the rows of each stage go.
    """

    stages: tuple[Stage, ...]
    channels: tuple[tuple[Channel, ...], ...]


def advance_all(
    flow: Dataflow,
    state: bytes | None,
    packets: Mapping[int, Sequence[bytes]],
    folder: StateFolder | None = None,
) -> tuple[dict[int, tuple[Advanced, float]], bytes]:
    """Take one micro-batch of a dataflow.

    state:   what the last call returned, None at first.
    packets: those that come from elsewhere, by the number of the stage.
    folder:  where files of states are; None: they have none.
    Returns what each stage gave to which packets came, by its number, with the seconds that it took, and the new state.
    Raises what `cepsql.ordered.stage.advance` raises, and OperationalError if the state is of another dataflow.
    """
    states: list[bytes | None] = [None] * len(flow.stages) if state is None else _split(state, len(flow.stages))
    came: list[list[bytes | Packet]] = [list(packets.get(number, ())) for number in range(len(flow.stages))]
    given = {}
    for number, stage in enumerate(flow.stages):
        if not came[number]:
            continue
        began = time.perf_counter()
        advanced = advance(stage, states[number], came[number], folder)
        came[number] = []
        states[number] = advanced.state
        for channel in flow.channels[number]:
            came[channel.above] += channel.packets(advanced)
        given[number] = advanced, time.perf_counter() - began
    return given, _joined(states)


def _joined(states: Sequence[bytes | None]) -> bytes:
    """Return the states of stages as one; raises OperationalError for more than Spark keeps."""
    sizes = [_ABSENT if state is None else len(state) for state in states]
    if sum(sizes) > _MOST_BYTES:
        raise OperationalError(
            f"the operators of the query hold {sum(sizes) / 10**9:.1f} GB in one task, more than Spark keeps of one",
            hint="SET 'cepsql.one_task' = 'false', start with a new checkpoint and replay the input",
        )
    lengths = struct.pack(f"<{len(states)}q", *sizes)
    return b"".join([_HEADER.pack(_MAGIC, _VERSION, len(states)), lengths, *(state or b"" for state in states)])


def _split(state: bytes, count: int) -> list[bytes | None]:
    """Return the states of the stages of a dataflow; raises OperationalError if they are not of so many."""
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
