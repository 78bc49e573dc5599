"""LIMIT over a stream: how many rows have been given out, over all starts of a query."""

import json

import pyarrow as pa

from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, write_whole

_FILE = "limit.json"


class RowLimit:
    """Cuts the batches of a query to its LIMIT.

    What was given out is remembered beside the checkpoint: a batch that comes again is cut at the same place, and once
    all rows were given out no further one is.
    """

    def __init__(self, limit: int, checkpoint: CheckpointPath):
        self._limit, self._file = limit, checkpoint / _FILE
        self._batch, self._before, self._given = -1, 0, 0
        if self._file.exists():
            said = json.loads(self._file.read_text("utf-8"))
            self._batch, self._before, self._given = said["batch"], said["before"], said["given"]
        self._complete = self._given >= limit

    @property
    def reached(self) -> bool:
        """Whether no further row is given out."""
        return self._given >= self._limit

    def cut(self, rows: pa.Table, batch: int) -> pa.Table:
        """Return the rows of a batch that are to be given out."""
        if self._complete:
            return rows.slice(0, 0)
        self._before = self._before if batch == self._batch else self._given
        self._batch = batch
        first_rows = rows.slice(0, self._limit - self._before)
        self._given = self._before + first_rows.num_rows
        return first_rows

    def save(self) -> None:
        """Remember that the rows of the last batch were given out."""
        said = {"batch": self._batch, "before": self._before, "given": self._given}
        write_whole(self._file, json.dumps(said))
