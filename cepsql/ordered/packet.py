"""Packets: the rows of one task for one bucket as bytes, with their input and the task's greatest event time there."""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError
from cepsql.ordered.arrival import RUN, OriginRun, Runs, read_runs
from cepsql.ordered.counts import Counts
from cepsql.ordered.plain_columns import canonical, flags, integers, marked, one_chunk, plain_batch
from cepsql.ordered.rejected import WHOLE, set_aside
from cepsql.ordered.row_bytes import narrow, read_rows, write_rows
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME, REPEATED, Reduction

PACKET_DDL = "bucket INT, packet BINARY"
"""The Spark schema of packed rows."""

PACKET_SCHEMA = pa.schema([("bucket", pa.int32()), ("packet", pa.binary())])
"""The Arrow schema of packed rows."""

PIECE_ROWS, PIECE_BYTES = 131_072, 64 * 2**20
"""How much a task gathers before it emits packets: the columns of so many rows fit the processor's cache."""

_MAGIC, _VERSION = b"CEPP", 8
# Its size is a multiple of eight, to align the times after it for numpy.
_HEADER = struct.Struct("<4sBH?qqqqqqqqqqqq")

_LAST_CLOCK = 2**53
"""Later than any system clock, in microseconds."""

MAX_INPUTS = 2**16
"""The most inputs of a stage."""


@dataclass(frozen=True)
class Packet:
    """A decoded packet.

    input:    the number of the input that its rows come from.
    ended:    whether a control row said that the input of the query ends.
    greatest: the task's greatest event time in all buckets, END_OF_TIME if a marker says that no row follows.
    counts:   read, malformed, null_time, ahead, punctuation and null_key of this bucket's rows.
    rows:     the rows, or None.
    aside:    malformed rows, rows without event time and rows too far ahead, in the form of `cepsql.ordered.rejected`;
              None if there are none, or they do not travel.
    dead:     the event times (int64) of rows of any bucket that a reduction left out.
    heartbeat: the clock of the last heartbeat, in microseconds since the epoch; BEGINNING without one.
    producers: the greatest event time in all buckets of each producer of the packet's rows; empty without producers.
    runs:     the runs of the rows in order, each with its number of rows; empty if no source has an order.
    """

    input: int
    ended: bool
    greatest: int
    counts: Counts
    rows: pa.Table | None
    dead: np.ndarray
    aside: pa.Table | None = None
    heartbeat: int = BEGINNING
    producers: Mapping[str | None, int] = field(default_factory=dict)
    runs: Sequence[tuple[int, OriginRun]] = ()


