"""Packets: the rows of one task for one bucket as bytes, with the greatest event time that the task saw."""

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
from cepsql.pattern.program import END_OF_TIME

PACKET_DDL = "bucket INT, packet BINARY"
"""The Spark schema of packed rows."""

PACKET_SCHEMA = pa.schema([("bucket", pa.int32()), ("packet", pa.binary())])
"""The Arrow schema of packed rows."""

BEGINNING = -END_OF_TIME
"""The greatest event time of no row at all."""

MAX_ROWS, MAX_BYTES = 2_000_000, 256 * 2**20
"""How much a task gathers before it gives out its packets."""

_PIECE_ROWS = 131_072
_MAGIC, _VERSION = b"CEPP", 2
_HEADER = struct.Struct("<4sHxxqqqqqqq")


@dataclass(frozen=True)
class Packet:
    """A packet that was read.

    greatest: the greatest event time that the task saw in all buckets, END_OF_TIME after a control row.
    counts:   read, malformed, null_time and null_key of this bucket's rows.
    rows:     the rows, or None.
    aside:    malformed rows and those without event time, as `cepsql.ordered.rejected` has them; None where they do
              not travel or there are none.
    dead:     the event times (int64) of rows of any bucket that were left out, since they can change no match.
    """

    greatest: int
    counts: Counts
    rows: pa.Table | None
    dead: np.ndarray
    aside: pa.Table | None = None


