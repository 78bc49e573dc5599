"""What a state remembers of some keys, in place of what it remembered of them before: rows, and an index of them.

Its bytes are never changed, and are read where they lie: a fixed header, a directory as JSON, then arrays of numbers
and Arrow IPC streams, each at a multiple of 64.
"""

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.ordered.plain_columns import compact, take_rows
from cepsql.ordered.row_bytes import open_rows, widen, write_rows

_MAGIC, _VERSION = b"CEPL", 1
_HEADER = struct.Struct("<4sHxxq")
_ALIGNMENT = 64


@dataclass(frozen=True)
class IndexedRows:
    """Rows of one section, in any order, found by the hashes of their keys.

    rows:   as `cepsql.ordered.row_bytes.narrow` leaves them, one chunk a column.
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
        places = self.places[ranges(begins, self.ends[hashes] - begins)]
        return widen(take_rows(self.rows, places))


@dataclass(frozen=True)
class Level:
    """What is remembered of some keys.

    hashes:   of these keys, ascending, each once (uint32). Older levels have nothing more to say of them.
    sections: their rows, by the names of the sections that have any.
    data:     the bytes of all this; None before they are needed.
    file:     the name of the file that they are in; None: the state itself has them.
    """

    hashes: np.ndarray
    sections: Mapping[str, IndexedRows]
    data: pa.Buffer | None = None
    file: str | None = None

    @property
    def size(self) -> int:
        """How many hashes and rows it has."""
        return len(self.hashes) + sum(section.rows.num_rows for section in self.sections.values())


def parts_size(parts: Iterable[pa.Buffer]) -> int:
    """Return how many bytes parts are together."""
    return sum(part.size for part in parts)


def ranges(begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the whole numbers from each beginning on, so many each, one after another."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - sizes), sizes)


def index_rows(rows: pa.Table, row_hashes: np.ndarray, hashes: np.ndarray) -> IndexedRows:
    """Return rows with an index of them.

    row_hashes: of the key of each row; all of them are among `hashes`, which are those of a level.
    """
    places = np.argsort(row_hashes, kind="stable").astype(np.int32)
    return IndexedRows(compact(rows), places, np.searchsorted(row_hashes[places], hashes, "right"))


def level_parts(level: Level) -> list[pa.Buffer]:
    """Return the bytes of a level one part after another, as `read_level` reads them."""
    if level.data is not None:
        return [level.data]
    parts, sections = _padded(level.hashes), []
    for name, section in level.sections.items():
        (batch,) = section.rows.to_batches()
        own = [_padded(section.ends), _padded(section.places), _padded(write_rows(batch))]
        sections.append([name, section.rows.num_rows, *map(parts_size, own)])
        parts += [piece for part in own for piece in part]
    directory = json.dumps({"hashes": len(level.hashes), "sections": sections}, separators=(",", ":")).encode()
    directory += b" " * (-(_HEADER.size + len(directory)) % _ALIGNMENT)
    return [pa.py_buffer(_HEADER.pack(_MAGIC, _VERSION, len(directory)) + directory), *parts]


def read_level(data: pa.Buffer, file: str | None = None) -> Level:
    """Read a level, which shares the memory of its bytes. Raises OperationalError for those of another version."""
    magic, version, length = _HEADER.unpack_from(data)
    if (magic, version) != (_MAGIC, _VERSION):
        raise OperationalError(
            f"the stored rows have format {magic!r} {version}, not {_MAGIC!r} {_VERSION}",
            hint="use the version of cepsql that wrote the checkpoint, or a new one, and replay the input",
        )
    directory = json.loads(data.slice(_HEADER.size, length).to_pybytes())
    begin, count = _HEADER.size + length, directory["hashes"]
    hashes = np.frombuffer(data, np.uint32, count, begin)
    begin += _aligned(hashes.nbytes)
    sections = {}
    for name, rows, *sizes in directory["sections"]:
        ends = np.frombuffer(data, np.int64, count, begin)
        places = np.frombuffer(data, np.int32, rows, begin + sizes[0])
        sections[name] = IndexedRows(open_rows(data.slice(begin + sizes[0] + sizes[1], sizes[2])), places, ends)
        begin += sum(sizes)
    return Level(hashes, sections, data, file)


def _padded(part: np.ndarray | pa.Buffer) -> list[pa.Buffer]:
    data = pa.py_buffer(part)
    return [data, pa.py_buffer(bytes(_aligned(data.size) - data.size))]


def _aligned(size: int) -> int:
    return size + -size % _ALIGNMENT
