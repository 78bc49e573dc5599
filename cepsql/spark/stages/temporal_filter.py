"""The rows of a table while their time lasts, as a Spark DataFrame of changes."""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.language.tokens import quoted
from cepsql.operators.changing import temporal_filter
from cepsql.operators.changing.temporal_filter import TemporalFilterOperator
from cepsql.ordered.row_layout import AT_ONCE, Column, RowLayout
from cepsql.plan.operators.temporal_filter import ENTER, LEAVE, TemporalFilter
from cepsql.plan.tree.change_layout import KIND
from cepsql.plan.tree.nodes import reads, takes_rows_away
from cepsql.spark.checkpoint.control import system_times
from cepsql.spark.frames.operator_rows import event_time, layout_fields
from cepsql.spark.staging.bounds import BOUND
from cepsql.spark.staging.change_stage import change_stage
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


def temporal_filter_stage(node: TemporalFilter, feeds: Sequence[Feed], control: str | None, limit: int) -> Staged:
    """Return what gives the changes of rows that come and go as time passes.

    control: the control folder of the query's checkpoint, whose heartbeats are the clock of ARRIVAL; None: it stands.
    limit:   how many rows of a bucket a micro-batch lets come or go because of the time.
    """
    (feed,) = feeds
    frame, retracting = feed.frame, takes_rows_away(node.inputs[0])
    columns = [c.name for c in node.properties.columns if c.name not in (IDENTITY, CHANGE, BOUND)]
    mark = node.inputs[0].properties.watermark
    timed = node.chained and mark is not None and not feed.chained
    times = [(temporal_filter.ENTER, ENTER)] * node.enters + [(temporal_filter.LEAVE, LEAVE)] * node.leaves
    layout = RowLayout(
        (Column("k0", IDENTITY),),
        Column("t", quoted(mark.column)) if timed and mark is not None else AT_ONCE,
        values=(
            *(Column(f"v{i}", quoted(name)) for i, name in enumerate(columns)),
            *(Column(name, event_time(frame, column)) for name, column in times),
            *([KIND] if retracting else []),
        ),
    )
    fields = layout_fields(frame, layout)
    named = [f"v{i} AS {quoted(name)}" for i, name in enumerate(columns)]
    operator = TemporalFilterOperator(layout, retracting, limit)
    if control is not None and not node.chained:
        name = next((relation.name for relation in reads(node) if relation.streaming), "")
        feeds = [replace(feed, name=feed.name or name), Feed(_ticks(frame, control), 0)]
    return change_stage(node, operator, feeds, [f for f in fields if f.name[0] == "v"], named, retracting)


def _ticks(frame: DataFrame, control: str) -> DataFrame:
    """Return markers with the time of the system clock, beside columns as a frame has them."""
    nothing = [f"CAST(NULL AS {field.dataType.simpleString()}) AS {quoted(field.name)}" for field in frame.schema]
    return system_times(frame.sparkSession, control).selectExpr(*nothing, f"clock AS {BOUND}")
