"""CURRENT_WATERMARK in Spark: a stage that passes rows on at once, each with the watermark at its arrival."""

from collections.abc import Sequence
from dataclasses import asdict

from pyspark.sql.types import LongType, StructField, StructType

from cepsql.analysis.sql.canonical import digest
from cepsql.language.tokens import quoted
from cepsql.operators.changing.changing_groups import EVER
from cepsql.operators.current_watermark import WATERMARK, CurrentWatermarkOperator
from cepsql.plan.operators.current_watermark import CurrentWatermark
from cepsql.spark.frames.operator_rows import column_type, layout_fields, time_of
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged

STATE_VERSION = 1
"""Version of the state; raise it when the columns of the rows change."""


def current_watermark_stage(node: CurrentWatermark, feeds: Sequence[Feed]) -> Staged:
    """Return the stage that passes on the rows of streams at once, each with the watermark at its arrival.

    feeds: streams of the same columns and types.
    """
    rows, frame = node.rows, feeds[0].frame
    operator = CurrentWatermarkOperator(rows.layout)
    identity = digest(["current watermark", STATE_VERSION, rows.time, [asdict(c) for c in rows.columns]])[:16]
    values = [field for field in layout_fields(frame, rows.layout) if field.name.startswith("v")]
    fields = [StructField(field.name, field.dataType) for field in values]
    watermark = time_of(WATERMARK, column_type(frame, rows.time))
    columns = (f"v{i} AS {quoted(c.name)}" for i, c in enumerate(rows.columns))
    output = (*columns, f"{watermark} AS {quoted(rows.hidden)}")
    schema = StructType([*fields, StructField(WATERMARK, LongType())])
    # Rows that arrive after the end of the input was signalled, as by a drain, are ordinary rows.
    endless = not node.markers
    return Staged(operator, feeds, identity, schema, output, operator.hold, lateness=EVER, endless=endless)