def pack(
    batches: Iterable[pa.RecordBatch],
    buckets: int,
    input: int = 0,
    reduction: Reduction | None = None,
    piece_rows: int = PIECE_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Split a task's rows by bucket and emit one packet for every bucket, also for those without rows.

    batches: the columns of a layout (k*, t, o*, v*, m), `bucket` INT in 0..buckets-1 and perhaps
             `malformed` BOOLEAN, `ahead` BOOLEAN: the row's time is too far ahead, and does not advance the watermark;
             `whole` STRUCT: all columns of the row;
             `producer` STRING: the producer of the row;
             `repeated` BOOLEAN: another row stands for the same record, so that this one is not counted;
             `seen` BIGINT: the event time of a row with t = NULL, for the greatest event time;
             `reached` BIGINT: not NULL for punctuation; it counts for the greatest event time;
             `bound` BIGINT: not NULL for a marker; the greatest of these is the greatest event time, whatever the rows
             have;
             ORIGIN and PLACE of `cepsql.ordered.arrival`: the row's place in its source.
    input:   the number of the rows' input, below MAX_INPUTS.
    reduction: leaves out rows that need not travel. Only their times travel, those of all buckets in the packets of
             bucket 0, to count the late ones.
    piece_rows: packets are emitted after so many rows, or PIECE_BYTES. A task without any row emits nothing.
    Rows that are malformed, too far ahead or without event time are counted; if rows have `whole`, it travels apart
    from the other rows, otherwise they are dropped. Punctuation is only counted. A row with t = END_OF_TIME signals the
    end of the query's input, and one with a `heartbeat_time` the clock; a marker with `bound` = END_OF_TIME signals
    the end of this input.
    Yields batches of PACKET_SCHEMA.
    """
    task = _Task(buckets, input, reduction)
    for piece, runs in _pieces(batches, piece_rows):
        yield task.packets(piece, runs)


def pack_in_task(
    batches: Iterable[pa.RecordBatch], input: int = 0, reduction: Reduction | None = None
) -> Iterator[Packet]:
    """Yield the packets of a task's rows for one bucket, decoded: those that `open_packet` would read from `pack`.

    No row is encoded: the packets share the memory of the batches.
    """
    task = _Task(1, input, reduction)
    for piece, runs in _pieces(batches, PIECE_ROWS):
        yield task.packet(piece, runs)


def open_packet(data: bytes | Packet) -> Packet:
    """Decode a packet; its rows share the memory of `data`. A decoded packet is returned unchanged.

    Raises OperationalError if another version of cepsql wrote it.
    """
    if isinstance(data, Packet):
        return data
    header = _HEADER.unpack_from(data)
    magic, version, input, ended, greatest, heartbeat, *counted, dead, producing, placing, aside = header
    if (magic, version) != (_MAGIC, _VERSION):
        raise OperationalError(
            f"a packet has format {magic!r} {version}, not {_MAGIC!r} {_VERSION}",
            hint="install the same version of cepsql on all workers",
        )
    counts = Counts(**dict(zip(_COUNTED, counted, strict=True)))
    times = np.frombuffer(data, np.int64, dead, _HEADER.size)
    body = pa.py_buffer(data).slice(_HEADER.size + times.nbytes)
    producers = read_rows(body.slice(0, producing))
    producer_times = _read_producers(producers)
    runs = read_runs(body.slice(producing, placing).to_pybytes())
    body = body.slice(producing + placing)
    rows, rejected = read_rows(body.slice(aside)), read_rows(body.slice(0, aside))
    return Packet(input, ended, greatest, counts, rows, times, rejected, heartbeat, producer_times, runs)


def empty_packet() -> bytes:
    """Return an empty packet of the first input, which makes a bucket run without rows."""
    return _HEADER.pack(_MAGIC, _VERSION, 0, False, BEGINNING, BEGINNING, *(0 for _ in _COUNTED), 0, 0, 0, 0)


def heartbeat_time(clock: int) -> int:
    """Return the t of a heartbeat row with this clock, in microseconds since the epoch."""
    return END_OF_TIME + clock


class _Task:
    """Makes packets, and tracks the greatest event time and the last heartbeat of the task."""

    def __init__(self, buckets: int, input: int, reduction: Reduction | None):
        self.buckets, self.input, self.reduction = buckets, input, reduction
        self.greatest, self.heartbeat, self.ended = BEGINNING, BEGINNING, False

    def packets(self, piece: pa.RecordBatch, runs: Runs) -> pa.RecordBatch:
        """Return the packets of all buckets."""
        taken = self._taken(piece, runs)
        sections = self._sections(taken.rows, taken.bucket)
        return self._joined(taken, sections)

    def packet(self, piece: pa.RecordBatch, runs: Runs) -> Packet:
        """Return the packet of the only bucket."""
        taken = self._taken(piece, runs)
        rows = pa.Table.from_batches([taken.rows]) if taken.rows.num_rows else None
        counts = Counts(**{name: int(tally[0]) for name, tally in zip(_COUNTED, taken.tallies, strict=True)})
        aside, producers = (read_rows(pa.py_buffer(data)) for data in (taken.aside[0], taken.producers))
        return Packet(
            self.input,
            self.ended,
            self.greatest,
            counts,
            rows,
            taken.dead,
            aside,
            self.heartbeat,
            _read_producers(producers),
            read_runs(taken.places[0]),
        )

    def _taken(self, piece: pa.RecordBatch, runs: Runs) -> "_Taken":
        has_markers = "bound" in piece.schema.names
        if has_markers:
            piece = self._take_markers(piece)
        control = flags(pc.greater_equal(piece["t"], END_OF_TIME))
        if control.any():
            piece = self._take_control(piece, control)
        bucket = integers(piece["bucket"])
        malformed = marked(piece, "malformed")
        ahead = marked(piece, "ahead") & ~malformed
        punctuation = np.zeros(len(bucket), bool)
        if "reached" in piece.schema.names:
            punctuation = flags(pc.is_valid(piece["reached"]))
        timeless = flags(pc.is_null(piece["t"])) & ~malformed & ~ahead & ~punctuation
        dropped, read = malformed | timeless | ahead, ~marked(piece, REPEATED)
        tallies = [self._tally(bucket[read & rows]) for rows in (read, malformed, timeless, ahead)]
        aside = [b""] * self.buckets
        if dropped.any():
            if WHOLE in piece.schema.names:
                is_rejected = dropped & read
                rejected = set_aside(
                    piece.filter(pa.array(is_rejected))[WHOLE], malformed[is_rejected], ahead[is_rejected]
                )
                aside = self._sections(rejected, bucket[is_rejected])
            piece, bucket = piece.filter(pa.array(~dropped)), bucket[~dropped]
            punctuation, read = punctuation[~dropped], read[~dropped]
        producers = _producers(piece)
        if len(bucket) and not has_markers:
            reached = pc.max(_reached(piece)).as_py()
            self.greatest = self.greatest if reached is None else max(self.greatest, reached)
        tallies.append(self._tally(bucket[punctuation & read]))
        if punctuation.any():
            piece, bucket, read = piece.filter(pa.array(~punctuation)), bucket[~punctuation], read[~punctuation]
        tallies.append(self._tally(bucket[_null_key(piece) & read]))
        if _SEEN in piece.schema.names:
            piece = piece.drop_columns([_SEEN])
        dead = np.zeros(0, np.int64)
        if self.reduction is not None and len(bucket):
            piece, dead = self.reduction(piece)
            bucket = integers(piece["bucket"])
        places = runs.encoded(piece, bucket, self.buckets)
        piece = piece.drop_columns([name for name in _EXTRA if name in piece.schema.names])
        return _Taken(_canonical_keys(piece), bucket, tallies, dead, producers, places, aside)

    def _take_control(self, piece: pa.RecordBatch, control: np.ndarray) -> pa.RecordBatch:
        times = integers(piece["t"].filter(pa.array(control)))
        if (times == END_OF_TIME).any():
            self.ended = True
        clocks = times[(times > END_OF_TIME) & (times < heartbeat_time(_LAST_CLOCK))] - END_OF_TIME
        self.heartbeat = max([self.heartbeat, *clocks.tolist()])
        # A row later than the end of time would wait forever.
        beyond = pc.greater_equal(piece["t"], heartbeat_time(_LAST_CLOCK))
        place = piece.schema.get_field_index("t")
        piece = piece.set_column(place, "t", pc.if_else(beyond, pa.scalar(None, pa.int64()), piece["t"]))
        return piece.filter(pa.array(~control | flags(beyond)))

    def _take_markers(self, piece: pa.RecordBatch) -> pa.RecordBatch:
        markers = piece["bound"].drop_null()
        if len(markers):
            self.greatest = max(self.greatest, pc.max(markers).as_py())
        return piece.filter(pc.is_null(piece["bound"]))

    def _sections(self, rows: pa.RecordBatch, bucket: np.ndarray) -> list[pa.Buffer]:
        """Return the rows of each bucket as an Arrow IPC stream, empty for a bucket without rows."""
        if self.buckets == 1:
            return [write_rows(rows)]
        sizes = self._tally(bucket)
        order = np.argsort(bucket.astype(np.min_scalar_type(self.buckets - 1)), kind="stable")
        # Narrow columns are sorted faster than wide ones.
        rows = narrow(rows).take(pa.array(order))
        begins = np.cumsum(sizes) - sizes
        return [write_rows(rows.slice(b, n)) for b, n in zip(begins.tolist(), sizes.tolist(), strict=True)]

    def _tally(self, bucket: np.ndarray) -> np.ndarray:
        return np.bincount(bucket, minlength=self.buckets)

    def _joined(self, taken: "_Taken", sections: list[pa.Buffer]) -> pa.RecordBatch:
        packets, producers = [], taken.producers
        for b, (runs, outside, inside) in enumerate(zip(taken.places, taken.aside, sections, strict=True)):
            times = taken.dead.tobytes() if b == 0 else b""
            counts = (int(tally[b]) for tally in taken.tallies)
            header = _HEADER.pack(
                _MAGIC,
                _VERSION,
                self.input,
                self.ended,
                self.greatest,
                self.heartbeat,
                *counts,
                len(times) // 8,
                len(producers),
                len(runs),
                len(outside),
            )
            packets.append(b"".join([header, times, producers, runs, outside, inside]))
        arrays = [pa.array(range(self.buckets), pa.int32()), pa.array(packets, pa.binary())]
        return pa.RecordBatch.from_arrays(arrays, schema=PACKET_SCHEMA)


class _Taken(NamedTuple):
    """The contents of packets.

    rows, bucket: the rows that travel, and the bucket of each.
    tallies:      for each of _COUNTED the number of rows in each bucket.
    dead:         as in `Packet`.
    producers, places, aside: as in the bytes of a packet, the last two for each bucket.
    """

    rows: pa.RecordBatch
    bucket: np.ndarray
    tallies: list[np.ndarray]
    dead: np.ndarray
    producers: bytes
    places: list[bytes]
    aside: list


_SEEN = "seen"
_EXTRA = ("bucket", "malformed", "ahead", "producer", "reached", "bound", RUN)
_COUNTED = ("read", "malformed", "null_time", "ahead", "punctuation", "null_key")
"""The counts in a packet's header."""


def _pieces(batches: Iterable[pa.RecordBatch], piece_rows: int) -> Iterator[tuple[pa.RecordBatch, Runs]]:
    """Gather small batches into larger pieces, each with its runs."""
    gathered, runs, rows, size, before = [], Runs(), 0, 0, 0
    for batch in batches:
        if batch.num_rows:
            gathered.append(plain_batch(runs.gathered(batch, before)))
            rows += batch.num_rows
            size += batch.nbytes
            before += batch.num_rows
        if rows >= piece_rows or size >= PIECE_BYTES:
            yield runs.marked(_concatenated(gathered)), runs
            gathered, runs, rows, size = [], Runs(), 0, 0
    if gathered:
        yield runs.marked(_concatenated(gathered)), runs


def _concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches)
    return pa.RecordBatch.from_arrays([one_chunk(c) for c in table.columns], schema=table.schema)


def _reached(piece: pa.RecordBatch) -> pa.Array:
    """Return the event time that each row reports for its input."""
    times = piece["t"]
    if _SEEN in piece.schema.names:
        # No valid event time is later than the end of time.
        times = pc.if_else(pc.less(piece[_SEEN], END_OF_TIME), piece[_SEEN], pa.scalar(None, pa.int64()))
    return pc.coalesce(piece["reached"], times) if "reached" in piece.schema.names else times


def _producers(piece: pa.RecordBatch) -> bytes:
    """Return the greatest event time of each producer, as an Arrow IPC stream; empty without producers."""
    if "producer" not in piece.schema.names or not piece.num_rows:
        return b""
    times = pa.table([piece["producer"].cast(pa.string()), _reached(piece)], ["producer", "t"])
    (greatest,) = times.group_by("producer").aggregate([("t", "max")]).combine_chunks().to_batches()
    return bytes(write_rows(greatest.select(["producer", "t_max"])))


def _read_producers(table: pa.Table | None) -> dict[str | None, int]:
    return {} if table is None else dict(zip(*(column.to_pylist() for column in table.columns), strict=True))


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
