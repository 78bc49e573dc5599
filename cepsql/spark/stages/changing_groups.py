"""Groups that change as a Spark DataFrame: an ordered stage keeps what their aggregates need to go on."""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql.types import ByteType, StructField, StructType

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.clauses.emitted_groups import GroupChanges
from cepsql.analysis.sql.canonical import digest
from cepsql.language.tokens import quoted
from cepsql.operators.changing.changing_groups import EVER, ChangingGroupsOperator
from cepsql.operators.changing.partial_groups import partial_groups
from cepsql.operators.running import RunningCall
from cepsql.operators.windowing.changing_windows import CHANGE
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.operators.changing_groups import describe_group_changes
from cepsql.spark.frames.arrow_rows import plain_types
from cepsql.spark.frames.operator_rows import layout_rows
from cepsql.spark.stages.over import running_fields
from cepsql.spark.stages.window_aggregate import operation_of
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged

STATE_VERSION = 1
"""Of what is kept for groups; to be raised when the columns that travel change."""


def group_changes_stage(feeds: Sequence[Feed], groups: GroupChanges) -> Staged:
    """Return what gives what groups of streams were and are, with each micro-batch that changes them."""
    frame = feeds[0].frame
    rows = layout_rows(frame, groups.layout)
    calls = tuple(call for _, call in groups.calls)
    fields, types = running_fields(calls, rows)
    operator = ChangingGroupsOperator(_reduced(groups.layout, calls, rows.schema), calls, types)
    identity = digest([STATE_VERSION, describe_group_changes(groups)])[:16]
    keys = [StructField(field.name, field.dataType) for field in rows.schema.fields if field.name.startswith("k")]
    schema = StructType([*keys, *fields, StructField(CHANGE, ByteType())])
    named = [f"k{i} AS {quoted(column.name)}" for i, column in enumerate(groups.keys)]
    output = (*named, *(quoted(field.name) for field in fields), f"{operation_of(CHANGE)} AS {OPERATION}")
    return Staged(operator, feeds, identity, schema, output, None, lateness=EVER, begins=not groups.keys)


def _reduced(layout: RowLayout, calls: Sequence[RunningCall], schema: StructType) -> RowLayout:
    """Return the layout of rows that are added up before the shuffle, where nothing is added in order."""
    if layout.by_arrival:
        return layout
    asked = [(call.function, call.column) for call in calls if call.column is not None]
    names = list(dict.fromkeys(column for _, column in asked))
    types = dict(zip(names, plain_types([schema[name] for name in names]), strict=True))
    reduction = partial_groups(asked, types)
    return layout if reduction is None else replace(layout, reduction=reduction, joins=True)
