"""Plain SQL over one stream, read and computed by Arrow in the tasks."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepsql.catalog import Source, Watermark
from cepsql.language.tokens import quoted
from cepsql.scan.chunk import Chunk
from cepsql.scan.plain import COLUMN, MALFORMED, READ, TIME, PlainScan, plain_rows
from cepsql.scan.read import read_file
from cepsql.scan.task_file import write_rows
from cepsql.spark.arrow_scan import file_paths
from cepsql.spark.control import with_watermark
from cepsql.spark.kafka import Records, record_packets
from cepsql.spark.source import is_kafka
from cepsql.spark.worker import settle

_TASK_FOLDER = "cepsql.taskFolder"
"""The local property of Spark's that says where tasks write their rows."""


def scan_plain(
    spark: SparkSession, source: Source, scan: PlainScan, schema: StructType, observation: str, control: str | None
) -> DataFrame:
    """Return the rows of a query over one stream, with Spark's watermark; the observation counts what was read.

    schema:  the names and the types that Spark gives the columns.
    control: folder through which the input of the query is ended, None: nothing ends it.
    """
    kinds = [field.dataType.simpleString() for field in schema.fields]
    columns = [f"{COLUMN}{i} {kind}" for i, kind in enumerate(kinds)] + [f"{READ} BIGINT", f"{MALFORMED} BIGINT"]
    ddl = ", ".join(columns if scan.time is None else [*columns, f"{TIME} TIMESTAMP"])
    if is_kafka(source):
        rows = record_packets(spark, source, partial(_of_records, scan), ddl)
    else:
        rows = file_paths(spark, source).mapInArrow(partial(_of_files, scan), ddl)
    counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in (READ, MALFORMED)]
    rows = rows.observe(observation, *counts, *(F.lit(0).cast("bigint").alias(n) for n in ("ahead", "punctuation")))
    if scan.time is not None:
        assert source.watermark is not None
        rows = with_watermark(rows, Watermark(TIME, source.watermark.delay), control)
    names = [f"{COLUMN}{i} AS {quoted(name)}" for i, name in enumerate(schema.names)]
    return rows.where(f"{READ} IS NULL").selectExpr(*names)


@contextlib.contextmanager
def writing_tasks(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Let the tasks of a frame of `scan_plain` that run in this block write CSV into a local folder; rows that they
    cannot write come out."""
    context = spark.sparkContext
    context.setLocalProperty(_TASK_FOLDER, str(folder))
    try:
        yield
    finally:
        context.setLocalProperty(_TASK_FOLDER, None)  # type: ignore[arg-type]


def _of_files(scan: PlainScan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    paths = (path for batch in batches for path in batch["path"].to_pylist())
    return _rows(
        scan, (chunk for path in paths for chunk in read_file(path, scan.layout, scan.projection.session.zone))
    )


def _of_records(scan: PlainScan, records: Records) -> Iterator[pa.RecordBatch]:
    from cepsql.scan.records import read_records

    settle()
    return _rows(scan, read_records(records, scan.layout, scan.projection.session.zone))


def _rows(scan: PlainScan, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task, or write them."""
    rows, context = plain_rows(scan, chunks), TaskContext.get()
    folder = None if context is None else context.getLocalProperty(_TASK_FOLDER)
    if context is None or folder is None:
        return rows
    return write_rows(Path(folder), context.partitionId(), context.taskAttemptId(), scan, rows)
