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
from cepsql.ordered.release import Kept, nothing_kept
from cepsql.ordered.row_bytes import read_rows, write_rows
from cepsql.ordered.row_layout import BEGINNING

_MAGIC, _VERSION = b"CEPS", 7
_READ = (5, 6, _VERSION)
"""The versions that are read; in 5 no row knew its place in its source, before 7 every section was whole."""
_HEADER = struct.Struct("<4sHxxq")
_MAX_BYTES = 2**31 - 64
_ALIGNMENT = 64
_ROWS_VERSION = 1
"""Of the sections with held and waiting rows."""


@dataclass(frozen=True)
class State:
    """What a bucket keeps from one micro-batch to the next.

    bound:    rows with t <= bound were released; a row that comes at or below it is late.
    reached:  how far each input is.
    kept:     rows, and what the operator remembers beside them.
    origins:  of the rows that wait, by the numbers in their POSITION.
    log:      of its files.
    """

    bound: int
    reached: tuple[Reached, ...]
    kept: Kept
    origins: Origins = field(default_factory=dict)
    log: FileLog = NO_FILES

    @property
    def files(self) -> list[str]:
        """The names of the files that it needs."""
        return [level.file for level in self._levels if level.file is not None]

    @property
    def file_bytes(self) -> int:
        """How many bytes these have."""
        return sum(level.data.size for level in self._levels if level.file is not None and level.data is not None)

    @property
    def _levels(self) -> Sequence[Level]:
        return () if self.kept.keyed is None else self.kept.keyed.levels


def first_state(operator: Operator, inputs: int) -> State:
    """Return the state of a stage with so many inputs before the first row."""
    return State(BEGINNING, (Reached(),) * inputs, nothing_kept(operator))


def encode(state: State, operator: Operator, identity: str) -> bytes:
    """Write the state of an operator in a query with this identity.

    Raises OperationalError if it outgrows what Spark keeps in one value (2 GiB).
    """
    versions = _versions(operator)
    tables = _tables(state.kept)
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
    if state.kept.keyed is not None:
        directory["keyed"] = _keyed_data(state.kept.keyed, operator, state.log)
        written_parts += [level.data for level in state.kept.keyed.levels if level.file is None]
    if state.origins:
        directory["origins"] = [[number, input, *origin] for number, (input, origin) in state.origins.items()]
    written = json.dumps(directory, separators=(",", ":")).encode()
    # Columns that are read where they lie must lie at multiples of their width.
    written += b" " * (-(_HEADER.size + len(written)) % _ALIGNMENT)
    if _HEADER.size + len(written) + sum(part.size for part in written_parts) > _MAX_BYTES:
        raise OperationalError(
            "the state of a bucket outgrows 2 GiB", hint="use more buckets, or bound the pattern by WITHIN"
        )
    return b"".join([_HEADER.pack(_MAGIC, _VERSION, len(written)), written, *written_parts])


def decode(data: bytes | pa.Buffer, operator: Operator, identity: str, folder: StateFolder | None = None) -> State:
    """Read a state; its tables share the memory of `data`, and of its files in the folder.

    Raises OperationalError if another format, another query, or another version of the operator wrote it, or a file is
    gone.
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
    kept, log = _kept(operator, tables), NO_FILES
    if (keyed := directory.get("keyed")) is not None:
        for name, written in keyed["versions"].items():
            _check_version(name, written, versions)
        levels = []
        for file, checksum, size in keyed["levels"]:
            data = buffer.slice(begin, size)
            levels.append(read_level(data) if file is None else open_level(folder, file, checksum))
            begin += size
        kept = replace(kept, keyed=KeyedRows(tuple(operator.sides[0].key_names), tuple(levels)))
        log = FileLog(keyed["id"], keyed["turn"], tuple(map(tuple, keyed["unused"])))
    producers = directory.get("producers", [[]] * len(directory["greatest"]))
    clocks = zip(directory["greatest"], directory["silent"], producers, strict=True)
    reached = tuple(Reached(greatest, silent, _producers(data)) for greatest, silent, data in clocks)
    origins = {number: (input, Origin(*origin)) for number, input, *origin in directory.get("origins", [])}
    return State(directory["bound"], reached, kept, origins, log)


def _check_version(name: str, written: int, versions: Mapping[str, int]) -> None:
    if versions.get(name) != written:
        expected = "none" if name not in versions else f"version {versions[name]}"
        raise _unusable(f"the stored state has version {written} of section {name!r}, but {expected} is expected")


def _keyed_data(keyed: KeyedRows, operator: Operator, log: FileLog) -> dict:
    """Return what the directory says of what is remembered of keys; a level in a file takes no bytes of the state."""
    return {
        "id": log.id,
        "turn": log.turn,
        "unused": log.unused,
        "versions": {name: operator.sections[name] for level in keyed.levels for name in level.sections},
        "levels": [[level.file, level.checksum, _size_in_state(level)] for level in keyed.levels],
    }


def _size_in_state(level: Level) -> int:
    """Return how many bytes of the state a level takes: in a file, none."""
    return 0 if level.file is not None or level.data is None else level.data.size


def _producer_data(reached: Reached) -> list[list]:
    return [[name, one.greatest, one.silent] for name, one in reached.producers.items()]


def _producers(data: list[list]) -> Mapping[str | None, ProducerTime]:
    return {name: ProducerTime(greatest, silent) for name, greatest, silent in data}


def _versions(operator: Operator) -> Mapping[str, int]:
    """Return the versions of all sections that the state of an operator can have."""
    rows = {f"{name} {side}": _ROWS_VERSION for name in ("held", "waiting") for side in range(len(operator.sides))}
    return rows | dict(operator.sections)


def _tables(kept: Kept) -> Mapping[str, pa.Table | None]:
    held = {f"held {side}": table for side, table in enumerate(kept.held)}
    waiting = {f"waiting {side}": table for side, table in enumerate(kept.waiting)}
    return held | waiting | dict(kept.sections)


def _kept(operator: Operator, tables: Mapping[str, pa.Table]) -> Kept:
    sides = range(len(operator.sides))
    held, waiting = (tuple(tables.get(f"{name} {side}") for side in sides) for name in ("held", "waiting"))
    sections = {name: tables[name] for name in operator.sections if name in tables}
    if is_keyed(operator):
        return Kept(held, waiting, {}, keyed_rows(operator.sides[0].key_names, sections))
    return Kept(held, waiting, sections)


def _bytes(table: pa.Table) -> pa.Buffer:
    (rows,) = compact(table).to_batches()
    return write_rows(rows)


def _unusable(message: str) -> OperationalError:
    return OperationalError(message, hint="start the query with a new checkpoint and replay its input")
