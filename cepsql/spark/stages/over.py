"""Window functions over a stream, computed in an ordered stage, or by Spark over the rows of frames that one hands out.

Spark refuses window functions over streams because a frame might span micro-batches. For functions that only Spark
knows the stage gives out every row together with the rows of its frame, so that each frame lies in one micro-batch.
"""

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DecimalType,
    IntegerType,
    LongType,
    NumericType,
    StructField,
    StructType,
)
from sqlglot import exp

from cepsql.analysis.clauses.frame_reach import with_bounds_of_one_type
from cepsql.analysis.clauses.framed_calls import excludes, framed_calls, refused_exclusion
from cepsql.analysis.clauses.group_numbers import by_number, group_number, of_groups
from cepsql.analysis.clauses.over_calls import Frames
from cepsql.analysis.sql.canonical import digest
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.operators.framing.frame_rows import FRESH, PLACE, FrameRows
from cepsql.operators.framing.framed import Framed
from cepsql.operators.running import RunningCall, RunningOperator
from cepsql.ordered.sorted_run import run_sorted
from cepsql.plan.operators.over import describe_frames
from cepsql.spark.frames.arrow_rows import plain_types, refuse_months
from cepsql.spark.frames.nullable_types import with_nulls_inside
from cepsql.spark.frames.operator_rows import has_collation, incomparable, layout_fields, layout_rows
from cepsql.spark.frames.session_conditions import is_ansi
from cepsql.spark.frames.typed_frame import typed_frame
from cepsql.spark.stages.match import sorted_rows
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged

STATE_VERSION = 1
"""Of the rows that are kept for frames; to be raised when the columns that travel change."""

_SUMMED_DIGITS = 28
"""Of more digits Spark's sums have no room for ten further ones, and may be NULL."""

_FRESH, _PLACE, _GROUP = "__fresh", "__place", "__group"


def over_stage(feeds: Sequence[Feed], frames: Frames) -> Staged:
    """Return what gives the rows of streams, merged in the order of event time, with a column for each call.

    feeds: streams of the same columns and types.
    """
    if frames.running:
        return _running(feeds, frames)
    framed = _framed(feeds, frames)
    if framed is not None:
        return framed
    if excludes(frames):
        raise refused_exclusion()
    reach = frames.reach
    assert reach.before is not None
    micros, groups = (reach.micros_before, reach.micros_after), (reach.groups_before, reach.groups_after)
    operator = FrameRows(frames.layout, reach.before, reach.after, *micros, *groups)
    values = [f"v{i} AS {quoted(column.name)}" for i, column in enumerate(frames.columns)]
    values += [f"{FRESH} AS {_FRESH}", f"{PLACE} AS {_PLACE}"]

    def gathered(rows: DataFrame, marks: list[str]) -> DataFrame:
        return _computed(rows.selectExpr(*values, *marks), frames, marks)

    schema = _schema(feeds[0].frame, frames)
    columns = (*frames.columns, *(call.column for call in frames.calls))
    output = tuple(quoted(column.name) for column in columns)
    return Staged(operator, feeds, _identity(frames), schema, output, operator.hold, gathered)


def over_table(frame: DataFrame, frames: Frames) -> DataFrame:
    """Return the rows of a bounded frame with what an operator computes as it goes through them."""
    rows = layout_rows(frame, frames.layout)
    calls = frames.running_calls
    result_fields, types = running_fields(calls, rows)
    schema = StructType([*(StructField(field.name, field.dataType) for field in rows.schema.fields), *result_fields])
    refuse_months(schema, "OVER")
    ordered = sorted_rows(frame, frames.layout, [sql_of(item) for item in frames.order])
    output = [f"v{i} AS {quoted(column.name)}" for i, column in enumerate(frames.columns)]
    return ordered.mapInArrow(partial(run_sorted, RunningOperator(frames.layout, calls, types)), schema).selectExpr(
        *output, *(quoted(field.name) for field in result_fields)
    )


def _running(feeds: Sequence[Feed], frames: Frames) -> Staged:
    """Return the rows with what an operator computes that goes on from batch to batch."""
    frame, calls = feeds[0].frame, frames.running_calls
    rows = layout_rows(frame, frames.layout)
    result_fields, types = running_fields(calls, rows)
    return _computed_in_stage(
        RunningOperator(frames.layout, calls, types), feeds, frames, rows.schema.fields, result_fields
    )


def _framed(feeds: Sequence[Feed], frames: Frames) -> Staged | None:
    """Return the rows with what an operator computes of those around them; None where Spark is to compute it."""
    calls, frame, reach = framed_calls(frames), feeds[0].frame, frames.reach
    if calls is None:
        return None
    assert reach.before is not None
    rows = layout_rows(frame, frames.layout)
    kinds = {field.name: field.dataType for field in rows.schema.fields}
    if not all(call.column is None or _is_framed(call.function, kinds[call.column]) for call in calls):
        return None
    # Of one row, all these functions of Spark's give its own value.
    texts = [f"{'first' if c.function == 'row' else c.function}({c.column or 1}) AS x{i}" for i, c in enumerate(calls)]
    fields = rows.selectExpr(*texts).schema.fields
    result_fields = [StructField(call.name, field.dataType) for call, field in zip(calls, fields, strict=True)]
    bounds = (
        reach.before, reach.after, reach.micros_before, reach.micros_after, reach.groups_before, reach.groups_after,
    )  # fmt: skip
    left = [field for field in rows.schema.fields if field.name not in frames.layout.key_names]
    return _computed_in_stage(
        Framed(
            frames.layout, *bounds, calls=calls, types=plain_types(result_fields), wraps=not is_ansi(frame.sparkSession)
        ),
        feeds, frames, left, result_fields,
    )  # fmt: skip


