"""What Spark observed while a DataFrame was computed, or a micro-batch of a standing query."""

import json
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from cepsql.spark.jvm.spark_plan import items, jvm, nodes
from cepsql.spark.run.late_counts import LEFT_OUT
from cepsql.spark.run.progress_watch import gathered

_DROPPING = ("StreamingSymmetricHashJoin", "StreamingDeduplicate", "StreamingDeduplicateWithinWatermark")
"""Physical operators of Spark's that count the single rows that they drop for being late."""


def observed_sum(frame: DataFrame, metric: str) -> int:
    """Return the sum of a metric over all observations of the last action on `frame`; 0 where nothing was observed."""
    if not hasattr(frame, "_jdf"):
        return 0
    spark = frame.sparkSession
    java = jvm(spark).scala.jdk.javaapi.CollectionConverters.asJava
    rows = [entry.getValue() for entry in java(frame._jdf.queryExecution().observedMetrics()).entrySet()]
    fields = [(row, list(row.schema().fieldNames())) for row in rows]
    return sum(row.get(names.index(metric)) for row, names in fields if metric in names)


def own_offsets(query: StreamingQuery) -> list[int]:
    """Return which of the offsets of a query are of one source each, in the order of these: a source that is read in
    several places has one for each."""
    found: list = []
    for place, source in enumerate(items(query._jsq.streamingQuery().sources())):
        if not any(source.equals(other) for _, other in found):
            found.append((place, source))
    return [place for place, _ in found]


def observed_in(query: StreamingQuery, dropping: bool) -> dict[str, dict[str, Any]]:
    """Return what was observed in the micro-batch of a query that has just been computed: values by observation.

    dropping: whether operators of Spark's that drop late rows are among its own, which are looked at, too.
    """
    execution = query._jsq.streamingQuery().lastExecution()
    rows = items(execution.observedMetrics().toSeq())
    found = gathered({pair._1(): json.loads(pair._2().json()) for pair in rows})
    if dropping:
        operators = [node for node in nodes(execution.executedPlan()) if node.nodeName() in _DROPPING]
        for number, operator in enumerate(operators):
            late = operator.metrics().apply("numRowsDroppedByWatermark").value()
            found[f"{LEFT_OUT} {number}"] = {"late": late}
    return found
