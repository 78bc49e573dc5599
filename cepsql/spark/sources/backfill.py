"""Backfill: the first micro-batch reads a table's rows up to a time; the stream's rows follow from that time on."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from cepsql.analysis.sql.properties import DELETED, ORIGIN
from cepsql.catalog import Backfill, Source
from cepsql.catalog.file_names import file_name
from cepsql.language.tokens import quoted
from cepsql.spark.checkpoint.checkpoint_files import SPARK, last_committed
from cepsql.spark.checkpoint.checkpoint_path import write_whole
from cepsql.spark.checkpoint.host_files import HISTORY, HostFiles
from cepsql.spark.frames.saved_rows import keep_rows, kept_rows
from cepsql.spark.frames.worker import settle
from cepsql.spark.sources.source import MALFORMED, WHOLE, read_source, whole_row


def with_history(spark: SparkSession, live: DataFrame, stream: Source, files: HostFiles) -> DataFrame:
    """Return the rows of a stream for a query, its history first.

    live:  the rows of the stream without history, as `cepsql.spark.sources.source.read_source` returns them.
    files: of the query's checkpoint.
    The history is read once, before the first micro-batch, and stored until that commits, so a repeated first
    micro-batch has the same rows. Malformed rows and rows without event time count in both history and stream.
    Raises what reading the history raises.
    """
    assert stream.backfill is not None and stream.watermark is not None
    backfill, time = stream.backfill, quoted(stream.watermark.column)
    if MALFORMED not in live.columns:
        live = live.selectExpr("*", f"false AS {MALFORMED}")
    name = file_name(stream.name)
    rows_file = files.folder / HISTORY / name / "rows.arrow"
    sign = files.checkpoint / HISTORY / name / "sign" / "begin.txt"
    begun = last_committed(files.checkpoint / SPARK) is not None
    if begun:
        files.remove(rows_file)
    elif not rows_file.exists():
        written = rows_file.with_name(f".{rows_file.name}")
        keep_rows(_history(spark, stream, backfill, live).where(_on_side(time, "<", backfill)), written)
        files.put(written, rows_file)
    sign.parent.mkdir(parents=True, exist_ok=True)
    if not begun and not sign.exists():
        write_whole(sign, "begin\n")
    signs = spark.readStream.text(str(sign.parent))
    history = signs.mapInArrow(partial(_read, rows_file), _with_nulls(live.schema))
    return live.where(_on_side(time, ">=", backfill)).unionByName(history)


def _on_side(time: str, comparison: str, backfill: Backfill) -> str:
    return f"{MALFORMED} OR {time} IS NULL OR {time} {comparison} {backfill.until}"


def _history(spark: SparkSession, stream: Source, backfill: Backfill, live: DataFrame) -> DataFrame:
    """Return the rows of the history with the columns of the stream; computed columns are computed again."""
    frame = read_source(spark, backfill.history)
    there = {name.lower() for name in frame.columns}
    if MALFORMED not in frame.columns:
        frame = frame.selectExpr("*", f"false AS {MALFORMED}")
    read = [column for column in stream.columns if column.expression is None]
    columns = [
        quoted(c.name) if c.name.lower() in there else f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in read
    ]
    frame = frame.selectExpr(*columns, MALFORMED)
    computed = [c for c in stream.columns if c.expression is not None]
    frame = frame.selectExpr("*", *(f"CAST(({c.expression}) AS {c.type}) AS {quoted(c.name)}" for c in computed))
    if WHOLE in live.columns:
        frame = frame.selectExpr("*", whole_row(replace(stream, backfill=None), "CAST(NULL AS STRING)"))
    # Hidden columns of a changelog: a table's rows are not deleted, and precede all others.
    further = {f.name: f.dataType.simpleString() for f in live.schema.fields if f.name not in frame.columns}
    carried = [f"CAST({'false' if name == DELETED else 'NULL'} AS {kind}) AS {name}" for name, kind in further.items()]
    return frame.selectExpr("*", *carried).to(_with_nulls(live.schema))


def _with_nulls(schema: StructType) -> StructType:
    """Return a schema whose columns are all nullable, because the history may lack columns of the stream.

    The fields of ORIGIN are nullable too: rows of the history have none.
    """
    kinds = [_of_nullable(f.dataType) if f.name == ORIGIN else f.dataType for f in schema.fields]
    return StructType([StructField(field.name, kind) for field, kind in zip(schema.fields, kinds, strict=True)])


def _of_nullable(struct: DataType) -> StructType:
    assert isinstance(struct, StructType)
    return StructType([StructField(field.name, field.dataType) for field in struct.fields])


def _read(path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    for batch in batches:
        for _ in range(batch.num_rows):
            yield from kept_rows(path)
