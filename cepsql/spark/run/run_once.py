"""Run a streaming frame once, over the input that is there, in a temporary checkpoint."""

import threading

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.checkpoint import discard, open_checkpoint
from cepsql.spark.run.sink import RowSink

_RUNNING: dict[StreamingQuery, threading.Event] = {}
"""The runs of this process, each with the event that says that it was cancelled."""


def run_once(frame: DataFrame) -> list[pa.Table]:
    """Return the rows of every micro-batch that has some, in the batches that the source gives; the input does not end.

    Raises what Spark raises, and OperationalError if `cancel_runs` ended it.
    """
    checkpoint, cancelled = open_checkpoint(None, "run once"), threading.Event()
    tables: list[pa.Table] = []
    try:
        writer = RowSink(lambda table, _: tables.append(table)).attach(frame.writeStream.outputMode("append"))
        query = writer.option("checkpointLocation", checkpoint.spark).trigger(availableNow=True).start()
        _RUNNING[query] = cancelled
        try:
            query.awaitTermination()
        finally:
            del _RUNNING[query]
            query.stop()
    finally:
        discard(checkpoint)
    if cancelled.is_set():
        raise OperationalError("the run was cancelled")
    return tables


def cancel_runs(spark: SparkSession) -> None:
    """Stop the runs of a session."""
    for query, cancelled in list(_RUNNING.items()):
        if any(active.runId == query.runId for active in spark.streams.active):
            cancelled.set()
            query.stop()
