"""Parquet as Spark reads it: columns by name, with the declared types."""

from collections.abc import Iterator, Mapping
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cepsql.errors import OperationalError
from cepsql.readers.scan.chunk import Chunk
from cepsql.readers.scan.damaged import unread
from cepsql.readers.scan.layout import FileLayout
from cepsql.readers.scan.parquet_values import INTERVAL, ParquetReading, converted, reading
from cepsql.scalar.arrow.column_values import arrow_type, type_of
from cepsql.scalar.zone import Zone

_ROWS = 131_072
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def read_parquet(path: str, layout: FileLayout, zone: Zone) -> Iterator[Chunk]:
    """Yield the rows of a file.

    Raises OperationalError if the file can't be read, or if `parquet_obstacle` returns a reason.
    """
    declared = {name: arrow_type(type) for name, type in layout.columns}
    for values, malformed in read_columns(path, declared, layout.wanted, zone):
        rows = len(malformed)
        if malformed.any():
            well = pa.array(~malformed)
            values = {name: column.filter(well) for name, column in values.items()}
        yield Chunk(values, rows - int(malformed.sum()), int(malformed.sum()))


def read_columns(
    path: str, declared: Mapping[str, pa.DataType], wanted: frozenset[str], zone: Zone, content: IO[bytes] | None = None
) -> Iterator[tuple[dict[str, pa.Array], np.ndarray]]:
    """Yield the wanted columns of a file as declared, NULL for missing columns, and a mask of malformed rows.

    A row is malformed if a value does not fit its declared type, whether its column is wanted or not.
    content: the file, if it is not on this machine.
    Raises OperationalError if it can't be read as declared.
    """
    with _opened(path, content) as file:
        readings = _readings(file, declared, wanted)
        if isinstance(readings, str):
            hint = (
                "declare the types that the files have, or SET 'cepsql.scan' = 'spark' and start with a new checkpoint"
            )
            raise OperationalError(f"the Arrow scan does not read {path}: {readings}", hint=hint)
        held = _held(file)
        own_names = {name.lower(): name for name in held}
        read = [name for name in declared if name.lower() in own_names and _is_read(name, wanted, readings)]
        try:
            for batch in file.iter_batches(
                _ROWS, columns=sorted(own_names[n.lower()] for n in read), use_threads=False
            ):
                columns = {name: pa.nulls(batch.num_rows, declared[name]) for name in declared if name in wanted}
                malformed = np.zeros(batch.num_rows, bool)
                for name in read:
                    own = own_names[name.lower()]
                    values, bad = converted(batch[own], held[own], declared[name], zone)
                    malformed |= bad
                    if name in wanted:
                        columns[name] = values
                yield columns, malformed
        except (OSError, pa.ArrowException) as error:
            raise unread(path, error) from error


def parquet_obstacle(path: str, layout: FileLayout) -> str | None:
    """Return why Arrow may read the columns of a file differently from Spark, or None."""
    with _opened(path) as file:
        readings = _readings(file, {name: arrow_type(type) for name, type in layout.columns}, layout.wanted)
    return readings if isinstance(readings, str) else None


def parquet_readings(path: str, declared: Mapping[str, pa.DataType]) -> dict[str, ParquetReading] | str:
    """Return how the declared columns in a file are read, or why Arrow can't read them all.

    Raises OperationalError if the file can't be read.
    """
    with _opened(path) as file:
        return _readings(file, declared, frozenset(declared))


def parquet_schema(path: str) -> dict[str, pa.DataType]:
    """Return the columns of a file with their Arrow types, INTERVAL for Parquet's INTERVAL.

    Raises OperationalError if the file can't be read.
    """
    with _opened(path) as file:
        return _held(file)


def _opened(path: str, content: IO[bytes] | None = None) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path if content is None else content, coerce_int96_timestamp_unit="us")
    except (OSError, pa.ArrowException) as error:
        raise unread(path, error) from error


def _held(file: pq.ParquetFile) -> dict[str, pa.DataType]:
    held = {field.name: field.type for field in file.schema_arrow}
    for column in map(file.schema.column, range(len(file.schema))):
        if column.path in held and column.converted_type == "INTERVAL":
            held[column.path] = INTERVAL
    return held


def _is_read(name: str, wanted: frozenset[str], readings: Mapping[str, ParquetReading]) -> bool:
    return name in wanted or (name in readings and readings[name].checked)


def _readings(
    file: pq.ParquetFile, declared: Mapping[str, pa.DataType], wanted: frozenset[str]
) -> dict[str, ParquetReading] | str:
    """Return how columns are read, without unwanted columns whose type can't be cast."""
    if any(key in (file.metadata.metadata or {}) for key in _LEGACY):
        return "it holds dates of the calendar before Spark 3"
    held = _held(file)
    names = [name.lower() for name in file.schema_arrow.names]
    types = {name.lower(): type for name, type in held.items()}
    readings: dict[str, ParquetReading] = {}
    for name, type in declared.items():
        if names.count(name.lower()) > 1 and name in wanted:
            return f"it has two columns {name}"
        if names.count(name.lower()) != 1:
            continue
        column_reading = reading(types[name.lower()], type)
        if column_reading is not None:
            readings[name] = column_reading
        elif name in wanted:
            return f"{name} is of type {types[name.lower()]}, declared as {str(type_of(type)).upper()}"
    return readings
