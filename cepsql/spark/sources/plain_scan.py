"""Plain SQL over one stream, read and computed by Arrow in the tasks."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepsql.catalog import Source, Watermark
from cepsql.language.tokens import quoted
from cepsql.readers.scan.plain import COLUMN, MALFORMED, READ, TIME, PlainScan, plain_rows
from cepsql.readers.scan.read import read_chunks
from cepsql.spark.checkpoint.control import with_watermark
from cepsql.spark.frames.task_files import written_or_given
from cepsql.spark.frames.worker import settle
from cepsql.spark.sources.file_lists import file_paths
from cepsql.spark.sources.kafka_frames import Records, made_of_records
from cepsql.spark.sources.source import is_kafka


def scan_plain(
    spark: SparkSession,
    source: Source,
    scan: PlainScan,
    schema: StructType,
    observation: str,
    control: str | None,
    writer: str | None = None,
) -> DataFrame:
    """Return the rows of a query over one stream, with Spark's watermark; the observation counts what was read.

    schema:  the names and the types that Spark gives the columns.
    control: folder through which the input of the query is ended, None: nothing ends it.
    writer:  as of `cepsql.spark.frames.task_files.written_or_given`.
    """
    kinds = [field.dataType.simpleString() for field in schema.fields]
    columns = [f"{COLUMN}{i} {kind}" for i, kind in enumerate(kinds)] + [f"{READ} BIGINT", f"{MALFORMED} BIGINT"]
    ddl = ", ".join(columns if scan.time is None else [*columns, f"{TIME} TIMESTAMP"])
    if is_kafka(source):
        rows = made_of_records(spark, source, partial(_of_records, scan, writer), ddl)
    else:
        rows = file_paths(spark, source).mapInArrow(partial(_of_files, scan, writer), ddl)
    counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in (READ, MALFORMED)]
    rows = rows.observe(observation, *counts, *(F.lit(0).cast("bigint").alias(n) for n in ("ahead", "punctuation")))
    if scan.time is not None:
        assert source.watermark is not None
        rows = with_watermark(rows, Watermark(TIME, source.watermark.delay), control)
    names = [f"{COLUMN}{i} AS {quoted(name)}" for i, name in enumerate(schema.names)]
    return rows.where(f"{READ} IS NULL").selectExpr(*names)


def _of_files(scan: PlainScan, writer: str | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    zone = scan.projection.session.zone
    paths = [path for batch in batches for path in batch["path"].to_pylist()]
    rows = plain_rows(scan, (chunk for _, chunk in read_chunks(paths, scan.layout, zone)))
    return written_or_given(writer, rows, len(scan.projection.values), zone)


def _of_records(scan: PlainScan, writer: str | None, records: Records) -> Iterator[pa.RecordBatch]:
    from cepsql.readers.scan.json_records import read_records

    settle()
    zone = scan.projection.session.zone
    rows = plain_rows(scan, read_records(records, scan.layout, zone))
    return written_or_given(writer, rows, len(scan.projection.values), zone)
