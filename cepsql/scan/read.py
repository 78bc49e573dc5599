"""Files become rows of a match program, ready to be packed."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from cepsql.errors import OperationalError
from cepsql.scalar.zone import Zone
from cepsql.scan.chunk import Chunk
from cepsql.scan.csv import read_csv
from cepsql.scan.json import read_json
from cepsql.scan.layout import FileLayout
from cepsql.scan.murmur import bucket_numbers
from cepsql.scan.parquet import read_parquet
from cepsql.scan.projection import ArrowScan

_READERS = {"csv": read_csv, "json": read_json, "parquet": read_parquet}


CONTROL = "control:"
"""What stands before the time of a control row, in place of a path."""


def read_files(scan: ArrowScan, buckets: int, paths: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files as `cepsql.ordered.packet.pack` takes them: k*, t, o*, v*, m, bucket, malformed.

    paths: of local files; one that begins with CONTROL stands for the control row of that time.
    The buckets are those that Spark's hash gives the same keys.
    Raises OperationalError if a file cannot be read.
    """
    for path in paths:
        if path.startswith(CONTROL):
            yield _control_row(scan, int(path.removeprefix(CONTROL)))
        else:
            yield from chunk_rows(scan, buckets, read_file(path, scan.layout, scan.projection.session.zone))


def read_file(path: str, layout: FileLayout, zone: Zone) -> Iterator[Chunk]:
    """Yield what a local file holds; raises OperationalError if it cannot be read."""
    return _READERS[layout.format](local_file(path), layout, zone)


def chunk_rows(scan: ArrowScan, buckets: int, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Yield what was read as `read_files` does."""
    for chunk in chunks:
        yield _rows(scan, buckets, chunk)
        if chunk.malformed:
            yield _empty(scan, chunk.malformed, malformed=True)


def local_file(path: str) -> str:
    """Return the path of a file of this machine, as Spark writes it; raises OperationalError for another one."""
    local = path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")
    if "://" in local:
        raise OperationalError(f"{path} is no local file")
    return local


def _rows(scan: ArrowScan, buckets: int, chunk: Chunk) -> pa.RecordBatch:
    made = scan.projection.rows(chunk.columns, chunk.rows)
    keys = [made[name] for name in scan.projection.keys]
    bucket = pa.array(bucket_numbers(keys, made.num_rows, buckets))
    return pa.RecordBatch.from_arrays([*made.columns, bucket, pa.repeat(False, made.num_rows)], schema=_schema(scan))


def _control_row(scan: ArrowScan, time: int) -> pa.RecordBatch:
    row = _empty(scan, 1, malformed=False)
    place = row.schema.get_field_index("t")
    return row.set_column(place, row.schema.field(place), pa.array([time], pa.int64()))


def _empty(scan: ArrowScan, rows: int, malformed: bool) -> pa.RecordBatch:
    """Return rows of bucket 0 that are only counted."""
    schema = _schema(scan)
    arrays = [pa.nulls(rows, field.type) for field in schema]
    arrays[-2:] = [pa.array(np.zeros(rows, np.int32)), pa.repeat(malformed, rows)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _schema(scan: ArrowScan) -> pa.Schema:
    return pa.schema([*scan.projection.schema, ("bucket", pa.int32()), ("malformed", pa.bool_())])
