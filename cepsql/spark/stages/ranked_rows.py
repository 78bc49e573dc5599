"""The rows of a table with the first ranks as a Spark DataFrame of changes."""

from collections.abc import Sequence

from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, IntegerType, StructField, StructType

from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.operators.changing.ranked_rows import RANK, RankedRowsOperator
from cepsql.plan.operators.ranked_rows import RankedRows
from cepsql.plan.tree.change_layout import HIDDEN, ordered_layout
from cepsql.plan.tree.nodes import takes_rows_away
from cepsql.spark.frames.operator_rows import column_type, has_collation, incomparable, layout_rows
from cepsql.spark.staging.change_stage import change_stage
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


def ranked_rows_stage(node: RankedRows, feeds: Sequence[Feed]) -> Staged:
    """Return what gives the changes of the rows with the first ranks.

    Raises NotSupportedError for keys and orders that cannot be compared as Spark does.
    """
    frame, retracting = feeds[0].frame, any(map(takes_rows_away, node.inputs))
    for name in (*node.keys, *(item.this.name for item in node.order)):
        check_ordered(name, column_type(frame, name))
    layout, places = ordered_layout(node, lambda name: not isinstance(column_type(frame, name), UNLIKE))
    operator = RankedRowsOperator(layout, node.ranking, node.limit, node.rank is not None, retracting)
    rows = layout_rows(frame, layout)
    fields = {field.name: field for field in rows.schema.fields}
    result_fields = [fields[c.name] for c in (*layout.keys, *layout.order, *layout.values) if c not in HIDDEN]
    if node.rank is not None:
        result_fields.append(StructField(RANK, IntegerType()))
    named = [f"{places[name.lower()]} AS {quoted(name)}" for name in node.columns]
    named += [f"{RANK} AS {quoted(node.rank)}"] if node.rank is not None else []
    return change_stage(node, operator, feeds, result_fields, named, retracting)


UNLIKE = (FloatType, DoubleType, ArrayType, StructType)
"""The types of which equal values may differ in their bits."""


def check_ordered(name: str, kind: DataType) -> None:
    """Raise NotSupportedError for a column that cannot be compared as Spark does."""
    unfit = incomparable(kind)
    if unfit is None and has_collation(kind):
        unfit = "text with a collation"
    if unfit is not None:
        raise NotSupportedError(
            f"ranks by {name}, which is {unfit}, are not supported",
            hint="rank by what is in it, or by lower(...) COLLATE UTF8_BINARY of it",
        )
