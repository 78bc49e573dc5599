"""Packets: the rows of one task for one bucket as bytes, with their input and the greatest time the task saw there."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError
from cepsql.ordered.columns import canonical, integers, one_chunk, plain_batch
from cepsql.ordered.counts import Counts
from cepsql.ordered.rejected import WHOLE, set_aside
from cepsql.ordered.row_bytes import narrow, read_rows, write_rows
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, Reduction

PACKET_DDL = "bucket INT, packet BINARY"
"""The Spark schema of packed rows."""

PACKET_SCHEMA = pa.schema([("bucket", pa.int32()), ("packet", pa.binary())])
"""The Arrow schema of packed rows."""

PIECE_ROWS, PIECE_BYTES = 131_072, 64 * 2**20
"""How much a task gathers before it gives out packets: the columns of so many rows fit the processor's cache."""

_MAGIC, _VERSION = b"CEPP", 5
_HEADER = struct.Struct("<4sHB?qqqqqqqq")

_LAST_CLOCK = 2**53
"""Later than any clock, in microseconds."""

MAX_INPUTS = 256
"""How many inputs packets can tell apart."""


@dataclass(frozen=True)
class Packet:
    """A packet that was read.

    input:    the number of the input that its rows come from.
    ended:    whether a control row said that the input of the query ends.
    greatest: the greatest event time that the task saw in all buckets, END_OF_TIME where no row of the input follows.
    counts:   read, malformed, null_time and null_key of this bucket's rows.
    rows:     the rows, or None.
    aside:    malformed rows and those without event time, as `cepsql.ordered.rejected` has them; None where they do
              not travel or there are none.
    dead:     the event times (int64) of rows of any bucket that a reduction left out.
    heartbeat: what the clock showed, in microseconds since the epoch, at the last heartbeat that came; BEGINNING: none.
    """

    input: int
    ended: bool
    greatest: int
    counts: Counts
    rows: pa.Table | None
    dead: np.ndarray
    aside: pa.Table | None = None
    heartbeat: int = BEGINNING


