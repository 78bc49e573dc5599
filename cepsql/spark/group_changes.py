"""Groups that change as a Spark DataFrame: an ordered stage keeps what their aggregates need to go on."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import ByteType, StructField, StructType

from cepsql.analysis.canonical import digest
from cepsql.analysis.emission import OPERATION
from cepsql.analysis.group_changes import GroupChanges
from cepsql.language.tokens import quoted
from cepsql.operators.changing_groups import EVER, ChangingGroups
from cepsql.operators.changing_windows import CHANGE
from cepsql.plan.identity import describe_group_changes
from cepsql.spark.buckets import Buckets
from cepsql.spark.over import running_fields
from cepsql.spark.rows import layout_columns
from cepsql.spark.stage import Feed, run_stage, stage_rows
from cepsql.spark.window_groups import operation_of

STATE_VERSION = 1
"""Of what is kept for groups; to be raised when the columns that travel change."""


def group_changes(feeds: Sequence[Feed], groups: GroupChanges, observation: str, buckets: Buckets | None) -> DataFrame:
    """Return what groups of streams were and are, with each micro-batch that changes them."""
    frame = feeds[0].frame
    rows = frame.selectExpr(*layout_columns(frame, groups.layout))
    calls = tuple(call for _, call in groups.calls)
    given, types = running_fields(calls, rows)
    operator = ChangingGroups(groups.layout, calls, types)
    identity = digest([STATE_VERSION, describe_group_changes(groups)])[:16]
    stage = run_stage(operator, feeds, identity, observation, buckets, EVER)
    keys = [field for field in rows.schema.fields if field.name.startswith("k")]
    plain = [StructField(field.name, field.dataType) for field in keys]
    found = stage_rows(stage, StructType([*plain, *given, StructField(CHANGE, ByteType())]))
    named = [f"k{i} AS {quoted(column.name)}" for i, column in enumerate(groups.keys)]
    return found.selectExpr(*named, *(quoted(field.name) for field in given), f"{operation_of(CHANGE)} AS {OPERATION}")
