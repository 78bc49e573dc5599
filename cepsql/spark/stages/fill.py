"""FILL in Spark: over a stream in a keyed ordered stage, over a table by sorting it."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType, TimestampType

from cepsql.analysis.clauses.fill_clause import FilledGroups
from cepsql.analysis.sql.canonical import digest
from cepsql.errors import ProgrammingError
from cepsql.language.tokens import quoted
from cepsql.operators.windowing.fill import FillKind, FillOperator, constant
from cepsql.ordered.sorted_run import run_sorted
from cepsql.plan.operators.fill import describe_fill
from cepsql.spark.frames.arrow_rows import plain_types, refuse_months
from cepsql.spark.frames.operator_rows import layout_fields
from cepsql.spark.jvm.session_zone import session_zone
from cepsql.spark.stages.match import sorted_rows
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged

STATE_VERSION = 1
"""Of the groups that are kept; to be raised when the columns that travel change."""


def fill_stage(feeds: Sequence[Feed], groups: FilledGroups) -> Staged:
    """Return what gives out the groups of a stream and rows for the windows between them.

    Raises ProgrammingError for a constant that is no value of its column.
    """
    schema, operator = _schema(feeds[0].frame, groups), _in_zone(feeds[0].frame, groups)
    identity = digest([STATE_VERSION, describe_fill(groups), [asdict(column) for column in groups.columns]])[:16]
    return Staged(operator, feeds, identity, schema, _output(groups), operator.hold)


def fill_table(frame: DataFrame, groups: FilledGroups) -> DataFrame:
    """Return the groups in a bounded frame with rows for the windows between them; raises as `fill_stage` does."""
    schema = _schema(frame, groups)
    refuse_months(schema, "FILL")
    timely = frame.where(f"{quoted(groups.time)} IS NOT NULL")
    ordered = sorted_rows(timely, groups.fill.layout, [quoted(groups.time)])
    return ordered.mapInArrow(partial(run_sorted, _in_zone(frame, groups)), schema).selectExpr(*_output(groups))


def _in_zone(frame: DataFrame, groups: FilledGroups) -> FillOperator:
    """Return the operator, with the clocks of the session where a calendar measures the windows of a TIMESTAMP."""
    fill = groups.fill
    kind = frame.schema[groups.time].dataType
    if fill.calendar is None or not isinstance(kind, TimestampType):
        return fill
    return replace(fill, calendar=replace(fill.calendar, zone=session_zone(frame.sparkSession)))


def _schema(frame: DataFrame, groups: FilledGroups) -> StructType:
    names = {"t", *(column.name for column in groups.fill.layout.values)}
    fields = [f for f in layout_fields(frame, groups.fill.layout) if f.name in names]
    _check_constants(fields, groups)
    return StructType([StructField(field.name, field.dataType) for field in fields])


def _check_constants(fields: Sequence[StructField], groups: FilledGroups) -> None:
    values = [field for field in fields if field.name != "t"]
    kinds = plain_types(values)
    for field, kind, filler, column in zip(values, kinds, groups.fill.fillers, groups.columns, strict=True):
        if filler.kind != FillKind.CONSTANT:
            continue
        try:
            constant(filler.value, kind)
        except (pa.ArrowException, TypeError, ValueError):
            raise ProgrammingError(
                f"FILL has {filler.value} for {column.name}, which is {field.dataType.simpleString().upper()}"
            ) from None


def _output(groups: FilledGroups) -> tuple[str, ...]:
    return tuple(f"v{i} AS {quoted(column.name)}" for i, column in enumerate(groups.columns))
