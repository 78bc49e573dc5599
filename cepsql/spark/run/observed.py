"""What Spark observed while a DataFrame was computed, or a micro-batch of a standing query."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from cepsql.spark.jvm.classic import frame_has_java
from cepsql.spark.jvm.spark_plan import observed_values
from cepsql.spark.jvm.stream_execution import BatchExecution, stream_sources
from cepsql.spark.run.late_counts import LEFT_OUT
from cepsql.spark.run.progress_watch import gathered

_DROPPING = ("StreamingSymmetricHashJoin", "StreamingDeduplicate", "StreamingDeduplicateWithinWatermark")
"""Physical operators of Spark's that count the single rows that they drop for being late."""


def observed_sum(frame: DataFrame, metric: str) -> int:
    """Return the sum of a metric over all observations of the last action on `frame`; 0 where nothing was observed."""
    if not frame_has_java(frame):
        return 0
    return sum(observed_values(frame, metric))


def own_offsets(query: StreamingQuery) -> list[int]:
    """Return which of the offsets of a query are of one source each, in the order of these: a source that is read in
    several places has one for each."""
    own: list = []
    for place, source in enumerate(stream_sources(query)):
        if not any(source.equals(other) for _, other in own):
            own.append((place, source))
    return [place for place, _ in own]


def observed_in(query: StreamingQuery, dropping: bool) -> dict[str, dict[str, Any]]:
    """Return what was observed in the micro-batch of a query that has just been computed: values by observation.

    dropping: whether operators of Spark's that drop late rows are among its own, which are looked at, too.
    """
    execution = BatchExecution(query)
    observed = gathered(execution.observations())
    if dropping:
        operators = [node for node in execution.operators() if node.nodeName() in _DROPPING]
        for number, operator in enumerate(operators):
            late = operator.metrics().apply("numRowsDroppedByWatermark").value()
            observed[f"{LEFT_OUT} {number}"] = {"late": late}
    return observed
