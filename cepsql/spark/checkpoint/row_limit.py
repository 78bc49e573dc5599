"""LIMIT over a stream: the number of rows returned, over all starts of a query."""

import json

import pyarrow as pa

from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, write_whole

_FILE = "limit.json"


class RowLimit:
    """Cuts the batches of a query to its LIMIT.

    The count is stored beside the checkpoint: a repeated batch is cut at the same row, and no rows follow after the
    limit was reached.
    """

    def __init__(self, limit: int, checkpoint: CheckpointPath):
        self._limit, self._file = limit, checkpoint / _FILE
        self._batch, self._before, self._rows_out = -1, 0, 0
        if self._file.exists():
            said = json.loads(self._file.read_text("utf-8"))
            self._batch, self._before, self._rows_out = said["batch"], said["before"], said["given"]
        self._complete = self._rows_out >= limit

    @property
    def reached(self) -> bool:
        """Whether no further rows follow."""
        return self._rows_out >= self._limit

    def cut(self, rows: pa.Table, batch: int) -> pa.Table:
        """Return the rows of a batch within the limit."""
        if self._complete:
            return rows.slice(0, 0)
        self._before = self._before if batch == self._batch else self._rows_out
        self._batch = batch
        first_rows = rows.slice(0, self._limit - self._before)
        self._rows_out = self._before + first_rows.num_rows
        return first_rows

    def save(self) -> None:
        """Store that the rows of the last batch were returned."""
        said = {"batch": self._batch, "before": self._before, "given": self._rows_out}
        write_whole(self._file, json.dumps(said))