def pack(
    batches: Iterable[pa.RecordBatch],
    buckets: int,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
    alive: tuple[int, ...] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Split a task's rows by bucket and give out one packet for every bucket, also for those without rows.

    batches: a program's columns (k*, t, o*, v*, m), `bucket` INT in 0..buckets-1 and perhaps `malformed` BOOLEAN and
             the struct `whole`, or `bound` BIGINT: a row that has one is no row but a marker, and the greatest of these
             counts as the greatest event time, whatever the rows have.
    Rows that are malformed or have no event time are counted; where rows have `whole`, that travels apart from the
    other rows, else they are dropped. A row with t = END_OF_TIME is no row but
    the sign that nothing follows. A task without any row gives nothing; one with more than `max_rows` or `max_bytes`
    gives several packets a bucket. Yields batches of PACKET_SCHEMA.
    alive: as `cepsql.pattern.dead_rows` gives it. Of dead rows only the times travel, those of all buckets in the
           packets of bucket 0, where they tell how many were late.
    """
    task = _Task(buckets, alive)
    for piece in _pieces(batches):
        task.add(piece)
        if task.rows >= max_rows or task.bytes >= max_bytes:
            yield task.flush()
    if task.pending:
        yield task.flush()


def open_packet(data: bytes) -> Packet:
    """Read a packet; its rows share the memory of `data`.

    Raises OperationalError if another version of cepsql wrote it.
    """
    magic, version, greatest, read, malformed, null_time, null_key, dead, aside = _HEADER.unpack_from(data)
    if (magic, version) != (_MAGIC, _VERSION):
        raise OperationalError(
            f"a packet has format {magic!r} {version}, not {_MAGIC!r} {_VERSION}",
            hint="install the same version of cepsql on all workers",
        )
    counts = Counts(read=read, malformed=malformed, null_time=null_time, null_key=null_key)
    times = np.frombuffer(data, np.int64, dead, _HEADER.size)
    body = pa.py_buffer(data).slice(_HEADER.size + times.nbytes)
    return Packet(greatest, counts, _table(body.slice(aside)), times, _table(body.slice(0, aside)))


def _table(data: pa.Buffer) -> pa.Table | None:
    return pa.ipc.open_stream(data).read_all() if data.size else None


class _Task:
    """What a task has gathered since it last gave out packets, and the greatest event time since it began."""

    def __init__(self, buckets: int, alive: tuple[int, ...] | None):
        self.buckets, self.alive, self.greatest = buckets, alive, BEGINNING
        self._clear()

    def _clear(self) -> None:
        self.rows, self.bytes, self.pending = 0, 0, False
        self.parts: list[list[pa.RecordBatch]] = [[] for _ in range(self.buckets)]
        self.aside: dict[int, list[pa.RecordBatch]] = {}
        self.dead: list[np.ndarray] = []
        self.read, self.malformed, self.null_time, self.null_key = np.zeros((4, self.buckets), np.int64)

    def add(self, piece: pa.RecordBatch) -> None:
        self.pending = True
        marked = "bound" in piece.schema.names
        if marked:
            piece = self._take_markers(piece)
        ends = _flags(pc.equal(piece["t"], END_OF_TIME))
        if ends.any():
            self.greatest = END_OF_TIME
            piece = piece.filter(pa.array(~ends))
        bucket = integers(piece["bucket"])
        malformed = np.zeros(len(bucket), bool)
        if "malformed" in piece.schema.names:
            malformed = _flags(piece["malformed"])
        timeless = _flags(pc.is_null(piece["t"])) & ~malformed
        self.read += self._tally(bucket)
        self.malformed += self._tally(bucket[malformed])
        self.null_time += self._tally(bucket[timeless])
        dropped = malformed | timeless
        if dropped.any():
            if WHOLE in piece.schema.names:
                self._set_aside(piece.filter(pa.array(dropped)), bucket[dropped], malformed[dropped])
            piece, bucket = piece.filter(pa.array(~dropped)), bucket[~dropped]
        if len(bucket):
            if not marked:
                self.greatest = max(self.greatest, pc.max(piece["t"]).as_py())
            self._split(_canonical_keys(piece.drop_columns([n for n in _EXTRA if n in piece.schema.names])), bucket)

    def _set_aside(self, piece: pa.RecordBatch, bucket: np.ndarray, malformed: np.ndarray) -> None:
        rejected = set_aside(piece[WHOLE], malformed)
        for b in np.unique(bucket).tolist():
            self.aside.setdefault(b, []).append(rejected.filter(pa.array(bucket == b)))
        self.rows += rejected.num_rows
        self.bytes += rejected.nbytes

    def _take_markers(self, piece: pa.RecordBatch) -> pa.RecordBatch:
        markers = piece["bound"].drop_null()
        if len(markers):
            self.greatest = max(self.greatest, pc.max(markers).as_py())
        return piece.filter(pc.is_null(piece["bound"]))

    def _split(self, piece: pa.RecordBatch, bucket: np.ndarray) -> None:
        self.null_key += self._tally(bucket[_null_key(piece)])
        if self.alive is not None:
            piece, bucket = self._without_dead(piece, bucket)
        sizes = self._tally(bucket)
        order = np.argsort(bucket.astype(np.min_scalar_type(self.buckets - 1)), kind="stable")
        piece = piece.take(pa.array(order))
        for b, begin in enumerate(np.cumsum(sizes) - sizes):
            if sizes[b]:
                self.parts[b].append(piece.slice(begin, sizes[b]))
        self.rows += piece.num_rows
        self.bytes += piece.nbytes

    def _without_dead(self, piece: pa.RecordBatch, bucket: np.ndarray) -> tuple[pa.RecordBatch, np.ndarray]:
        mask = integers(piece["m"])
        alive = np.logical_or.reduce([mask & bits == bits for bits in self.alive])
        times = integers(piece["t"])[~alive]
        self.dead.append(times)
        self.bytes += times.nbytes
        return piece.filter(pa.array(alive)), bucket[alive]

    def _tally(self, bucket: np.ndarray) -> np.ndarray:
        return np.bincount(bucket, minlength=self.buckets)

    def flush(self) -> pa.RecordBatch:
        sink, ends = pa.BufferOutputStream(), [0]
        for b, parts in enumerate(self.parts):
            counts = (int(n[b]) for n in (self.read, self.malformed, self.null_time, self.null_key))
            dead = self.dead if b == 0 else []
            aside = _section(self.aside[b]) if b in self.aside else b""
            sink.write(_HEADER.pack(_MAGIC, _VERSION, self.greatest, *counts, sum(map(len, dead)), len(aside)))
            for times in dead:
                sink.write(times)
            sink.write(aside)
            if parts:
                _write(sink, parts)
            ends.append(sink.tell())
        packets = pa.Array.from_buffers(
            pa.binary(), self.buckets, [None, pa.py_buffer(np.array(ends, np.int32)), sink.getvalue()]
        )
        self._clear()
        return pa.RecordBatch.from_arrays([pa.array(range(self.buckets), pa.int32()), packets], schema=PACKET_SCHEMA)


_EXTRA = ("bucket", "malformed", "bound")


def _section(batches: list[pa.RecordBatch]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    _write(sink, batches)
    return sink.getvalue()


def _write(sink: pa.NativeFile, batches: list[pa.RecordBatch]) -> None:
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Gather small batches into larger ones, whose columns still fit the processor's cache."""
    gathered, rows = [], 0
    for batch in batches:
        if batch.num_rows:
            gathered.append(plain_batch(batch))
            rows += batch.num_rows
        if rows >= _PIECE_ROWS:
            yield _concatenated(gathered)
            gathered, rows = [], 0
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
