"""The rows of a standing query, kept until somebody takes them."""

import queue
import threading
from collections.abc import Iterator

import pyarrow as pa

from cepsql.spark.run.sink import RowSink

CAPACITY = 64
"""Batches that wait to be taken; the query pauses when so many do."""


class RowQueue(RowSink):
    """A sink whose batches are taken one by one, in order."""

    def __init__(self):
        super().__init__(self._put)
        self._waiting: queue.Queue[pa.Table] = queue.Queue(CAPACITY)
        self._closed = threading.Event()

    def close(self) -> None:
        """Let a query that waits for room go on; what it still gives is dropped."""
        self._closed.set()

    def take(self, ended: threading.Event, timeout: float | None = None) -> Iterator[pa.Table]:
        """Yield batches as they come until the query has `ended`, or for `timeout` seconds without one."""
        poll, waited = 0.1, 0.0
        while timeout is None or waited < timeout:
            over = ended.is_set()
            try:
                yield self._waiting.get(timeout=poll)
                waited = 0.0
            except queue.Empty:
                if over:
                    return
                waited += poll

    def _put(self, table: pa.Table, _: int) -> None:
        while not self._closed.is_set():
            try:
                self._waiting.put(table, timeout=0.2)
                return
            except queue.Full:
                continue
