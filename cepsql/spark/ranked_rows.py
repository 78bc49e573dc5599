"""The rows of a table with the first ranks as a Spark DataFrame of changes."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, IntegerType, StructField, StructType

from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.operators.ranked_rows import RANK
from cepsql.operators.ranked_rows import RankedRows as RankedOperator
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout
from cepsql.plan.nodes import RankedRows, takes_rows_away
from cepsql.spark.buckets import Buckets
from cepsql.spark.rows import column_type, incomparable, layout_columns
from cepsql.spark.stage import Feed
from cepsql.spark.table_changes import AT_ONCE, HIDDEN, change_stage, hidden_columns


def ranked_rows(node: RankedRows, feeds: Sequence[Feed], observation: str, buckets: Buckets | None) -> DataFrame:
    """Return the changes of the rows with the first ranks.

    Raises NotSupportedError for keys and orders that cannot be compared as Spark does.
    """
    frame, retracting = feeds[0].frame, any(map(takes_rows_away, node.inputs))
    order = [item.this.name for item in node.order]
    for name in (*node.keys, *order):
        _check(name, column_type(frame, name))
    places = {name.lower(): f"o{i}" for i, name in enumerate(order)}
    # Equal keys of other types are alike to the last bit.
    plain = [name for name in node.keys if not isinstance(column_type(frame, name), _UNLIKE)]
    places |= {name.lower(): f"k{node.keys.index(name)}" for name in plain}
    values = [name for name in node.columns if name.lower() not in places]
    places |= {name.lower(): f"v{i}" for i, name in enumerate(values)}
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(name)) for i, name in enumerate(node.keys)),
        AT_ONCE,
        tuple(
            OrderColumn(
                f"o{i}", quoted(item.this.name), bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
            )
            for i, item in enumerate(node.order)
        ),
        (*(Column(f"v{i}", quoted(name)) for i, name in enumerate(values)), *(HIDDEN if retracting else ())),
    )
    operator = RankedOperator(layout, node.ranking, node.limit, node.rank is not None, retracting)
    rows = frame.selectExpr(*layout_columns(frame, layout))
    fields = {field.name: field for field in rows.schema.fields}
    given = [fields[column.name] for column in (*layout.keys, *layout.order, *layout.values[: len(values)])]
    if node.rank is not None:
        given.append(StructField(RANK, IntegerType()))
    found = change_stage(node, operator, feeds, observation, buckets, given, retracting)
    named = [f"{places[name.lower()]} AS {quoted(name)}" for name in node.columns]
    named += [f"{RANK} AS {quoted(node.rank)}"] if node.rank is not None else []
    return found.selectExpr(*named, *hidden_columns())


_UNLIKE = (FloatType, DoubleType, ArrayType, StructType)


def _check(name: str, kind: DataType) -> None:
    unfit = incomparable(kind)
    if unfit is None and "collate" in kind.simpleString():
        unfit = "text with a collation"
    if unfit is not None:
        raise NotSupportedError(
            f"ranks by {name}, which is {unfit}, are not supported",
            hint="rank by what is in it, or by lower(...) of it",
        )
