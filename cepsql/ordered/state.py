"""The state of a bucket, and its bytes: a fixed header, a directory, then the sections as Arrow IPC streams."""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.ordered.arrival import Origin, Origins
from cepsql.ordered.keyed.keyed_rows import KeyedRows, keyed_rows
from cepsql.ordered.keyed.level import Level, read_level
from cepsql.ordered.keyed.state_files import NO_FILES, FileLog, StateFolder, open_level
from cepsql.ordered.operator import Operator, is_keyed
from cepsql.ordered.plain_columns import compact
from cepsql.ordered.reached import ProducerTime, Reached
from cepsql.ordered.release import OperatorState, empty_state
from cepsql.ordered.row_bytes import read_rows, write_rows
from cepsql.ordered.row_layout import BEGINNING

_MAGIC, _VERSION = b"CEPS", 7
_READ = (5, 6, _VERSION)
"""The versions that can be read: 5 has no positions of rows in their sources, and before 7 no section is by key."""
_HEADER = struct.Struct("<4sHxxq")
_MAX_BYTES = 2**31 - 64
_ALIGNMENT = 64
_ROWS_VERSION = 1
"""The version of the sections with held and waiting rows."""


@dataclass(frozen=True)
class State:
    """The state of a bucket between two micro-batches.

    bound:    rows with t <= bound were released; a new row at or below it is late.
    reached:  the event time of each input.
    operator_state: the rows and the operator's other state.
    origins:  the origins of the waiting rows, by the numbers in their POSITION.
    log:      the log of its files.
    """

    bound: int
    reached: tuple[Reached, ...]
    operator_state: OperatorState
    origins: Origins = field(default_factory=dict)
    log: FileLog = NO_FILES

    @property
    def files(self) -> list[str]:
        """The names of its files."""
        return [level.file for level in self._levels if level.file is not None]

    @property
    def file_bytes(self) -> int:
        """The size of its files in bytes."""
        return sum(level.data.size for level in self._levels if level.file is not None and level.data is not None)

    @property
    def _levels(self) -> Sequence[Level]:
        return () if self.operator_state.keyed is None else self.operator_state.keyed.levels


def first_state(operator: Operator, inputs: int) -> State:
    """Return the state of a stage with this number of inputs before the first row."""
    return State(BEGINNING, (Reached(),) * inputs, empty_state(operator))


def encode(state: State, operator: Operator, identity: str) -> bytes:
    """Encode the state of an operator in a query with this identity.

    Raises OperationalError if it is larger than Spark stores in one value (2 GiB).
    """
    versions = _versions(operator)
    tables = _tables(state.operator_state)
    parts = {name: _bytes(table) for name, table in tables.items() if table is not None and table.num_rows}
    directory = {
        "identity": identity,
        "bound": state.bound,
        "greatest": [one.greatest for one in state.reached],
        "silent": [one.silent for one in state.reached],
        "sections": [[name, versions[name], part.size] for name, part in parts.items()],
    }
    written_parts = list(parts.values())
    if any(one.producers for one in state.reached):
        directory["producers"] = [_producer_data(one) for one in state.reached]
    if state.operator_state.keyed is not None:
        directory["keyed"] = _keyed_data(state.operator_state.keyed, operator, state.log)
        written_parts += [level.data for level in state.operator_state.keyed.levels if level.file is None]
    if state.origins:
        directory["origins"] = [[number, input, *origin] for number, (input, origin) in state.origins.items()]
    written = json.dumps(directory, separators=(",", ":")).encode()
    # Columns are read in place, and must be aligned.
    written += b" " * (-(_HEADER.size + len(written)) % _ALIGNMENT)
    if _HEADER.size + len(written) + sum(part.size for part in written_parts) > _MAX_BYTES:
        raise OperationalError(
            "the state of a bucket outgrows 2 GiB", hint="use more buckets, or bound the pattern by WITHIN"
        )
    return b"".join([_HEADER.pack(_MAGIC, _VERSION, len(written)), written, *written_parts])


