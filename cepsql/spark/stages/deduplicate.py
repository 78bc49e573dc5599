"""Deduplication in Spark: over a stream in a keyed ordered stage, over a table by sorting it."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from cepsql.analysis.clauses.deduplication import FirstRows
from cepsql.analysis.sql.canonical import digest
from cepsql.language.tokens import quoted
from cepsql.operators.deduplicate import DeduplicateOperator
from cepsql.ordered.sorted_run import run_sorted
from cepsql.spark.frames.arrow_rows import refuse_months
from cepsql.spark.frames.operator_rows import layout_fields
from cepsql.spark.sources.source import MALFORMED
from cepsql.spark.stages.match import sorted_rows
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged

STATE_VERSION = 1
"""Of what a deduplication keeps; to be raised when the columns that travel for it change."""


def deduplication_stage(feeds: Sequence[Feed], rows: FirstRows) -> Staged:
    """Return what finds the first rows in streams, merged in the order of event time, as soon as they are released.

    feeds: streams of the same columns and types.
    """
    operator = DeduplicateOperator(rows.layout, rows.within)
    identity = digest([STATE_VERSION, rows.keys, rows.order, rows.within, [asdict(c) for c in rows.columns]])[:16]
    return Staged(operator, feeds, identity, _schema(feeds[0].frame, rows), _output(rows), operator.hold)


def deduplicate_table(frame: DataFrame, rows: FirstRows) -> DataFrame:
    """Return the first rows in a bounded frame; rows without event time take no part."""
    if MALFORMED in frame.columns:
        frame = frame.where(f"NOT {MALFORMED}")
    schema = _schema(frame, rows)
    refuse_months(schema, "DEDUPLICATE")
    timely = frame.where(f"{quoted(rows.time)} IS NOT NULL")
    first_rows = sorted_rows(timely, rows.layout, list(rows.order)).mapInArrow(
        partial(run_sorted, DeduplicateOperator(rows.layout, rows.within)), schema
    )
    return first_rows.selectExpr(*_output(rows))


def _schema(frame: DataFrame, rows: FirstRows) -> StructType:
    fields = layout_fields(frame, rows.layout)
    return StructType([StructField(field.name, field.dataType) for field in fields])


def _output(rows: FirstRows) -> tuple[str, ...]:
    return tuple(f"v{i} AS {quoted(column.name)}" for i, column in enumerate(rows.columns))
