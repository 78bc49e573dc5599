"""Parquet files whose types Spark can't read as declared, or would read wrongly: Arrow reads and casts them."""

import re
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructType

from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import OperationalError
from cepsql.language.tokens import quoted
from cepsql.readers.scan.layout import LISTING_OPTIONS
from cepsql.readers.scan.parquet import parquet_readings, parquet_schema, read_columns
from cepsql.readers.scan.parquet_values import plain_type
from cepsql.readers.scan.read import local_file
from cepsql.scalar.zone import Zone
from cepsql.spark.frames.column_types import struct_of
from cepsql.spark.frames.worker import settle
from cepsql.spark.jvm.session_zone import session_zone
from cepsql.spark.sources.watching.unread_files import listed_folder

_PATHS = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"
_INSPECTED_FILES = 100
_FOLDER = re.compile(r"/([^/=]+)=[^/]*(?=/)")
_LENGTH = re.compile(r"\b(?:var)?char\s*\(\s*\d+\s*\)", re.IGNORECASE)
"""Types whose values are plain texts in files."""


def cast_parquet(
    spark: SparkSession,
    source: Source,
    options: Mapping[str, str],
    malformed: str,
    places: Mapping[str, str],
    position: str | None = None,
) -> DataFrame | None:
    """Return the rows of Parquet files, cast to the declared types; None if Spark's own scan casts them.

    The newest of the present files decide, at most a hundred.
    options:   of Spark's reader.
    malformed: the name of the BOOLEAN column that marks rows with values that don't fit.
    places:    SQL of columns that tell where a file stands among others, by name.
    position:  the name of a BIGINT column for the number of a row in its file.
    """
    files = [] if set(map(str.lower, options)) - LISTING_OPTIONS else _files(source)
    if not files:
        return None
    schema = _declared(source)
    folders = {name.lower() for path in files for name in _FOLDER.findall(path)}
    own = StructType([field for field in schema.fields if field.name.lower() not in folders])
    declared = _arrow_types(own)
    if declared is None or not any(_needs_arrow(path, declared) for path in files):
        return None
    parts = [field for field in schema.fields if field.name.lower() in folders]
    paths = ", ".join([_PATHS, *(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in parts)])
    reader = (spark.readStream if source.streaming else spark.read).format("binaryFile").schema(paths)
    carried = [quoted(field.name) for field in parts] + [f"{sql} AS {quoted(name)}" for name, sql in places.items()]
    listed = reader.options(**options).load().selectExpr("path", *carried)
    row_schema = StructType([*own.fields, *listed.schema.fields[1:]]).add(malformed, "boolean", False)
    if position is not None:
        row_schema = row_schema.add(position, "bigint")
    return listed.mapInArrow(partial(_rows, declared, malformed, position, session_zone(spark)), row_schema)


def parquet_columns(source: Source, failure: PySparkException) -> tuple[ColumnDefinition, ...]:
    """Return the columns of Parquet files whose types Spark can't infer, from the newest file.

    Raises the failure if Arrow can't infer them either.
    """
    files = _files(source)
    try:
        types = {name: from_arrow_type(plain_type(type)) for name, type in parquet_schema(files[0]).items()}
    except (IndexError, OperationalError, PySparkException):
        raise failure from None
    return tuple(ColumnDefinition(name, type.simpleString()) for name, type in types.items())


def _declared(source: Source) -> StructType:
    columns = [f"{quoted(c.name)} {_LENGTH.sub('STRING', c.type)}" for c in source.columns if c.expression is None]
    return struct_of(", ".join(columns))


def _files(source: Source) -> list[str]:
    """Return the newest local files that a source reads."""
    folder = listed_folder(source)
    files = [] if folder is None else sorted(folder.files(), key=lambda file: file.changed, reverse=True)
    return [file.path for file in files[:_INSPECTED_FILES]]


def _arrow_types(schema: StructType) -> dict[str, pa.DataType] | None:
    try:
        return {field.name: field.type for field in to_arrow_schema(schema, timezone="UTC")}
    except PySparkException:
        return None


def _needs_arrow(path: str, declared: Mapping[str, pa.DataType]) -> bool:
    try:
        readings = parquet_readings(path, declared)
    except OperationalError:
        # Reading the file reports the error.
        return False
    return not isinstance(readings, str) and not all(reading.spark for reading in readings.values())


def _rows(
    declared: Mapping[str, pa.DataType],
    malformed: str,
    position: str | None,
    zone: Zone,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files: the declared columns, those that came with the path, a mask of malformed rows, and row
    numbers."""
    settle()
    for batch in batches:
        for number, path in enumerate(batch["path"].to_pylist()):
            begin = 0
            for values, bad in read_columns(local_file(path), declared, frozenset(declared), zone):
                carried = [pa.repeat(column[number], len(bad)) for column in batch.columns[1:]]
                columns = [*(values[name] for name in declared), *carried, pa.array(bad, pa.bool_())]
                names = [*declared, *batch.schema.names[1:], malformed]
                if position is not None:
                    columns.append(pa.array(np.arange(begin, begin + len(bad)), pa.int64()))
                    names.append(position)
                begin += len(bad)
                yield pa.RecordBatch.from_arrays(columns, names=names)
