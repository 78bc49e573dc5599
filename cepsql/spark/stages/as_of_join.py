"""Each row of a stream with the nearest one of another in Spark, in a keyed ordered stage."""

from collections.abc import Sequence

from cepsql.analysis.sql.canonical import digest
from cepsql.operators.pairing.as_of_join import AsOfJoinOperator
from cepsql.plan.operators.as_of_join import AsOfJoin, as_of_join_layout
from cepsql.spark.frames.operator_rows import column_type
from cepsql.spark.stages.interval_join import pair_condition
from cepsql.spark.staging.join_rows import JoinRows, alike_sides, is_nested, key_types, side_frames
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


def as_of_join_stage(node: AsOfJoin, feeds: Sequence[Feed]) -> Staged:
    """Return what gives the rows of a join: the columns of the node. Arguments and errors as of
    `cepsql.spark.stages.interval_join`."""
    feeds = alike_sides(node, feeds)
    frames = side_frames(node, feeds)
    kinds = key_types(node.keys, frames)
    layout = as_of_join_layout(node, kinds, lambda name: not is_nested(column_type(frames[1], name)))
    rows = JoinRows(node, frames, layout)
    operator = AsOfJoinOperator(
        *layout.layouts, node.forward, node.strict, node.outer, rows.columns[1], node.deletion_column,
        tolerance=node.tolerance, condition=pair_condition(layout, frames), versions=node.versions,
        null_safe=node.null_safe,
    )  # fmt: skip
    identity = digest([node.describe(), kinds, layout.names[1]])
    return rows.staged(operator, feeds, identity)
