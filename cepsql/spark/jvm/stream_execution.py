"""Look into a streaming query of Spark's while it runs.

Relies on: `_jsq.streamingQuery()` of a query is Spark's StreamExecution, with `sources`, `lastExecution`,
`awaitProgressLock`, `awaitInitialization` and the field `pollingDelayMs`.
"""

import contextlib
import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql.streaming import StreamingQuery

from cepsql.spark.jvm.spark_plan import items, nodes

_CLASS, _POLLING_DELAY = "StreamExecution", "pollingDelayMs"


def stream_sources(query: StreamingQuery) -> list:
    """Return the sources of a query, one for each place that reads it."""
    return items(_execution(query).sources())


def await_initialization(query: StreamingQuery, milliseconds: int) -> None:
    """Wait until the query's own thread has opened the logs of its sources; raises what fails there."""
    _execution(query).awaitInitialization(milliseconds)


@contextlib.contextmanager
def unpolled(query: StreamingQuery) -> Iterator[None]:
    """Let a query look for no input within the block; the thread that enters it leaves it."""
    lock = _execution(query).awaitProgressLock()
    lock.lock()
    try:
        yield
    finally:
        lock.unlock()


class BatchExecution:
    """How the micro-batch that a query has just computed was executed."""

    def __init__(self, query: StreamingQuery):
        self._execution = _execution(query).lastExecution()

    def observations(self) -> dict[str, dict[str, Any]]:
        """Return what was observed: values by observation."""
        pairs = items(self._execution.observedMetrics().toSeq())
        return {pair.productElement(0): json.loads(pair.productElement(1).json()) for pair in pairs}

    def operators(self) -> list:
        """Return the physical operators, the outermost first."""
        return list(nodes(self._execution.executedPlan()))


def polling_delay(query: StreamingQuery) -> tuple[int, Callable[[int], object]]:
    """Return how many milliseconds a query without input waits before it looks for some again, and what changes that.

    Raises what Java does if it has no such field.
    """
    execution = _execution(query)
    kind = execution.getClass()
    while kind.getSimpleName() != _CLASS:
        kind = kind.getSuperclass()
    field = kind.getDeclaredField(_POLLING_DELAY)
    field.setAccessible(True)
    return field.getLong(execution), functools.partial(field.setLong, execution)


def _execution(query: StreamingQuery) -> Any:
    return query._jsq.streamingQuery()
