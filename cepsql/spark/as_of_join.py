"""Each row of a stream with the nearest one of another as a Spark DataFrame, in a keyed ordered stage."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from cepsql.analysis.canonical import digest
from cepsql.analysis.plain_sql import sql_of
from cepsql.operators.as_of_join import AsOfJoin as JoinOperator
from cepsql.ordered.row_layout import OrderColumn
from cepsql.plan.identity import describe_as_of_join
from cepsql.plan.nodes import AsOfJoin
from cepsql.spark.buckets import Buckets
from cepsql.spark.join_rows import alike_sides, is_nested, join_rows, needed_columns
from cepsql.spark.rows import column_type
from cepsql.spark.stage import Feed, run_stage

_DELETION = "o0"


def join_as_of(node: AsOfJoin, feeds: Sequence[Feed], observation: str, buckets: Buckets | None = None) -> DataFrame:
    """Return the rows of a join: the columns of the node. Arguments and errors as of `cepsql.spark.stream_join`.

    All columns of the right travel that can be compared, so that it does not matter for which of several rows of one
    time is taken which columns a query reads.
    """
    feeds = alike_sides(node, feeds)
    right = feeds[node.sides.index(1)].frame
    time, needed = node.side(1).properties.event_time.column.lower(), needed_columns(node, 1)
    declared = [column.name.lower() for column in node.side(1).properties.columns]
    plain = [name for name in declared if name in needed or not is_nested(column_type(right, name))]
    names = needed_columns(node, 0), [name for name in plain if name != time]
    # A row that deletes comes before one of the same time that sets values.
    order = () if node.deletion is None else (OrderColumn(_DELETION, f"({sql_of(node.deletion)})", descending=True),)
    rows = join_rows(node, feeds, names, order=order)
    operator = JoinOperator(
        *rows.layouts, node.forward, node.strict, node.outer, rows.columns[1], _DELETION if order else None
    )
    stage = run_stage(operator, feeds, digest([describe_as_of_join(node), rows.kinds, names[1]]), observation, buckets)
    return rows.output(stage)
