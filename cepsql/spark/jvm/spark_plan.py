"""Look into the analyzed plans of Spark, and put nodes of them together anew.

Relies on: `_jdf.queryExecution()` of a DataFrame has its plans; nodes have the names and methods of Catalyst's trees;
`Dataset.ofRows` makes a frame of an analyzed plan.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from cepsql.spark.jvm.classic import frame_has_java

_AGGREGATIONS = ("Aggregate", "Distinct")
_DEDUPLICATIONS = ("Deduplicate", "DeduplicateWithinWatermark")
_STAGE = "FlatMapGroups"
_CUT = " characters"
"""How Spark ends the text of a plan that it has cut: it says how long the whole one is."""


def analyzed(frame: DataFrame):
    """Return the analyzed plan of a frame, None where no JVM is at hand (Spark Connect)."""
    return _execution(frame).analyzed() if frame_has_java(frame) else None


def most_rows(frame: DataFrame) -> int | None:
    """Return how many rows a frame can have at most as far as its optimized plan knows, None if it knows no limit."""
    most = _execution(frame).optimizedPlan().maxRows()
    return int(str(most.get())) if most.isDefined() else None


def observed_values(frame: DataFrame, metric: str) -> list[Any]:
    """Return the values of a metric in the observations of the last action on a frame that have it."""
    java = jvm(frame.sparkSession).scala.jdk.javaapi.CollectionConverters.asJava
    rows = [entry.getValue() for entry in java(_execution(frame).observedMetrics()).entrySet()]
    fields = [(row, list(row.schema().fieldNames())) for row in rows]
    return [row.get(names.index(metric)) for row, names in fields if metric in names]


def _execution(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution()


def jvm(spark: SparkSession) -> Any:
    """Return the JVM of a session, which is not Spark Connect's."""
    assert spark._jvm is not None
    return spark._jvm


def frame_of(spark: SparkSession, plan) -> DataFrame:
    """Return the frame of an analyzed plan, in a session of the Spark that the plan is of."""
    return DataFrame(jvm(spark).org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)


def nodes(plan) -> Iterator:
    """Yield a plan's nodes, the outermost first."""
    yield plan
    for child in children(plan):
        yield from nodes(child)


def mentions(plan, *names: str) -> int:
    """Return how often the text of a plan has these words: no more of its nodes have such names.

    Looking at every node takes many exchanges with Java, this one. Of a text that the user lets Spark cut
    (spark.sql.maxPlanStringLength) nothing is known: it may have them all.
    """
    text = plan.toString()
    return sys.maxsize if text.endswith(_CUT) else sum(text.count(name) for name in names)


def children(node) -> list:
    """Return the inputs of a node."""
    return items(node.children())


def items(sequence) -> list:
    """Return a sequence of Scala's as a list."""
    return [sequence.apply(i) for i in range(sequence.size())]


def column_ids(attributes) -> list:
    """Return the ids by which Spark knows the columns that a node gives."""
    return [attribute.exprId() for attribute in items(attributes)]


def with_child(frame: DataFrame, node, number: int, child):
    """Return a copy of a node with another input at a place; `frame` is any of the session."""
    inputs = children(node)
    inputs[number] = child
    return node.withNewChildren(jvm(frame.sparkSession).PythonUtils.toSeq(inputs))


def is_aggregation(node) -> bool:
    """Tell whether a node aggregates a stream."""
    return node.nodeName() in _AGGREGATIONS and node.isStreaming()


def is_match(node) -> bool:
    """Tell whether a node is one of our stages."""
    return node.nodeName().startswith(_STAGE)


def keeps_state(node) -> bool:
    """Tell whether a node remembers rows of streams between micro-batches."""
    if node.nodeName() == "Join":
        return all(child.isStreaming() for child in children(node))
    return node.isStreaming() and (node.nodeName() in (*_AGGREGATIONS, *_DEDUPLICATIONS) or is_match(node))


def drops_rows(frame: DataFrame) -> bool:
    """Tell whether operators of Spark's that count the late rows that they drop are part of a streaming frame."""
    plan = analyzed(frame)
    return plan is not None and _has_node(plan, ("Join", *_DEDUPLICATIONS), keeps_state)


def has_windows(frame: DataFrame) -> bool:
    """Tell whether a frame computes window functions over a stream: ours, of frames that lie in one micro-batch."""
    plan = analyzed(frame)
    return plan is not None and _has_node(plan, ("Window",), lambda node: node.isStreaming())


def has_aggregations(plan) -> bool:
    """Tell whether a plan aggregates a stream."""
    return _has_node(plan, _AGGREGATIONS, is_aggregation)


def _has_node(plan, names: Sequence[str], test: Callable[[Any], bool]) -> bool:
    """Tell whether a node of one of these names passes a test."""
    return mentions(plan, *names) > 0 and any(node.nodeName() in names and test(node) for node in nodes(plan))


def has_more_matches(plan, number: int) -> bool:
    """Tell whether a plan has more than so many of our stages."""
    return mentions(plan, _STAGE) > number and sum(map(is_match, nodes(plan))) > number
