"""Groups of a table that changes in Spark."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, DoubleType, StructField, StructType

from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.operators.changing.change_rows import KIND
from cepsql.operators.changing.partial_groups import partial_groups
from cepsql.operators.changing.retracting_groups import GroupCall, RetractingGroupsOperator
from cepsql.operators.running import RunningCall
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.operators.retracting_groups import RetractingGroups
from cepsql.plan.tree.nodes import takes_rows_away
from cepsql.spark.frames.arrow_rows import plain_types
from cepsql.spark.frames.operator_rows import has_collation, incomparable, layout_rows
from cepsql.spark.stages.over import is_compared, running_type
from cepsql.spark.staging.change_stage import change_stage
from cepsql.spark.staging.listed_groups import with_listed_calls
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


def retracting_groups_stage(node: RetractingGroups, feeds: Sequence[Feed]) -> Staged:
    """Return what gives the changes of the groups of a table."""
    frame = feeds[0].frame
    layout, places = node.placed_layout()
    calls = [replace(call, name=column.name, column=places[call.column]) for column, call in node.calls]
    rows = layout_rows(frame, layout)
    result_fields = [StructField(call.name, _group_type(call, rows)) for call in calls]
    retracting = any(map(takes_rows_away, node.inputs))
    layout = _reduced(layout, calls, rows.schema, retracting)
    operator = RetractingGroupsOperator(layout, tuple(calls), plain_types(result_fields), retracting)
    keys = [field for field in rows.schema.fields if field.name.startswith("k") and field.name != KIND]
    named = [f"k{i} AS {quoted(column.name)}" for i, column in enumerate(node.keys)]
    listed = [call for _, call in node.listed]
    lists = {call.values.name for call in listed}
    named += [quoted(call.name) for call in calls if call.name not in lists]
    named += [quoted(call.name) for call in listed]
    staged = change_stage(node, operator, feeds, [*keys, *result_fields], named, retracting)
    if listed:
        staged = replace(staged, gathered=partial(with_listed_calls, listed))
    return replace(staged, begins=not node.keys)


def _reduced(layout: RowLayout, calls: Sequence[GroupCall], schema: StructType, retracting: bool) -> RowLayout:
    """Return the layout of rows that are added up before the shuffle, if all that is known of a group are exact totals.

    Else order counts for DOUBLE only, whose sums, and zeros that are equal, differ by it.
    """
    names = list(dict.fromkeys(call.column for call in calls))
    types = dict(zip(names, plain_types([schema[name] for name in names]), strict=True))
    needs = any(call.needs_values(types[call.column], retracting) for call in calls)
    reduction = None if needs else partial_groups([(call.function, call.column) for call in calls], types)
    if reduction is not None:
        return replace(layout, reduction=reduction, joins=True)
    read = {types[call.column] for call in calls if call.function != "count"}
    return replace(layout, any_order=retracting or not any(map(pa.types.is_floating, read)))


def _group_type(call: GroupCall, rows: DataFrame) -> DataType:
    """Return the type of an aggregate; raises NotSupportedError for values that it cannot compute with."""
    kind = rows.schema[call.column].dataType
    if call.function in ("count", "sum", "avg", "min", "max"):
        return running_type(RunningCall(call.name, call.function, call.column), rows)
    # Maps, which Spark does not compare, are listed in the order of their entries.
    listed = call.function == "list" and not call.distinct and incomparable(kind) == "MAP" and not has_collation(kind)
    if not is_compared(kind) and not listed:
        raise NotSupportedError(
            f"an aggregate of {kind.simpleString().upper()} that needs the values of a group that changes is not "
            "supported",
            hint="to_json(x) is the text of a value",
        )
    if call.function == "list":
        return ArrayType(kind, containsNull=False)
    return kind if call.function == "mode" else DoubleType()