def pack(
    batches: Iterable[pa.RecordBatch],
    buckets: int,
    input: int = 0,
    reduction: Reduction | None = None,
    piece_rows: int = PIECE_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Split a task's rows by bucket and give out one packet for every bucket, also for those without rows.

    batches: the columns of a layout (k*, t, o*, v*, m), `bucket` INT in 0..buckets-1 and perhaps `malformed` BOOLEAN
             and the struct `whole`, or `bound` BIGINT: a row that has one is no row but a marker, and the greatest of
             these counts as the greatest event time, whatever the rows have.
    input:   the number of the input that the rows come from, below MAX_INPUTS.
    reduction: leaves out rows that need not travel. Only their times do, those of all buckets in the packets of
             bucket 0, where they tell how many were late.
    piece_rows: after so many rows, or PIECE_BYTES, packets are given out. A task without any row gives nothing.
    Rows that are malformed or have no event time are counted; where rows have `whole`, that travels apart from the
    other rows, else they are dropped. A row with t = END_OF_TIME is no row but the sign that the input of the query
    ends, and one of `heartbeat_time` says what the clock shows; a marker with `bound` = END_OF_TIME says that nothing
    follows in this input.
    Yields batches of PACKET_SCHEMA.
    """
    task = _Task(buckets, input, reduction)
    for piece in _pieces(batches, piece_rows):
        yield task.packets(piece)


def open_packet(data: bytes) -> Packet:
    """Read a packet; its rows share the memory of `data`.

    Raises OperationalError if another version of cepsql wrote it.
    """
    header = _HEADER.unpack_from(data)
    magic, version, input, ended, greatest, heartbeat, read, malformed, null_time, null_key, dead, aside = header
    if (magic, version) != (_MAGIC, _VERSION):
        raise OperationalError(
            f"a packet has format {magic!r} {version}, not {_MAGIC!r} {_VERSION}",
            hint="install the same version of cepsql on all workers",
        )
    counts = Counts(read=read, malformed=malformed, null_time=null_time, null_key=null_key)
    times = np.frombuffer(data, np.int64, dead, _HEADER.size)
    body = pa.py_buffer(data).slice(_HEADER.size + times.nbytes)
    rows, rejected = read_rows(body.slice(aside)), read_rows(body.slice(0, aside))
    return Packet(input, ended, greatest, counts, rows, times, rejected, heartbeat)


def heartbeat_time(clock: int) -> int:
    """Return the t of the row that says that the clock shows so many microseconds since the epoch."""
    return END_OF_TIME + clock


class _Task:
    """Makes packets, and remembers the greatest event time and the last heartbeat since the task began."""

    def __init__(self, buckets: int, input: int, reduction: Reduction | None):
        self.buckets, self.input, self.reduction = buckets, input, reduction
        self.greatest, self.heartbeat, self.ended = BEGINNING, BEGINNING, False

    def packets(self, piece: pa.RecordBatch) -> pa.RecordBatch:
        marked = "bound" in piece.schema.names
        if marked:
            piece = self._take_markers(piece)
        control = _flags(pc.greater_equal(piece["t"], END_OF_TIME))
        if control.any():
            piece = self._take_control(piece, control)
        bucket = integers(piece["bucket"])
        malformed = np.zeros(len(bucket), bool)
        if "malformed" in piece.schema.names:
            malformed = _flags(piece["malformed"])
        timeless = _flags(pc.is_null(piece["t"])) & ~malformed
        tallies = [self._tally(bucket), self._tally(bucket[malformed]), self._tally(bucket[timeless])]
        dropped, aside = malformed | timeless, [b""] * self.buckets
        if dropped.any():
            if WHOLE in piece.schema.names:
                rejected = set_aside(piece.filter(pa.array(dropped))[WHOLE], malformed[dropped])
                aside = self._sections(rejected, bucket[dropped])
            piece, bucket = piece.filter(pa.array(~dropped)), bucket[~dropped]
        if len(bucket) and not marked:
            self.greatest = max(self.greatest, pc.max(piece["t"]).as_py())
        tallies.append(self._tally(bucket[_null_key(piece)]))
        dead = np.zeros(0, np.int64)
        if self.reduction is not None and len(bucket):
            piece, dead = self.reduction(piece)
            bucket = integers(piece["bucket"])
        piece = piece.drop_columns([name for name in _EXTRA if name in piece.schema.names])
        sections = self._sections(_canonical_keys(piece), bucket)
        return self._joined(tallies, dead, aside, sections)

    def _take_control(self, piece: pa.RecordBatch, control: np.ndarray) -> pa.RecordBatch:
        times = integers(piece["t"].filter(pa.array(control)))
        if (times == END_OF_TIME).any():
            self.greatest, self.ended = END_OF_TIME, True
        clocks = times[(times > END_OF_TIME) & (times < heartbeat_time(_LAST_CLOCK))] - END_OF_TIME
        self.heartbeat = max([self.heartbeat, *clocks.tolist()])
        # No row can be waited for whose time is later than the end of time.
        beyond = pc.greater_equal(piece["t"], heartbeat_time(_LAST_CLOCK))
        place = piece.schema.get_field_index("t")
        piece = piece.set_column(place, "t", pc.if_else(beyond, pa.scalar(None, pa.int64()), piece["t"]))
        return piece.filter(pa.array(~control | _flags(beyond)))

    def _take_markers(self, piece: pa.RecordBatch) -> pa.RecordBatch:
        markers = piece["bound"].drop_null()
        if len(markers):
            self.greatest = max(self.greatest, pc.max(markers).as_py())
        return piece.filter(pc.is_null(piece["bound"]))

    def _sections(self, rows: pa.RecordBatch, bucket: np.ndarray) -> list[pa.Buffer]:
        """Return the rows of each bucket as an Arrow IPC stream, nothing for a bucket without rows."""
        sizes = self._tally(bucket)
        order = np.argsort(bucket.astype(np.min_scalar_type(self.buckets - 1)), kind="stable")
        # Narrow columns are sorted faster than wide ones.
        rows = narrow(rows).take(pa.array(order))
        begins = np.cumsum(sizes) - sizes
        return [write_rows(rows.slice(b, n)) for b, n in zip(begins.tolist(), sizes.tolist(), strict=True)]

    def _tally(self, bucket: np.ndarray) -> np.ndarray:
        return np.bincount(bucket, minlength=self.buckets)

    def _joined(self, tallies: list[np.ndarray], dead: np.ndarray, aside: list, sections: list) -> pa.RecordBatch:
        packets = []
        for b, (outside, inside) in enumerate(zip(aside, sections, strict=True)):
            times = dead.tobytes() if b == 0 else b""
            counts = (int(tally[b]) for tally in tallies)
            header = _HEADER.pack(
                _MAGIC,
                _VERSION,
                self.input,
                self.ended,
                self.greatest,
                self.heartbeat,
                *counts,
                len(times) // 8,
                len(outside),
            )
            packets.append(b"".join([header, times, outside, inside]))
        arrays = [pa.array(range(self.buckets), pa.int32()), pa.array(packets, pa.binary())]
        return pa.RecordBatch.from_arrays(arrays, schema=PACKET_SCHEMA)


_EXTRA = ("bucket", "malformed", "bound")


def _pieces(batches: Iterable[pa.RecordBatch], piece_rows: int) -> Iterator[pa.RecordBatch]:
    """Gather small batches into larger ones."""
    gathered, rows, size = [], 0, 0
    for batch in batches:
        if batch.num_rows:
            gathered.append(plain_batch(batch))
            rows += batch.num_rows
            size += batch.nbytes
        if rows >= piece_rows or size >= PIECE_BYTES:
            yield _concatenated(gathered)
            gathered, rows, size = [], 0, 0
    if gathered:
        yield _concatenated(gathered)


def _concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches)
    return pa.RecordBatch.from_arrays([one_chunk(c) for c in table.columns], schema=table.schema)


def _flags(column: pa.Array) -> np.ndarray:
    return column.fill_null(False).to_numpy(zero_copy_only=False)


def _is_key(name: str) -> bool:
    return name.startswith("k")


def _null_key(piece: pa.RecordBatch) -> np.ndarray:
    null = np.zeros(piece.num_rows, bool)
    for name in filter(_is_key, piece.schema.names):
        if piece[name].null_count:
            null |= piece[name].is_null().to_numpy(zero_copy_only=False)
    return null


def _canonical_keys(piece: pa.RecordBatch) -> pa.RecordBatch:
    columns = [canonical(c) if _is_key(n) else c for n, c in zip(piece.schema.names, piece.columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=piece.schema)
