"""The state of a bucket, and its bytes: a fixed header, then Arrow IPC streams."""

import struct
from dataclasses import astuple, dataclass, field, fields

import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.ordered.columns import compact
from cepsql.ordered.counts import Counts
from cepsql.ordered.packet import BEGINNING
from cepsql.ordered.row_bytes import read_rows, write_rows

_MAGIC, _VERSION = b"CEPS", 3
_COUNTS = len(fields(Counts))
_HEADER = struct.Struct(f"<4sHxx16sq{_COUNTS}q3q")
_MAX_BYTES = 2**31 - 64


@dataclass(frozen=True)
class State:
    """What a bucket keeps from one micro-batch to the next.

    bound:   rows with t <= bound were released; a row that comes at or below it is late.
    counts:  what became of all rows since the query began.
    held:    released rows that a later scan reads again, partition by partition and in order, or None. Further
             columns: `first` BOOLEAN begins a partition, `context` BOOLEAN is kept only for PREV, and with
             WITH UNMATCHED ROWS `covered` BOOLEAN is in a match that was given out.
    waiting: rows above the bound in no order, or None.
    numbers: the keys that had matches, with `number` BIGINT, how many; None if the program does not ask for it.
    """

    bound: int = BEGINNING
    counts: Counts = field(default_factory=Counts)
    held: pa.Table | None = None
    waiting: pa.Table | None = None
    numbers: pa.Table | None = None


def encode(state: State, fingerprint: str) -> bytes:
    """Write the state of a query whose program has this fingerprint (16 characters).

    Raises OperationalError if it outgrows what Spark keeps in one value (2 GiB).
    """
    sections = [_section(table) for table in (state.held, state.waiting, state.numbers)]
    sizes = [section.size for section in sections]
    if _HEADER.size + sum(sizes) > _MAX_BYTES:
        raise OperationalError(
            "the state of a bucket outgrows 2 GiB", hint="use more buckets, or bound the pattern by WITHIN"
        )
    header = _HEADER.pack(_MAGIC, _VERSION, fingerprint.encode(), state.bound, *astuple(state.counts), *sizes)
    return b"".join([header, *sections])


def decode(data: bytes, fingerprint: str) -> State:
    """Read a state; its tables share the memory of `data`.

    Raises OperationalError if another format of state or another program wrote it.
    """
    magic, version = struct.unpack_from("<4sH", data)
    if (magic, version) != (_MAGIC, _VERSION):
        raise _unusable(f"the stored state has format {magic!r} {version}, not {_MAGIC!r} {_VERSION}")
    _, _, written, bound, *numbers = _HEADER.unpack_from(data)
    if written.rstrip(b"\0") != fingerprint.encode():
        raise _unusable("the stored state belongs to another text of the query")
    tables, begin = [], _HEADER.size
    for size in numbers[_COUNTS:]:
        section = pa.py_buffer(data).slice(begin, size)
        tables.append(read_rows(section))
        begin += size
    return State(bound, Counts(*numbers[:_COUNTS]), *tables)


def _section(table: pa.Table | None) -> pa.Buffer:
    if table is None or not table.num_rows:
        return pa.py_buffer(b"")
    (rows,) = compact(table).to_batches()
    return write_rows(rows)


def _unusable(message: str) -> OperationalError:
    return OperationalError(message, hint="start the query with a new checkpoint and replay its input")