def _is_framed(function: str, kind: DataType) -> bool:
    """Tell whether an operator computes a function of values of a type over frames as Spark does."""
    if function in ("count", "row", "first", "last"):
        return True
    if function in ("min", "max"):
        return is_compared(kind)
    return is_summed(kind)


def _computed_in_stage(
    operator: RunningOperator | Framed,
    feeds: Sequence[Feed],
    frames: Frames,
    rows: Sequence[StructField],
    result_fields: Sequence[StructField],
) -> Staged:
    """Return an operator that gives out its rows, with these columns, and the columns `result_fields` of the calls."""
    plain = [StructField(field.name, field.dataType) for field in rows]
    values = [f"v{i} AS {quoted(column.name)}" for i, column in enumerate(frames.columns)]
    output = (*values, *(quoted(field.name) for field in result_fields))
    return Staged(operator, feeds, _identity(frames), StructType([*plain, *result_fields]), output, operator.hold)


def _identity(frames: Frames) -> str:
    return digest([STATE_VERSION, describe_frames(frames)])[:16]


def running_fields(calls: Sequence[RunningCall], rows: DataFrame) -> tuple[list[StructField], tuple[pa.DataType, ...]]:
    """Return what calls give over the rows of a layout, as Spark has it, and their types in a stage.

    Raises what `running_type` raises.
    """
    result_fields = [StructField(call.name, running_type(call, rows)) for call in calls]
    return result_fields, plain_types(result_fields)


def running_type(call: RunningCall, rows: DataFrame) -> DataType:
    """Return the type of what a call gives; raises NotSupportedError for values that it cannot compute with."""
    if call.column is None:
        return LongType() if call.function == "count" else IntegerType()
    if call.function == "seen":
        return BooleanType()
    kind = rows.schema[call.column].dataType
    arithmetic = call.function in ("sum", "avg")
    fits = isinstance(kind, NumericType) if arithmetic else is_compared(kind)
    if not fits and call.function not in ("count", "first", "last"):
        raise NotSupportedError(
            f"{call.function.upper()} of {kind.simpleString().upper()} over all rows before, on a stream, is not "
            "supported",
            hint="ROWS BETWEEN 10 PRECEDING AND CURRENT ROW takes it, and so does GROUP BY with a window",
        )
    return LongType() if call.function == "count" else aggregate_type(rows.sparkSession, call.function, kind)


_aggregate_types: dict[tuple[str, str], DataType] = {}
"""What Spark was asked for: a function and the text of a type, with the type that the function gives."""


def aggregate_type(spark: SparkSession, function: str, kind: DataType) -> DataType:
    """Return the type of an aggregate of values of a type, which is the same in every session."""
    asked = function, kind.json()
    if asked not in _aggregate_types:
        rows = typed_frame(spark, [StructField("x", kind)])
        _aggregate_types[asked] = rows.selectExpr(f"{function}(x) AS x").schema["x"].dataType
    return _aggregate_types[asked]


def is_compared(kind: DataType) -> bool:
    """Tell whether an operator compares values of a type as Spark does."""
    return incomparable(kind) is None and not has_collation(kind)


def is_summed(kind: DataType) -> bool:
    """Tell whether an operator computes with values of a type, over frames or rows that change, as Spark does."""
    return isinstance(kind, NumericType) and not (isinstance(kind, DecimalType) and kind.precision > _SUMMED_DIGITS)


def _computed(rows: DataFrame, frames: Frames, marks: list[str]) -> DataFrame:
    """Return the fresh rows with the columns of the calls; markers are partitions of their own."""
    keys = [*frames.keys, *marks]
    spread = rows.repartition(*map(quoted, keys)) if keys else rows.repartition(1)
    order = [F.expr(quoted(key)).asc() for key in keys]
    order += [_sort_key(item) for item in frames.order]
    # Rows that tie in ORDER BY keep the stage's order, which is the same in every micro-batch.
    placed = spread.sortWithinPartitions(*order, _PLACE)
    over = [_over_rows(call.call, marks) for call in frames.calls]
    grouped = next((call for call in over if of_groups(call)), None)
    if grouped is not None:
        placed = placed.selectExpr("*", f"{sql_of(group_number(grouped))} AS {_GROUP}")
        over = [by_number(call, exp.column(_GROUP)) if of_groups(call) else call for call in over]
    calls = [
        f"{sql_of(with_bounds_of_one_type(call))} AS {quoted(made.column.name)}"
        for call, made in zip(over, frames.calls, strict=True)
    ]
    computed = with_nulls_inside(placed.selectExpr("*", *calls), [call.column.name for call in frames.calls])
    fresh = " OR ".join([_FRESH, *(f"{mark} IS NOT NULL" for mark in marks)])
    return computed.where(fresh).drop(_FRESH, _PLACE, _GROUP)


def _sort_key(item: exp.Ordered):
    column = F.expr(quoted(item.this.name))
    if item.args.get("desc"):
        return column.desc_nulls_first() if item.args.get("nulls_first") else column.desc_nulls_last()
    return column.asc_nulls_first() if item.args.get("nulls_first") else column.asc_nulls_last()


def _over_rows(call: exp.Window, marks: list[str]) -> exp.Window:
    copy = call.copy()
    copy.set("partition_by", [*(copy.args.get("partition_by") or []), *map(exp.column, marks)])
    return copy


def _schema(frame: DataFrame, frames: Frames) -> StructType:
    fields = layout_fields(frame, frames.layout)
    result_fields = [StructField(field.name, field.dataType) for field in fields]
    return StructType([*result_fields, StructField(FRESH, BooleanType()), StructField(PLACE, LongType())])
