"""The order of arrival, which orders rows of equal time: the origin of each row, and its place there."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from cepsql.ordered.plain_columns import integers

ORIGIN, PLACE = "origin", "place"
"""Columns of rows before they are packed: a STRUCT with the fields of `Origin`, NULL for a source without an order; and
a BIGINT that grows from row to row within the origin. Without PLACE rows are counted from the task's first."""

URL = "url"
"""The field of ORIGIN that replaces `name` if that is a URL, as in Spark's names of files."""

POSITION = "p"
"""The BIGINT column of rows in a stage: the number of their origin, with the place in its low bits."""

RUN = "run"
"""An integer column of rows before they are packed: the number of each row's run."""

UNPLACED = -1
"""The position of rows whose source has no order. They precede others of the same time."""

ORIGIN_TYPE = pa.struct([("rank", pa.int64()), ("name", pa.string()), ("part", pa.int64())])
"""The type of ORIGIN, with the fields of `Origin`."""

_PLACE_BITS = 42
_LEAST = -(2**62)


class Origin(NamedTuple):
    """An ordered source of rows: a file or a Kafka partition. The origins of one input are ordered by these values.

    rank: the modification time of a file, in microseconds since the epoch; 0 for Kafka.
    name: the path of the file, or the topic.
    part: the offset of a part of the file; for Kafka `partition_part`.
    """

    rank: int
    name: str
    part: int


def partition_part(partition: int, offset: int) -> tuple[int, int]:
    """Return the `part` of the origin of a Kafka record, and its place there.

    >>> partition_part(3, 5) < partition_part(3, 2**42 + 1) < partition_part(4, 0)
    True
    """
    return (partition << 21) + (offset >> _PLACE_BITS), offset & (2**_PLACE_BITS - 1)


def origin_column(origin: Origin | None, rows: int) -> pa.Array:
    """Return the column ORIGIN of rows with one origin, run-end encoded; None for a source without an order."""
    value = pa.array([None if origin is None else origin._asdict()], ORIGIN_TYPE)
    return pa.RunEndEncodedArray.from_arrays(pa.array([rows] if rows else [], pa.int32()), value[: min(rows, 1)])


class OriginRun(NamedTuple):
    """Consecutive rows of one origin, and the place of the first; origin None for a source without an order."""

    origin: Origin | None
    place: int


