"""Parquet as Spark reads it: columns found by name, with the types that were declared."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cepsql.errors import OperationalError
from cepsql.ordered.columns import plain_batch
from cepsql.scalar.columns import arrow_type
from cepsql.scalar.types import BIGINT, DOUBLE, TIMESTAMP, Type
from cepsql.scalar.zone import Zone
from cepsql.scan.chunk import Chunk
from cepsql.scan.damaged import unread
from cepsql.scan.layout import FileLayout

_ROWS = 131_072
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_WIDENED = {(pa.int32(), BIGINT), (pa.float32(), DOUBLE)}


def read_parquet(path: str, layout: FileLayout, zone: Zone) -> Iterator[Chunk]:
    """Yield the rows of a file.

    Raises OperationalError if it cannot be read, or if `parquet_obstacle` names a reason.
    """
    reason = parquet_obstacle(path, layout)
    if reason:
        hint = "declare the types that the files have, or SET 'cepsql.scan' = 'spark' and start with a new checkpoint"
        raise OperationalError(f"the Arrow scan does not read {path}: {reason}", hint=hint)
    try:
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            found = _found(file)
            names = [found[name.lower()] for name in sorted(layout.wanted) if name.lower() in found]
            for batch in file.iter_batches(_ROWS, columns=names, use_threads=False):
                yield Chunk(_columns(plain_batch(batch), found, layout), batch.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise unread(path, error) from error


def parquet_obstacle(path: str, layout: FileLayout) -> str | None:
    """Return why Arrow might not read the wanted columns of a file as Spark does, None if it does."""
    try:
        with pq.ParquetFile(path) as file:
            if any(key in (file.metadata.metadata or {}) for key in _LEGACY):
                return "it holds dates of the calendar before Spark 3"
            names = [name.lower() for name in file.schema_arrow.names]
            found = _found(file)
            for name, type in layout.columns:
                if name not in layout.wanted or name.lower() not in found:
                    continue
                if names.count(name.lower()) > 1:
                    return f"it has two columns {name}"
                field = file.schema_arrow.field(found[name.lower()])
                if not _fits(file, field, type):
                    return f"{name} is of type {field.type}, declared as {str(type).upper()}"
    except (OSError, pa.ArrowException) as error:
        raise unread(path, error) from error
    return None


def _found(file: pq.ParquetFile) -> dict[str, str]:
    return {name.lower(): name for name in file.schema_arrow.names}


def _fits(file: pq.ParquetFile, field: pa.Field, type: Type) -> bool:
    if type == TIMESTAMP:
        column = next(c for c in map(file.schema.column, range(len(file.schema))) if c.path == field.name)
        zoned = pa.types.is_timestamp(field.type) and field.type.tz is not None and field.type.unit != "ns"
        return zoned or column.physical_type == "INT96"
    return field.type == arrow_type(type) or (field.type, type) in _WIDENED


def _columns(batch: pa.RecordBatch, found: dict[str, str], layout: FileLayout) -> dict[str, pa.Array]:
    columns = {}
    for name, type in layout.columns:
        if name in layout.wanted:
            target = arrow_type(type)
            if name.lower() in found:
                column = batch[found[name.lower()]]
                columns[name] = column if column.type == target else _converted(column, target)
            else:
                columns[name] = pa.nulls(batch.num_rows, target)
    return columns


def _converted(column: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(column.type) and column.type.tz is None:
        # INT96 holds instants, but Arrow knows no zone for it.
        return column.view(target)
    return pc.cast(column, target)
