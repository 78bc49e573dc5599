"""Count the rows that Spark's aggregations over streams leave out, and never tell of: late ones and those without time.

Spark drops a row whose window, session or time ended at or before the watermark of the micro-batch before. It counts
groups of such rows, not rows. Here they are counted below the aggregation, against the same watermark, which the driver
reads from Spark's log between micro-batches and sends to the tasks within the plan.
"""

import itertools
import json
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepsql.spark.checkpoint.checkpoint_files import last_committed
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath
from cepsql.spark.jvm.shared_number import SharedNumber, expression_column
from cepsql.spark.jvm.spark_plan import (
    analyzed,
    children,
    column_ids,
    frame_of,
    has_aggregations,
    is_aggregation,
    items,
    keeps_state,
    nodes,
    with_child,
)

LEFT_OUT = "cepsql_left_out"
"""What the observations begin with that count rows that an aggregation of Spark's leaves out: `late`, `null_time`."""

_DELAY = "spark.watermarkDelayMs"
_MULTIPLYING = ("Generate", "Join", "Expand")
_numbers = itertools.count()


class LateBound:
    """The event time in microseconds at or below which Spark takes rows for late, the same in all tasks of a batch."""

    def __init__(self, spark):
        self._number = SharedNumber(spark, "late_bound")
        self.column = self._number.column

    def set_after(self, spark: CheckpointPath, batch: int | None = None) -> None:
        """Set the bound for the micro-batch after `batch`, by default after the last that Spark has finished.

        Spark makes some tasks before it hands a micro-batch over, so that only the time between two is early enough.
        """
        if batch is None:
            batch = last_committed(spark)
        self._number.set(0 if batch is None else _watermark(spark, batch))


def count_left_out(frame: DataFrame) -> tuple[DataFrame, LateBound | None]:
    """Return a streaming frame whose aggregations by event time, DISTINCT included, count the rows that they leave out.

    The second value must be set before the first and after every micro-batch; it is None where nothing is counted.
    Matches, and what an operator with state gives to another one, are never late.
    """
    plan = analyzed(frame)
    if plan is None or not has_aggregations(plan):
        return frame, None
    bound = LateBound(frame.sparkSession)
    counted = _counted(frame, plan, bound)
    return (frame, None) if counted is None else (frame_of(frame.sparkSession, counted), bound)


def _counted(frame: DataFrame, node, bound: LateBound):
    """Return a plan with the aggregations in it counting, None if there are none."""
    if is_aggregation(node) and not any(map(keeps_state, nodes(_child(node)))):
        place = _place(node)
        return None if place is None else _observed(frame, place, bound)
    inputs = [_counted(frame, child, bound) for child in children(node)]
    for number, changed in enumerate(inputs):
        if changed is not None:
            node = with_child(frame, node, number, changed)
    return node if any(changed is not None for changed in inputs) else None


@dataclass(frozen=True)
class _Aggregation:
    """Where the rows of an aggregation are counted: below the last node of `path`, of nodes with the number of a child.

    time: the Catalyst expression of what the rows are grouped by, a time or a struct with `start` and `end`.
    """

    path: tuple[tuple[object, int], ...]
    time: Any


def _observed(frame: DataFrame, place: _Aggregation, bound: LateBound):
    below = frame_of(frame.sparkSession, _child(*place.path[-1]))
    begin = end = expression_column(frame.sparkSession, place.time)
    if place.time.dataType().typeName() == "struct":
        begin, end = begin.getField("start"), end.getField("end")
    counting = below.observe(
        f"{LEFT_OUT}_{next(_numbers)}",
        F.count_if(F.unix_micros(end) <= bound.column).alias("late"),
        F.count_if(begin.isNull()).alias("null_time"),
    )
    changed = analyzed(counting)
    for above, number in reversed(place.path):
        changed = with_child(frame, above, number, changed)
    return changed


def _place(aggregate) -> _Aggregation | None:
    """Return where to count the rows of an aggregation, None if it does not group by event time.

    That is below the step that computes the window, for it leaves rows without time out, and below whatever makes
    several rows of one: joins with tables, LATERAL VIEW.
    """
    distinct = aggregate.nodeName() == "Distinct"
    keys = items(aggregate.output() if distinct else aggregate.groupingExpressions())
    time = next(
        (key for key in keys if key.nodeName() == "AttributeReference" and key.metadata().contains(_DELAY)), None
    )
    if time is None:
        return None
    path = [(aggregate, 0)]
    place = _Aggregation(tuple(path), time)
    below = _descent(path, time)
    if below is not None:
        time = below
        if _child(*path[-1]).nodeName() == "Filter" and _child(*path[-1]).condition().nodeName() == "IsNotNull":
            path.append((_child(*path[-1]), 0))
        place = _Aggregation(tuple(path), time)
    return _below_multiplying(place, column_ids(time.references().toSeq()))


def _descent(path: list, time):
    """Follow a column down to the node that computes it, which is put on the path; return its expression there.

    None, with the path as it was, if no node computes it.
    """
    taken: list[tuple[Any, int]] = []
    wanted = time.exprId()
    node = _child(*path[-1])
    while node is not None:
        computed = _computed(node, wanted)
        number = next((i for i, child in enumerate(children(node)) if _has(child, wanted)), None)
        if computed is not None and computed.nodeName() == "AttributeReference":
            wanted = computed.exprId()
            number = 0
        elif computed is not None:
            path += [*taken, (node, 0)]
            return computed
        if number is None or node.nodeName() == "Union":
            return None
        taken.append((node, number))
        node = _child(node, number)
    return None


def _below_multiplying(place: _Aggregation, read: list) -> _Aggregation:
    """Return the place below the last node that makes several rows of one and passes the columns of these ids on."""
    path, lowest = list(place.path), place
    node = _child(*path[-1])
    while node is not None:
        number = next((i for i, child in enumerate(children(node)) if all(_has(child, id) for id in read)), None)
        if number is None:
            break
        path.append((node, number))
        if node.nodeName() in _MULTIPLYING:
            lowest = _Aggregation(tuple(path), place.time)
        node = _child(node, number)
    return lowest


def _computed(node, wanted):
    """Return the expression by which a node computes the column of an id, None if it does not."""
    if node.nodeName() == "Expand":
        number = next((i for i, a in enumerate(items(node.output())) if a.exprId().equals(wanted)), None)
        # Of the windows that a row falls into the first one listed is the one that begins, and ends, last.
        return None if number is None else node.projections().apply(0).apply(number)
    if node.nodeName() != "Project":
        return None
    item = next((each for each in items(node.projectList()) if each.exprId().equals(wanted)), None)
    return item.child() if item is not None and item.nodeName() == "Alias" else None


def _child(node, number: int = 0):
    return node.children().apply(number) if node.children().size() > number else None


def _has(node, wanted) -> bool:
    return any(attribute.exprId().equals(wanted) for attribute in items(node.output()))


def _watermark(spark: CheckpointPath, batch: int) -> int:
    """Return the watermark of a micro-batch, in microseconds, from Spark's checkpoint."""
    _, metadata, *_ = (spark / "offsets" / str(batch)).read_text("utf-8").splitlines()
    return json.loads(metadata)["batchWatermarkMs"] * 1000
