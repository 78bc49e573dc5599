"""Files become rows of a match program, ready to be packed."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError
from cepsql.scalar.arrow import evaluate
from cepsql.scalar.columns import arrow_type
from cepsql.scalar.tree import Node
from cepsql.scan.chunk import Chunk
from cepsql.scan.csv import read_csv
from cepsql.scan.json import read_json
from cepsql.scan.layout import ArrowScan
from cepsql.scan.murmur import bucket_numbers
from cepsql.scan.parquet import read_parquet

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
            chunks = _READERS[scan.layout.format](_local(path), scan.layout, scan.session.zone)
            yield from chunk_rows(scan, buckets, chunks)


def chunk_rows(scan: ArrowScan, buckets: int, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Yield what was read as `read_files` does."""
    for chunk in chunks:
        yield _rows(scan, buckets, chunk)
        if chunk.malformed:
            yield _empty(scan, chunk.malformed, malformed=True)


def _local(path: str) -> str:
    local = path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")
    if "://" in local:
        raise OperationalError(f"{path} is no local file")
    return local


def _rows(scan: ArrowScan, buckets: int, chunk: Chunk) -> pa.RecordBatch:
    columns, rows = chunk.columns, chunk.rows
    if scan.where is not None:
        passing = pc.fill_null(evaluate(scan.where, columns, rows, scan.session), False)
        columns = {name: column.filter(passing) for name, column in columns.items()}
        rows = pc.sum(passing).as_py() or 0
    known: dict[Node, pa.Array] = {}
    for _, node in scan.values:
        if node not in known:
            known[node] = evaluate(node, columns, rows, scan.session)
    arrays = {name: known[node] for name, node in scan.values}
    keys = [array for name, array in arrays.items() if name.startswith("k")]
    if scan.predicates:
        arrays["m"] = _mask([evaluate(node, columns, rows, scan.session) for node in scan.predicates], rows)
    arrays["bucket"] = pa.array(bucket_numbers(keys, rows, buckets))
    arrays["malformed"] = pa.repeat(False, rows)
    return pa.RecordBatch.from_arrays(list(arrays.values()), schema=_schema(scan))


def _mask(verdicts: list[pa.Array], rows: int) -> pa.Array:
    """Return BIGINTs with bit i set where verdict i is true."""
    narrow = np.min_scalar_type(2 ** len(verdicts) - 1)
    mask = np.zeros(rows, narrow)
    for bit, verdict in enumerate(verdicts):
        true = (verdict.fill_null(False) if verdict.null_count else verdict).to_numpy(zero_copy_only=False)
        mask |= true.astype(narrow) << narrow.type(bit)
    return pa.array(mask.astype(np.int64))


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
    fields = [(name, arrow_type(node.type)) for name, node in scan.values]
    mask = [("m", pa.int64())] if scan.predicates else []
    return pa.schema([*fields, *mask, ("bucket", pa.int32()), ("malformed", pa.bool_())])