def decode(data: bytes | pa.Buffer, operator: Operator, identity: str, folder: StateFolder | None = None) -> State:
    """Decode a state; its tables share the memory of `data`, and of its files in the folder.

    Raises OperationalError if it is of another format, query or version of the operator, or a file is missing.
    """
    magic, version = struct.unpack_from("<4sH", data)
    if magic != _MAGIC or version not in _READ:
        raise _unusable(f"the stored state has format {magic!r} {version}, not {_MAGIC!r} {_VERSION}")
    buffer, (_, _, length) = pa.py_buffer(data), _HEADER.unpack_from(data)
    begin = _HEADER.size + length
    directory = json.loads(buffer.slice(_HEADER.size, length).to_pybytes())
    if directory["identity"] != identity:
        raise _unusable("the stored state belongs to another text of the query")
    versions, tables = _versions(operator), {}
    for name, written, size in directory["sections"]:
        _check_version(name, written, versions)
        tables[name] = read_rows(buffer.slice(begin, size))
        begin += size
    operator_state, log = _operator_state(operator, tables), NO_FILES
    if (keyed := directory.get("keyed")) is not None:
        for name, written in keyed["versions"].items():
            _check_version(name, written, versions)
        levels = []
        for file, checksum, size in keyed["levels"]:
            data = buffer.slice(begin, size)
            levels.append(read_level(data) if file is None else open_level(folder, file, checksum))
            begin += size
        operator_state = replace(operator_state, keyed=KeyedRows(tuple(operator.sides[0].key_names), tuple(levels)))
        log = FileLog(keyed["id"], keyed["turn"], tuple(map(tuple, keyed["unused"])))
    producers = directory.get("producers", [[]] * len(directory["greatest"]))
    clocks = zip(directory["greatest"], directory["silent"], producers, strict=True)
    reached = tuple(Reached(greatest, silent, _producers(data)) for greatest, silent, data in clocks)
    origins = {number: (input, Origin(*origin)) for number, input, *origin in directory.get("origins", [])}
    return State(directory["bound"], reached, operator_state, origins, log)


def _check_version(name: str, written: int, versions: Mapping[str, int]) -> None:
    if versions.get(name) != written:
        expected = "none" if name not in versions else f"version {versions[name]}"
        raise _unusable(f"the stored state has version {written} of section {name!r}, but {expected} is expected")


def _keyed_data(keyed: KeyedRows, operator: Operator, log: FileLog) -> dict:
    """Return the directory entry of state by key; a level in a file takes no bytes of the state."""
    return {
        "id": log.id,
        "turn": log.turn,
        "unused": log.unused,
        "versions": {name: operator.sections[name] for level in keyed.levels for name in level.sections},
        "levels": [[level.file, level.checksum, _size_in_state(level)] for level in keyed.levels],
    }


def _size_in_state(level: Level) -> int:
    """Return the size of a level within the state: 0 for a level in a file."""
    return 0 if level.file is not None or level.data is None else level.data.size


def _producer_data(reached: Reached) -> list[list]:
    return [[name, one.greatest, one.silent] for name, one in reached.producers.items()]


def _producers(data: list[list]) -> Mapping[str | None, ProducerTime]:
    return {name: ProducerTime(greatest, silent) for name, greatest, silent in data}


def _versions(operator: Operator) -> Mapping[str, int]:
    """Return the versions of all sections of an operator's state."""
    rows = {f"{name} {side}": _ROWS_VERSION for name in ("held", "waiting") for side in range(len(operator.sides))}
    return rows | dict(operator.sections)


def _tables(operator_state: OperatorState) -> Mapping[str, pa.Table | None]:
    held = {f"held {side}": table for side, table in enumerate(operator_state.held)}
    waiting = {f"waiting {side}": table for side, table in enumerate(operator_state.waiting)}
    return held | waiting | dict(operator_state.sections)


def _operator_state(operator: Operator, tables: Mapping[str, pa.Table]) -> OperatorState:
    sides = range(len(operator.sides))
    held, waiting = (tuple(tables.get(f"{name} {side}") for side in sides) for name in ("held", "waiting"))
    sections = {name: tables[name] for name in operator.sections if name in tables}
    if is_keyed(operator):
        return OperatorState(held, waiting, {}, keyed_rows(operator.sides[0].key_names, sections))
    return OperatorState(held, waiting, sections)


def _bytes(table: pa.Table) -> pa.Buffer:
    (rows,) = compact(table).to_batches()
    return write_rows(rows)


def _unusable(message: str) -> OperationalError:
    return OperationalError(message, hint="start the query with a new checkpoint and replay its input")
