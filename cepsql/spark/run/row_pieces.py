"""The rows of a bounded DataFrame piece by piece, in their order, in memory that does not grow with their number.

Spark itself hands over whole partitions. Here each task sends its rows to this process as it makes them; those of later
partitions wait in their sockets, or in a file, until it is their turn.
"""

import threading
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from cepsql.spark.frames.arrow_rows import arrow_columns, handed_out, map_rows, to_arrow
from cepsql.spark.jvm.classic import frame_has_java
from cepsql.spark.jvm.lent_settings import stage_settings
from cepsql.spark.jvm.spark_plan import most_rows
from cepsql.spark.run.receiver import Receiver, sender
from cepsql.spark.run.runs import Run

_FEW = 10_000
"""Rows that are simply collected."""


class RowPieces:
    """The rows of a bounded frame as tables, at least one; times are in the session's time zone.

    run:      how it is cancelled.
    executed: the frame that Spark runs, for what is observed in it.
    Iterating raises what Spark raises. Closing the iterator ends Spark's jobs.
    """

    def __init__(self, frame: DataFrame, run: Run):
        self.executed = frame
        self._frame, self._run = frame, run

    def __iter__(self) -> Iterator[pa.Table]:
        if not frame_has_java(self._frame) or _is_small(self._frame):
            with self._run.interruptible():
                few = to_arrow(self._frame)
            yield few
            return
        with Receiver.of(self._frame.sparkSession) as receiver:
            yield from self._received(receiver)

    def _received(self, receiver: Receiver) -> Iterator[pa.Table]:
        frame = arrow_columns(self._frame)
        self.executed = map_rows(frame, sender(receiver), "done BOOLEAN")
        job = threading.Thread(target=self._work, args=[receiver], name="cepsql-rows", daemon=True)
        job.start()
        empty = True
        try:
            for batch in receiver.batches():
                empty = False
                yield handed_out(pa.Table.from_batches([batch]), frame)
        finally:
            if not receiver.done:
                self._run.cancel()
            # Tasks whose rows nobody takes any more would wait for ever.
            receiver.close()
            job.join()
        if empty:
            yield to_arrow(self._frame.limit(0))

    def _work(self, receiver: Receiver) -> None:
        spark = self._frame.sparkSession
        try:
            with self._run.tagged(), stage_settings(spark):
                self.executed.collect()
        except Exception as failure:
            receiver.end(failure)
        else:
            receiver.end()


def _is_small(frame: DataFrame) -> bool:
    """Tell whether the plan says that there are few rows."""
    most = most_rows(frame)
    return most is not None and most <= _FEW
