"""The rows that a query has written to a sink, as a DataFrame of whole batches."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepsql.base.secrets import is_secret, redact
from cepsql.base.sqlite_files import double_quoted, sqlite_address
from cepsql.catalog import ColumnDefinition, Sink
from cepsql.catalog.database_failures import first_line
from cepsql.catalog.locations import is_hidden, is_local, local_path
from cepsql.errors import NotSupportedError, OperationalError
from cepsql.language.tokens import quoted
from cepsql.scalar.types import parse_type
from cepsql.spark.frames.user_frames import spark_frame
from cepsql.views.stored_values import column_values

_OWN = "_cepsql"
_TRIES = 100
_PLAIN = ("array", "map", "struct", "variant", "interval")


def sink_rows(spark: SparkSession, sink: Sink, columns: Sequence[ColumnDefinition]) -> DataFrame:
    """Return the rows in a sink, whole batches only.

    sink:    of a readable format; its options are values, not references.
    columns: the written columns with Spark's types; not needed for files with a schema.
    Raises NotSupportedError for a table with unknown columns, OperationalError if there are no rows yet or the sink
    does not answer.
    """
    options = {name.lower(): value for name, value in sink.options}
    if sink.format.lower() in ("sqlite", "postgresql"):
        return _table(spark, sink, options, columns)
    if sink.format.lower() != "delta" and is_local(options.get("path", "")):
        return _files(spark, sink, options, columns)
    return _reader(spark, sink, columns).load(options.get("path", ""))


def _reader(spark: SparkSession, sink: Sink, columns: Sequence[ColumnDefinition]) -> Any:
    own = ("path", "partitionby")
    options = {name: value for name, value in sink.options if name.lower() not in own}
    reader = spark.read.format(sink.format).options(**options)
    if columns and sink.format.lower() not in ("delta", "parquet", "orc", "avro"):
        reader = reader.schema(", ".join(f"{quoted(column.name)} {column.type}" for column in columns))
    return reader


def _files(spark: SparkSession, sink: Sink, options: dict[str, str], columns: Sequence[ColumnDefinition]) -> DataFrame:
    folder = Path(local_path(options["path"]))
    files = whole_batches(folder)
    if not files:
        if not columns:
            raise OperationalError(f"sink {sink.name} has no rows yet")
        return spark.createDataFrame([], ", ".join(f"{quoted(column.name)} {column.type}" for column in columns))
    reader = _reader(spark, sink, columns).option("basePath", f"file://{folder}")
    return reader.load([f"file://{quote(str(file))}" for file in files])


def whole_batches(folder: Path) -> list[Path]:
    """Return the files of a folder without those of a batch that is still incomplete.

    Raises OperationalError if batches arrive faster than the folder can be listed.
    """
    for _ in range(_TRIES):
        before = _records(folder)
        files = {path for path in folder.rglob("*") if path.is_file() and not _is_hidden(path.relative_to(folder))}
        # A batch that arrived in between may be incomplete.
        if _records(folder) != before:
            continue
        for names in before.values():
            batch = {folder / name for name in names}
            if not batch <= files:
                files -= batch
        return sorted(files)
    raise OperationalError(f"files come into {folder} faster than they can be listed", hint="try again")


def _records(folder: Path) -> dict[str, frozenset[str]]:
    """Return the files of the last batch of each query that writes to a folder."""
    files_by_batch = {}
    for path in (folder / _OWN).glob("*.json"):
        try:
            record = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        # The batch number tells batches with the same file names apart.
        files_by_batch[f"{path.name} {record['batch']}"] = frozenset(record["files"].values())
    return files_by_batch


def _is_hidden(path: Path) -> bool:
    return any(map(is_hidden, path.parts))


def _table(spark: SparkSession, sink: Sink, options: dict[str, str], columns: Sequence[ColumnDefinition]) -> DataFrame:
    if not columns:
        raise NotSupportedError(
            f"the types of the columns of sink {sink.name} are not known",
            hint=f"CREATE SINK {sink.name} (column TYPE, ...) says them, or a query that writes it",
        )
    table = options.get("table") or sink.name
    try:
        rows = (_sqlite if sink.format.lower() == "sqlite" else _postgresql)(options, table, columns)
    except Exception as failure:
        reason = redact(first_line(failure), [value for name, value in sink.options if is_secret(name)])
        raise OperationalError(f"sink {sink.name} cannot be read: {reason}") from failure
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    ddl = ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)
    if not rows:
        return spark.createDataFrame([], ddl)
    arrays, casts = [], []
    for column, values in zip(columns, cells, strict=True):
        name, kind = quoted(column.name), column.type
        if kind.lower().startswith(_PLAIN) or parse_type(kind).name == "unknown":
            # Nested values are kept as JSON.
            texts = [value if isinstance(value, str | None) else json.dumps(value) for value in values]
            arrays.append(pa.array(texts, pa.string()))
            casts.append(f"from_json({name}, '{kind}') AS {name}" if not kind.startswith("interval") else name)
        else:
            arrays.append(column_values(values, kind))
            casts.append(f"CAST({name} AS {kind}) AS {name}")
    frame = spark_frame(spark, sink.name, pa.table(arrays, names=[column.name for column in columns]))
    return frame.selectExpr(*casts)


def _sqlite(options: dict[str, str], table: str, columns: Sequence[ColumnDefinition]) -> list[tuple]:
    path = Path(options.get("path", "")).expanduser().absolute()
    with closing(sqlite3.connect(sqlite_address(str(path), writes=False), uri=True, timeout=5)) as connection:
        names = ", ".join(double_quoted(column.name) for column in columns)
        return connection.execute(f"SELECT {names} FROM {double_quoted(table)}").fetchall()


def _postgresql(options: dict[str, str], table: str, columns: Sequence[ColumnDefinition]) -> list[tuple]:
    import psycopg
    import sqlalchemy as sa

    url = sa.make_url(options["url"]).set(drivername="postgresql")
    url = url.set(username=options.get("user", url.username), password=options.get("password", url.password))
    place = f"{double_quoted(options['schema'])}." if options.get("schema") else ""
    names = ", ".join(double_quoted(column.name) for column in columns)
    with psycopg.connect(url.render_as_string(hide_password=False), connect_timeout=10) as connection:
        connection.execute("SET TRANSACTION READ ONLY")
        connection.execute("SET LOCAL TIME ZONE 'UTC'")
        cursor = connection.execute(f"SELECT {names} FROM {place}{double_quoted(table)}".encode())
        return cursor.fetchall()
