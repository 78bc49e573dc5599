"""What a state remembers of some keys, in place of what it remembered of them before: rows, and an index of them.

Its bytes are never changed, and are read where they lie: arrays of numbers and Arrow IPC streams, each at a multiple of
64, then a directory as JSON that says where each of them is, and at the very end how long the directory is.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.ordered.keyed.sorted_hashes import SortedHashes, ranges
from cepsql.ordered.plain_columns import compact, take_rows

_MAGIC, _VERSION = b"CEPL", 1
_END = struct.Struct("<q4sHxx")
_ALIGNMENT = 64


@dataclass(frozen=True)
class IndexedRows:
    """Rows of one section, in any order, found by the hashes of their keys.

    rows:   one chunk a column.
    places: where the rows are, those of each hash together (int32).
    ends:   where in `places` those of each hash of the level end (int64).
    """

    rows: pa.Table
    places: np.ndarray
    ends: np.ndarray

    def begins(self) -> np.ndarray:
        """Return where in `places` the rows of each hash begin."""
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1]])

    def of(self, hashes: np.ndarray) -> pa.Table:
        """Return the rows of those hashes, which are given as numbers of the level's."""
        begins = np.where(hashes > 0, self.ends[hashes - 1], 0)
        return take_rows(self.rows, self.places[ranges(begins, self.ends[hashes] - begins)])

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return self.rows.nbytes + self.places.nbytes + self.ends.nbytes


@dataclass(frozen=True)
class Level:
    """What is remembered of some keys.

    hashes:   of these keys, ascending, each once (uint32). Older levels have nothing more to say of them.
    sections: their rows, by the names of the sections that have any.
    data:     the bytes of all this; None before they are needed.
    file:     the name of the file that they are in; None: the state itself has them.
    checksum: of the bytes of the file (CRC-32).
    """

    hashes: np.ndarray
    sections: Mapping[str, IndexedRows]
    data: pa.Buffer | None = None
    file: str | None = None
    checksum: int | None = None

    @property
    def size(self) -> int:
        """How many hashes and rows it has."""
        return len(self.hashes) + sum(section.rows.num_rows for section in self.sections.values())

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return self.hashes.nbytes + sum(section.nbytes for section in self.sections.values())


def index_rows(rows: pa.Table, by_hash: SortedHashes, hashes: np.ndarray) -> IndexedRows:
    """Return rows with an index of them; `hashes` are those of a level, among which those of the rows are."""
    return IndexedRows(compact(rows), by_hash.places, np.searchsorted(by_hash.hashes, hashes, "right"))


def write_level(level: Level, sink: pa.NativeFile) -> None:
    """Write a level, as `read_level` reads it. Raises OSError."""
    sections = []
    hashes = _write_numbers(level.hashes, sink)
    for name, section in level.sections.items():
        places = [_write_numbers(section.ends, sink), _write_numbers(section.places, sink), _aligned(sink)]
        with pa.ipc.new_stream(sink, section.rows.schema) as writer:
            writer.write_table(section.rows)
        sections.append([name, section.rows.num_rows, *places, sink.tell()])
    directory = {"hashes": [len(level.hashes), hashes], "sections": sections}
    written = json.dumps(directory, separators=(",", ":")).encode()
    # Levels that stand one after another begin where their parts may.
    written += b" " * (-(sink.tell() + len(written) + _END.size) % _ALIGNMENT)
    sink.write(written)
    sink.write(_END.pack(len(written), _MAGIC, _VERSION))


def read_level(data: pa.Buffer) -> Level:
    """Read a level, which shares the memory of its bytes.

    Raises OperationalError for those of another version, ValueError or struct.error for what is damaged.
    """
    end = data.size - _END.size
    length, magic, version = _END.unpack_from(data, end)
    if magic != _MAGIC:
        raise ValueError("no rows of a state")
    if version != _VERSION:
        raise OperationalError(
            f"the stored rows have format {version}, not {_VERSION}",
            hint="use the version of cepsql that wrote the checkpoint, or a new one, and replay the input",
        )
    directory = json.loads(data.slice(end - length, length).to_pybytes())
    count, begin = directory["hashes"]
    sections = {}
    for name, size, ends, places, rows, after in directory["sections"]:
        table = pa.ipc.open_stream(data.slice(rows, after - rows)).read_all()
        sections[name] = IndexedRows(
            table, np.frombuffer(data, np.int32, size, places), np.frombuffer(data, np.int64, count, ends)
        )
    return Level(np.frombuffer(data, np.uint32, count, begin), sections, data)


def _write_numbers(numbers: np.ndarray, sink: pa.NativeFile) -> int:
    """Write numbers; return where they begin."""
    place = _aligned(sink)
    sink.write(pa.py_buffer(np.ascontiguousarray(numbers)))
    return place


def _aligned(sink: pa.NativeFile) -> int:
    """Go on to where the next part may begin; return that."""
    sink.write(bytes(-sink.tell() % _ALIGNMENT))
    return sink.tell()
