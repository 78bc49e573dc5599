"""Where the rows of a standing query go."""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter

from cepsql.spark.arrow import to_arrow
from cepsql.spark.row_limit import RowLimit


class RowSink:
    """Calls `on_rows(table, batch_id)` in this process for each batch that has rows; a batch may come again after a
    failure, with the same id and the same rows.

    rows:   how many rows were handed over.
    error:  what `on_rows` raised, None if nothing.
    limit:  how many rows are handed over at most, None for all.
    enough: called once no further row is handed over.
    """

    def __init__(self, on_rows: Callable[[pa.Table, int], None]):
        self._on_rows = on_rows
        self.rows = 0
        self.error: Exception | None = None
        self.limit: RowLimit | None = None
        self.enough: Callable[[], None] = lambda: None

    def attach(self, writer: DataStreamWriter, after: Callable[[int], None] = lambda batch: None) -> DataStreamWriter:
        """Return the writer with this sink set; `after` is called with the id of each batch after its rows."""

        def take(frame: DataFrame, batch: int) -> None:
            self._take(frame, batch)
            after(batch)

        return writer.foreachBatch(take)

    def _take(self, frame: DataFrame, batch_id: int) -> None:
        # One action and no more: the stage below runs once for each, and counts its rows each time.
        table = to_arrow(frame)
        if self.limit is not None:
            table = self.limit.cut(table, batch_id)
        if table.num_rows == 0:
            return
        try:
            self._on_rows(table, batch_id)
        except Exception as error:
            self.error = error
            raise
        self.rows += table.num_rows
        if self.limit is not None:
            self.limit.save()
            if self.limit.reached:
                self.enough()