class Runs:
    """The runs of the rows of a piece, collected batch by batch."""

    def __init__(self) -> None:
        self.runs: list[OriginRun] = []
        self._sizes: list[int] = []

    def gathered(self, batch: pa.RecordBatch, before: int) -> pa.RecordBatch:
        """Add the runs of a batch, and return it without ORIGIN and PLACE; `before` counts earlier rows of the task."""
        if ORIGIN not in batch.schema.names or not batch.num_rows:
            return batch
        begin = 0
        for end, origin in zip(*_runs(batch[ORIGIN]), strict=True):
            if not self.runs or self.runs[-1].origin != origin:
                place = batch[PLACE][begin].as_py() if PLACE in batch.schema.names else before + begin
                self.runs.append(OriginRun(origin, place or 0))
                self._sizes.append(0)
            self._sizes[-1] += int(end) - begin
            begin = int(end)
        return batch.drop_columns([name for name in (ORIGIN, PLACE) if name in batch.schema.names])

    def marked(self, piece: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of the piece, with the number of their run in RUN if there are several runs."""
        if len(self.runs) < 2:
            return piece
        numbers = np.arange(len(self.runs), dtype=np.min_scalar_type(len(self.runs)))
        return piece.append_column(RUN, pa.array(np.repeat(numbers, self._sizes)))

    def encoded(self, piece: pa.RecordBatch, bucket: np.ndarray, buckets: int) -> list[bytes]:
        """Encode for each bucket the runs of its remaining rows; `read_runs` decodes them."""
        if all(run.origin is None for run in self.runs):
            return [b""] * buckets
        numbers, several = bucket.astype(np.int64), len(self.runs)
        if several > 1:
            numbers = numbers * several + piece[RUN].to_numpy()
        sizes = np.bincount(numbers, minlength=buckets * several).reshape(buckets, several)
        return [self._written(own) for own in sizes]

    def _written(self, sizes: np.ndarray) -> bytes:
        there = np.flatnonzero(sizes).tolist()
        header = json.dumps([[int(sizes[i]), self.runs[i].place, *(self.runs[i].origin or ())] for i in there]).encode()
        # The rows after it must be aligned for numpy and memory views.
        return header + b" " * (-len(header) % 8)


def read_runs(data: bytes) -> list[tuple[int, OriginRun]]:
    """Decode runs, each with its number of rows; see `Runs.encoded`."""
    runs = json.loads(data) if data else []
    return [(size, OriginRun(Origin(*origin) if origin else None, place)) for size, place, *origin in runs]


def _runs(column: pa.Array) -> tuple[np.ndarray, list[Origin | None]]:
    """Return the ends of the runs of equal origins, and the origin of each."""
    if pa.types.is_run_end_encoded(column.type):
        return column.run_ends.to_numpy(), [_origin(value) for value in column.values.to_pylist()]
    changes = np.zeros(len(column) - 1, bool)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    changes |= valid[1:] != valid[:-1]
    for field in column.flatten():
        values = field.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        changes |= values[1:] != values[:-1]
    ends = np.append(np.flatnonzero(changes) + 1, len(column))
    return ends, [_origin(value) for value in column.take(pa.array(ends - 1)).to_pylist()]


def _origin(value: Mapping | None) -> Origin | None:
    if value is None:
        return None
    return Origin(value["rank"], _path(value[URL]) if URL in value else value["name"], value["part"])


def _path(url: str) -> str:
    try:
        return unquote(url, errors="strict")
    except UnicodeDecodeError:
        return url


Origins = Mapping[int, tuple[int, Origin]]
"""The input and the origin for each number in POSITION."""


class Numbering:
    """Numbers origins consistently across the packets of a micro-batch and the rows in the state."""

    def __init__(self, origins: Origins):
        self.origins: dict[int, tuple[int, Origin]] = dict(origins)
        self._numbers = {origin: number for number, origin in origins.items()}
        self._next = 0

    def placed(self, rows: pa.Table, input: int, runs: Sequence[tuple[int, OriginRun]]) -> pa.Table:
        """Return the rows of a packet, which consist of these runs, with POSITION."""
        if not runs:
            return rows
        positions, begin = np.empty(rows.num_rows, np.int64), 0
        for size, run in runs:
            if run.origin is None:
                positions[begin : begin + size] = UNPLACED
            else:
                first = (self._number((input, run.origin)) << _PLACE_BITS) + run.place
                # Rows between them may be missing: only their order matters.
                positions[begin : begin + size] = np.arange(first, first + size)
            begin += size
        return rows.append_column(POSITION, pa.array(positions))

    def _number(self, origin: tuple[int, Origin]) -> int:
        if origin not in self._numbers:
            while self._next in self.origins:
                self._next += 1
            self._numbers[origin] = self._next
            self.origins[self._next] = origin
        return self._numbers[origin]

    def ranks(self) -> np.ndarray:
        """Return the rank of each number, by input and origin."""
        ranks = np.zeros(max(self.origins, default=-1) + 1, np.int64)
        for rank, number in enumerate(sorted(self.origins, key=self.origins.__getitem__)):
            ranks[number] = rank
        return ranks

    def of(self, tables: Iterable[pa.Table | None]) -> Origins:
        """Return the origins of rows."""
        placed = [table for table in tables if table is not None and has_positions(table)]
        used = np.zeros(max(self.origins, default=-1) + 1, bool)
        for table in placed:
            numbers = integers(table[POSITION]) >> _PLACE_BITS
            used[numbers[numbers >= 0]] = True
        return {number: self.origins[number] for number in np.flatnonzero(used).tolist()}


NO_RANKS = np.zeros(0, np.int64)


def ranked(positions: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return positions in the order of arrival; `ranks` holds the rank of each origin's number."""
    if not len(ranks):
        return positions
    own = np.maximum(positions >> _PLACE_BITS, 0)
    return np.where(positions < 0, positions, positions + ((ranks[own] - own) << _PLACE_BITS))


def has_positions(table: pa.Table | None) -> bool:
    """Tell whether rows have POSITION."""
    return table is not None and POSITION in table.column_names


def with_positions(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Return tables that all have POSITION if one has it: the others came without an order."""
    if not any(map(has_positions, tables)):
        return list(tables)
    return [table if has_positions(table) else unplaced(table) for table in tables]


def unplaced(table: pa.Table) -> pa.Table:
    """Return rows with the POSITION of rows without an order."""
    return table.append_column(POSITION, pa.repeat(pa.scalar(UNPLACED, pa.int64()), table.num_rows))


def in_their_order(table: pa.Table) -> pa.Table:
    """Return rows with a POSITION that keeps their current order."""
    return table.append_column(POSITION, pa.array(np.arange(_LEAST, _LEAST + table.num_rows)))
