"""Read files into the rows of an operator, ready to be packed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.ordered.arrival import ORIGIN, ORIGIN_TYPE, PLACE, Origin, origin_column
from cepsql.ordered.packet import PIECE_ROWS
from cepsql.readers.scan.chunk import Chunk
from cepsql.readers.scan.csv import read_csv_files
from cepsql.readers.scan.json import read_json
from cepsql.readers.scan.layout import FileLayout
from cepsql.readers.scan.murmur import bucket_numbers
from cepsql.readers.scan.parquet import read_parquet
from cepsql.readers.scan.projection import ArrowScan
from cepsql.scalar.zone import Zone

_READERS = {"json": read_json, "parquet": read_parquet}


CONTROL = "control:"
"""The prefix of a control row's time, in place of a path."""


class ListedFile(NamedTuple):
    """A file, by its path and the time of its last change in microseconds since the epoch."""

    path: str
    modified: int


def read_files(scan: ArrowScan, buckets: int, files: Iterable[ListedFile]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files as `cepsql.ordered.packet.pack` takes them: k*, t, o*, v*, m, bucket, malformed, and
    ORIGIN and PLACE if the scan uses arrival.

    files: local files; a path that begins with CONTROL means the control row of that time.
    Buckets are the same as by Spark's hash of the keys.
    Raises OperationalError if a file cannot be read.
    """
    for are_control, some in groupby(files, lambda file: file.path.startswith(CONTROL)):
        if are_control:
            yield from (_control_row(scan, int(path.removeprefix(CONTROL))) for path, _ in some)
        else:
            chunks = _placed_chunks(scan.layout, scan.projection.session.zone, scan.by_arrival, some)
            yield from chunk_rows(scan, buckets, chunks)


def read_for_all(
    scans: Sequence[ArrowScan], buckets: int, files: Iterable[ListedFile]
) -> Iterator[list[list[pa.RecordBatch]]]:
    """Read files once for several scans of one source; yield, piece by piece, the rows of each scan as `read_files`
    does.

    files: local files; control rows are not supported.
    Raises OperationalError if a file cannot be read.
    """
    wanted = frozenset().union(*(scan.layout.wanted for scan in scans))
    layout, zone = replace(scans[0].layout, wanted=wanted), scans[0].projection.session.zone
    for piece in _pieces(_placed_chunks(layout, zone, any(scan.by_arrival for scan in scans), files)):
        yield [list(chunk_rows(scan, buckets, (_wanted(chunk, scan.layout) for chunk in piece))) for scan in scans]


def _pieces(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Gather chunks, so that packets of them have about as many rows as those of one scan."""
    gathered, rows = list[Chunk](), 0
    for chunk in chunks:
        gathered.append(chunk)
        rows += chunk.rows
        if rows >= PIECE_ROWS:
            yield gathered
            gathered, rows = [], 0
    if gathered:
        yield gathered


def _wanted(chunk: Chunk, layout: FileLayout) -> Chunk:
    return replace(chunk, columns={name: chunk.columns[name] for name in layout.wanted})


def chunk_rows(scan: ArrowScan, buckets: int, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of chunks as `read_files` does."""
    for chunk in chunks:
        yield _rows(scan, buckets, chunk)
        if chunk.malformed:
            yield _empty(scan, chunk.malformed, malformed=True)


def read_chunks(
    paths: Sequence[str], layout: FileLayout, zone: Zone, apart: bool = False
) -> Iterator[tuple[int, Chunk]]:
    """Yield the chunks of local files, each with the number of the path of its first row.

    apart: no chunk has rows of two files.
    Raises OperationalError if a file cannot be read.
    """
    if layout.format == "csv":
        yield from read_csv_files(map(local_file, paths), layout, zone, apart)
        return
    for number, path in enumerate(paths):
        yield from ((number, chunk) for chunk in _READERS[layout.format](local_file(path), layout, zone))


def _placed_chunks(layout: FileLayout, zone: Zone, apart: bool, files: Iterable[ListedFile]) -> Iterator[Chunk]:
    """Yield the chunks of files; with `apart`, each chunk is of one file and has its position there."""
    listed = list(files)
    numbered_chunks = read_chunks([file.path for file in listed], layout, zone, apart)
    for number, chunks in groupby(numbered_chunks, itemgetter(0)):
        path, modified = listed[number]
        yield from _placed((chunk for _, chunk in chunks), Origin(modified, local_file(path), 0))


def _placed(chunks: Iterable[Chunk], origin: Origin) -> Iterator[Chunk]:
    """Yield the chunks of a file with their positions in it."""
    place = 0
    for chunk in chunks:
        yield replace(chunk, origin=origin, place=place)
        place += chunk.rows


def local_file(path: str) -> str:
    """Return the path of a local file from Spark's form of it; raises OperationalError for other files."""
    local = path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")
    if "://" in local:
        raise OperationalError(f"{path} is no local file")
    return local


def _rows(scan: ArrowScan, buckets: int, chunk: Chunk) -> pa.RecordBatch:
    made = scan.projection.rows(chunk.columns, chunk.rows)
    keys = [made[name] for name in scan.projection.keys]
    bucket = pa.array(bucket_numbers(keys, made.num_rows, buckets))
    columns = [*made.columns, bucket, pa.repeat(False, made.num_rows)]
    if scan.by_arrival:
        places = np.arange(chunk.place, chunk.place + made.num_rows)
        columns += [origin_column(chunk.origin, made.num_rows), pa.array(places)]
    return pa.RecordBatch.from_arrays(columns, schema=_schema(scan))


def _control_row(scan: ArrowScan, time: int) -> pa.RecordBatch:
    row = _empty(scan, 1, malformed=False)
    place = row.schema.get_field_index("t")
    return row.set_column(place, row.schema.field(place), pa.array([time], pa.int64()))


def _empty(scan: ArrowScan, rows: int, malformed: bool) -> pa.RecordBatch:
    """Return a row of bucket 0 that only has counts."""
    arrays = [pa.nulls(rows, field.type) for field in scan.projection.schema]
    arrays += [pa.array(np.zeros(rows, np.int32)), pa.repeat(malformed, rows)]
    if scan.by_arrival:
        arrays += [origin_column(None, rows), pa.nulls(rows, pa.int64())]
    return pa.RecordBatch.from_arrays(arrays, schema=_schema(scan))


def _schema(scan: ArrowScan) -> pa.Schema:
    places = [(ORIGIN, pa.run_end_encoded(pa.int32(), ORIGIN_TYPE)), (PLACE, pa.int64())] if scan.by_arrival else []
    return pa.schema([*scan.projection.schema, ("bucket", pa.int32()), ("malformed", pa.bool_()), *places])
