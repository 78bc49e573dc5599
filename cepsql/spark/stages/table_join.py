"""Joins of two tables that change in Spark."""

from collections.abc import Hashable, Sequence

from pyspark.sql.types import StructField, StructType

from cepsql.language.tokens import quoted
from cepsql.operators.pairing.pair_condition import PairColumn
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.operators.pairing.table_join import TableJoinOperator
from cepsql.ordered.plain_columns import plain_schema
from cepsql.plan.operators.table_join import TableJoin, table_join_layout
from cepsql.scalar.types import Type
from cepsql.spark.frames.arrow_rows import arrow_schema
from cepsql.spark.frames.operator_rows import typed_columns
from cepsql.spark.frames.session_conditions import value_type
from cepsql.spark.stages.interval_join import typed_condition
from cepsql.spark.staging.change_stage import change_stage
from cepsql.spark.staging.join_rows import key_types
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


def table_join_stage(node: TableJoin, feeds: Sequence[Feed]) -> Staged:
    """Return what gives the changes of the join of two tables.

    Raises what `cepsql.spark.staging.join_rows.key_types` raises.
    """
    frames = (feeds[0].frame, feeds[1].frame)
    kinds = key_types(node.keys, frames)
    layout = table_join_layout(node, kinds)
    fields, schemas, further = [], [], []
    types: dict[Hashable, Type] = {}
    for side, frame in enumerate(frames):
        compared = typed_columns(frame, ((column.sql, column.name) for column in layout.asked[side]))
        types |= {PairColumn(side, field.name): value_type(field.dataType) for field in compared}
        further.append(plain_schema(arrow_schema(StructType(compared))))
        own = typed_columns(frame, ((column.sql, column.name) for column in layout.values[side]))
        schemas.append(plain_schema(arrow_schema(StructType(own))))
        fields += (
            []
            if side and node.single
            else [StructField((LEFT, RIGHT)[side] + field.name, field.dataType) for field in own]
        )
    condition = None if layout.condition is None else typed_condition(layout.condition, types, frames[0].sparkSession)
    schema, asks = (schemas[0], schemas[1]), (further[0], further[1])
    left, right = layout.layouts
    operator = TableJoinOperator(left, right, node.kind, schema, condition, asks, node.null_safe, node.identified)
    named = [
        f"{prefix}v{i} AS {quoted(prefix + name)}"
        for prefix, names in zip((LEFT,) if node.single else (LEFT, RIGHT), node.columns, strict=False)
        for i, name in enumerate(names)
    ]
    return change_stage(node, operator, feeds, fields, named, kinds)
