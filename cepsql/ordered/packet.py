"""Packets: the rows of one task for one bucket as bytes, with their input and the greatest time the task saw there."""

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
"""How much a task gathers before it gives out packets: the columns of so many rows fit the processor's cache."""

_MAGIC, _VERSION = b"CEPP", 8
# Its size is a multiple of eight, so that the times behind it lie where numpy reads them.
_HEADER = struct.Struct("<4sBH?qqqqqqqqqqqq")

_LAST_CLOCK = 2**53
"""Later than any clock, in microseconds."""

MAX_INPUTS = 2**16
"""How many inputs packets can tell apart."""


@dataclass(frozen=True)
class Packet:
    """A packet that was read.

    input:    the number of the input that its rows come from.
    ended:    whether a control row said that the input of the query ends.
    greatest: the greatest event time that the task saw in all buckets, END_OF_TIME where a marker says that no row
              follows.
    counts:   read, malformed, null_time, ahead, punctuation and null_key of this bucket's rows.
    rows:     the rows, or None.
    aside:    malformed rows, those without event time and those too far ahead, as `cepsql.ordered.rejected` has them;
              None where they do not travel or there are none.
    dead:     the event times (int64) of rows of any bucket that a reduction left out.
    heartbeat: what the clock showed, in microseconds since the epoch, at the last heartbeat that came; BEGINNING: none.
    producers: the greatest event time in all buckets of each producer that the packet's rows are of; empty where
              producers are not told apart.
    runs:     where the rows come from, one after another, and how many are of each; empty where no source has an order.
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
    """Split a task's rows by bucket and give out one packet for every bucket, also for those without rows.

    batches: the columns of a layout (k*, t, o*, v*, m), `bucket` INT in 0..buckets-1 and perhaps
             `malformed` BOOLEAN, `ahead` BOOLEAN: the row's time is too far ahead, and moves nothing;
             `whole` STRUCT: all columns of the row;
             `producer` STRING: who made the row;
             `repeated` BOOLEAN: the row stands beside another one of the same record, and is not counted;
             `seen` BIGINT: the event time of a row whose t is none, for the greatest;
             `reached` BIGINT: a row that has one is punctuation, and this counts among the greatest event times;
             `bound` BIGINT: a row that has one is no row but a marker, and the greatest of these counts as the greatest
             event time, whatever the rows have;
             ORIGIN and PLACE of `cepsql.ordered.arrival`: where the row stands in its source.
    input:   the number of the input that the rows come from, below MAX_INPUTS.
    reduction: leaves out rows that need not travel. Only their times do, those of all buckets in the packets of
             bucket 0, where they tell how many were late.
    piece_rows: after so many rows, or PIECE_BYTES, packets are given out. A task without any row gives nothing.
    Rows that are malformed, too far ahead or without event time are counted; where rows have `whole`, that travels
    apart from the other rows, else they are dropped. Punctuation is counted only. A row with t = END_OF_TIME is no row
    but the sign that the input of the query ends, and one of `heartbeat_time` says what the clock shows; a marker with
    `bound` = END_OF_TIME says that nothing follows in this input.
    Yields batches of PACKET_SCHEMA.
    """
    task = _Task(buckets, input, reduction)
    for piece, runs in _pieces(batches, piece_rows):
        yield task.packets(piece, runs)


def pack_in_task(
    batches: Iterable[pa.RecordBatch], input: int = 0, reduction: Reduction | None = None
) -> Iterator[Packet]:
    """Yield what `open_packet` reads of the packets that `pack` makes of a task's rows for one bucket.

    No row becomes bytes: the packets share the memory of the batches.
    """
    task = _Task(1, input, reduction)
    for piece, runs in _pieces(batches, PIECE_ROWS):
        yield task.packet(piece, runs)


def open_packet(data: bytes | Packet) -> Packet:
    """Read a packet; its rows share the memory of `data`. One that is read already is returned.

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
    known = _read_producers(producers)
    runs = read_runs(body.slice(producing, placing).to_pybytes())
    body = body.slice(producing + placing)
    rows, rejected = read_rows(body.slice(aside)), read_rows(body.slice(0, aside))
    return Packet(input, ended, greatest, counts, rows, times, rejected, heartbeat, known, runs)


def empty_packet() -> bytes:
    """Return a packet of the first input that brings nothing: the bucket that gets it runs all the same."""
    return _HEADER.pack(_MAGIC, _VERSION, 0, False, BEGINNING, BEGINNING, *(0 for _ in _COUNTED), 0, 0, 0, 0)


def heartbeat_time(clock: int) -> int:
    """Return the t of the row that says that the clock shows so many microseconds since the epoch."""
    return END_OF_TIME + clock


class _Task:
    """Makes packets, and remembers the greatest event time and the last heartbeat since the task began."""

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
                kept = dropped & read
                rejected = set_aside(piece.filter(pa.array(kept))[WHOLE], malformed[kept], ahead[kept])
                aside = self._sections(rejected, bucket[kept])
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
        places = runs.told(piece, bucket, self.buckets)
        piece = piece.drop_columns([name for name in _EXTRA if name in piece.schema.names])
        return _Taken(_canonical_keys(piece), bucket, tallies, dead, producers, places, aside)

    def _take_control(self, piece: pa.RecordBatch, control: np.ndarray) -> pa.RecordBatch:
        times = integers(piece["t"].filter(pa.array(control)))
        if (times == END_OF_TIME).any():
            self.ended = True
        clocks = times[(times > END_OF_TIME) & (times < heartbeat_time(_LAST_CLOCK))] - END_OF_TIME
        self.heartbeat = max([self.heartbeat, *clocks.tolist()])
        # No row can be waited for whose time is later than the end of time.
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
        """Return the rows of each bucket as an Arrow IPC stream, nothing for a bucket without rows."""
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
        for b, (told, outside, inside) in enumerate(zip(taken.places, taken.aside, sections, strict=True)):
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
                len(told),
                len(outside),
            )
            packets.append(b"".join([header, times, producers, told, outside, inside]))
        arrays = [pa.array(range(self.buckets), pa.int32()), pa.array(packets, pa.binary())]
        return pa.RecordBatch.from_arrays(arrays, schema=PACKET_SCHEMA)


class _Taken(NamedTuple):
    """What packets are made of.

    rows, bucket: the rows that travel, and the bucket of each.
    tallies:      of each of _COUNTED how many rows each bucket has.
    dead:         as of `Packet`.
    producers, places, aside: as in the bytes of a packet, the last two of each bucket.
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
    """Gather small batches into larger ones, and tell of the runs of each."""
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
    """Return how far each row says that its input is."""
    times = piece["t"]
    if _SEEN in piece.schema.names:
        # Later than the end of time no row can be.
        times = pc.if_else(pc.less(piece[_SEEN], END_OF_TIME), piece[_SEEN], pa.scalar(None, pa.int64()))
    return pc.coalesce(piece["reached"], times) if "reached" in piece.schema.names else times


def _producers(piece: pa.RecordBatch) -> bytes:
    """Return how far each producer says that it is, as an Arrow IPC stream; nothing where they are not told apart."""
    if "producer" not in piece.schema.names or not piece.num_rows:
        return b""
    told = pa.table([piece["producer"].cast(pa.string()), _reached(piece)], ["producer", "t"])
    (greatest,) = told.group_by("producer").aggregate([("t", "max")]).combine_chunks().to_batches()
    return bytes(write_rows(greatest.select(["producer", "t_max"])))


def _read_producers(told: pa.Table | None) -> dict[str | None, int]:
    return {} if told is None else dict(zip(*(column.to_pylist() for column in told.columns), strict=True))


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
