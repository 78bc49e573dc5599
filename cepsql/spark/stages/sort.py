"""ORDER BY over streams in Spark: a stage without keys, whose one bucket gives out the rows in order."""

from collections.abc import Sequence
from dataclasses import asdict

from pyspark.sql.types import StructField, StructType

from cepsql.analysis.clauses.order_by import RowOrder
from cepsql.analysis.sql.canonical import canonical_sql, digest
from cepsql.language.tokens import quoted
from cepsql.operators.sorted_rows import SortedRows
from cepsql.spark.frames.operator_rows import layout_fields
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged

STATE_VERSION = 1
"""Of the rows that wait for the watermark; to be raised when the columns that travel change."""


def sort_stage(feeds: Sequence[Feed], rows: RowOrder) -> Staged:
    """Return what gives out the rows of streams, merged, in the order of event time as the watermark passes.

    feeds: streams of the same columns and types.
    """
    operator = SortedRows(rows.layout)
    order = [canonical_sql(item) for item in rows.order]
    identity = digest(["sort", STATE_VERSION, rows.time, order, [asdict(c) for c in rows.columns]])[:16]
    fields = layout_fields(feeds[0].frame, rows.layout)
    schema = StructType([StructField(field.name, field.dataType) for field in fields])
    output = tuple(f"v{i} AS {quoted(column.name)}" for i, column in enumerate(rows.columns))
    return Staged(operator, feeds, identity, schema, output, operator.hold)
