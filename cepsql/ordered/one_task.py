"""One micro-batch of several stages in one task: the output of a stage is at once the input of the next."""

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
    Raises what `cepsql.ordered.stage.advance` raises, and OperationalError if the state is of another dataflow.
    """
    states: list[bytes | None] = [None] * len(flow.stages) if state is None else _split(state, len(flow.stages))
    came: list[list[bytes | Packet]] = [list(packets.get(number, ())) for number in range(len(flow.stages))]
    results = {}
    for number, stage in enumerate(flow.stages):
        if not came[number]:
            continue
        began = time.perf_counter()
        advanced = advance(stage, states[number], came[number], folder)
        came[number] = []
        states[number] = advanced.state
        for channel in flow.channels[number]:
            came[channel.above] += channel.packets(advanced)
        results[number] = advanced, time.perf_counter() - began
    return results, _joined(states)


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
