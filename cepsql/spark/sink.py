"""Where the rows of a standing query go."""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter

from cepsql.spark.arrow import to_arrow


class BatchSink:
    """Gets each micro-batch in this process. One may come again after a failure, with the same number and rows.

    rows:    how many rows were handed over.
    error:   what handing over raised, None if nothing.
    waiting: what it waits for before it goes on, None if nothing.
    retries: how often handing over was tried again.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.error: Exception | None = None
        self.waiting: str | None = None
        self.retries = 0

    def attach(self, writer: DataStreamWriter, after: Callable[[int], None] = lambda batch: None) -> DataStreamWriter:
        """Return the writer with this sink set; `after` is called with the number of each batch after its rows."""

        def take(frame: DataFrame, batch: int) -> None:
            try:
                self.rows += self.accept(frame, batch)
            except Exception as error:
                self.error = error
                raise
            after(batch)

        return writer.foreachBatch(take)

    def accept(self, frame: DataFrame, batch: int) -> int:
        """Hand a micro-batch over and return how many rows that were.

        It needs one action and no more: the stage below runs once for each, and counts its rows each time.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let a batch that waits go on or fail: the query is being stopped."""


class RowSink(BatchSink):
    """Calls `on_rows(table, batch)` for each micro-batch that has rows."""

    def __init__(self, on_rows: Callable[[pa.Table, int], None]):
        super().__init__()
        self._on_rows = on_rows

    def accept(self, frame: DataFrame, batch: int) -> int:
        """Collect the rows and hand them over."""
        table = to_arrow(frame)
        if table.num_rows:
            self._on_rows(table, batch)
        return table.num_rows
