"""The base class of sinks: declared columns, and retries while a sink is unavailable."""

import logging
import threading
import time
from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.base.secrets import is_secret, redact
from cepsql.catalog import Sink
from cepsql.errors import OperationalError
from cepsql.language.tokens import quoted
from cepsql.sinks.added_columns import Columns, applies_changes, fitted_columns, written_columns
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.frames.last_rows import last_rows
from cepsql.spark.frames.pieces import PieceCollector, Pieces
from cepsql.spark.run.sink import BatchHook, BatchSink
from cepsql.views.recent_rows import LastRows

LOGGER = logging.getLogger("cepsql")
PATIENCE_SECONDS = 600.0
"""The default of the option `retry_for`: how long an unavailable sink is retried."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 15.0


class Unavailable(Exception):
    """The sink cannot be written to now, but may be later; the text says why.

    refused: it answers, but refuses the user.
    seconds: the least pause that it asks for before the next try.
    """

    def __init__(self, reason: str, refused: bool = False, seconds: float = 0.0):
        super().__init__(reason)
        self.refused, self.seconds = refused, seconds


class FittedSink(BatchSink):
    """A sink whose rows have its columns; subclasses write them.

    sink, writer: the sink's definition, and the query that writes.
    changes:      the rows are changes, with a column OPERATION.
    last_rows:    a buffer of the last rows for those who watch them, or None.
    """

    changes = False
    last_rows: LastRows | None = None

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__()
        self.sink, self.writer = sink, writer
        self._closed = threading.Event()
        self._collector = PieceCollector()
        self._secrets = [value for name, value in sink.options if is_secret(name)]

    def check(self, columns: Columns) -> None:
        """Refuse columns that do not fit; see `cepsql.sinks.added_columns.fitted_columns`."""
        fitted_columns(self.sink, self.columns_to_write(columns))

    def check_frame(self, frame: DataFrame) -> None:
        """Refuse rows whose columns do not fit; see `check`."""
        self.check(column_types(frame))

    @property
    def applies(self) -> bool:
        """Whether the sink applies changes, instead of writing them as rows with OPERATION."""
        return self.changes and applies_changes(self.sink)

    def columns_to_write(self, columns: Columns) -> Columns:
        """Return the columns that the sink writes.

        Raises ProgrammingError if the rows are changes, and the sink supports none.
        """
        return written_columns(self.sink, columns, self.changes)

    def attach(
        self, writer: DataStreamWriter, after: BatchHook = lambda batch: None, before: BatchHook = lambda batch: None
    ) -> DataStreamWriter:
        """Return the writer with this sink; from now on the sink refuses earlier epochs of the query."""
        self.claim()
        return super().attach(writer, after, before)

    def claim(self) -> None:
        """Take over the sink from earlier epochs.

        Raises OperationalError if a later epoch has taken it over, or it has rows of batches that the checkpoint does
        not know.
        """

    def check_last_batch(self, written: int) -> None:
        """Raise OperationalError if the checkpoint does not know a written batch: the next batches would reuse its
        number, and their rows would be skipped."""
        if self.planned is not None and written > self.planned:
            raise OperationalError(
                f"the checkpoint of query {self.writer.query} is an older copy: it does not know batch {written}, of "
                f"which sink {self.sink.name} has rows",
                hint="put its newest copy back; or make a savepoint of it, and CREATE OR REPLACE QUERY ... FROM "
                "SAVEPOINT writes the rows since then again",
            )

    def lost(self, where: str) -> OperationalError:
        """Return the error for a place that lacks the record that the checkpoint expects there.

        where: the folder or database, for the message.
        """
        return OperationalError(
            f"sink {self.sink.name}: {where} lacks the record of what query {self.writer.query} has written; it was "
            "moved or removed, or its disk is not mounted",
            hint="put it back: the next start resumes with this batch; "
            "CREATE OR REPLACE QUERY ... WITH NEW CHECKPOINT AS ... starts over and writes all rows again",
        )

    def forget(self) -> None:
        """Remove the sink's records of a dropped query; its rows stay.

        Raises OperationalError if the sink does not answer.
        """

    def accept(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch in the sink's columns."""
        columns = column_types(frame)
        fitted = fitted_columns(self.sink, self.columns_to_write(columns))
        written = [f"CAST({quoted(column)} AS {kind}) AS {quoted(name)}" for column, name, kind in fitted]
        written += [OPERATION] if self.applies else []
        if self.sink.columns and [(name, kind) for _, name, kind in fitted] != columns:
            # Tasks would write the rows before this cast.
            frame, self.task_writer = frame.selectExpr(*written), None
        if self.last_rows is None:
            return self.write(frame, batch)
        followed = self.last_rows.followed
        seen = followed or self.last_rows.most > 0
        return self._write_seen(frame, batch, followed) if seen else self.write(frame, batch)

    def _write_seen(self, frame: DataFrame, batch: int, followed: bool) -> int:
        """Write the rows of a micro-batch, and keep the last ones; all of them while somebody follows."""
        columns = column_types(frame)
        if self.sink.format.lower() == "noop":
            return self._keep(frame, batch, columns, followed)
        # The stage below must run only once.
        self.task_writer = None
        persisted = frame.persist()
        try:
            rows = self.write(persisted, batch)
            self._keep(persisted, batch, columns, followed)
            return rows
        finally:
            persisted.unpersist()

    def _keep(self, frame: DataFrame, batch: int, columns: Columns, followed: bool) -> int:
        """Keep the last rows of a micro-batch, or all, by one action; return the number of its rows."""
        assert self.last_rows is not None
        if followed:
            with self.collected(frame) as pieces:
                self.last_rows.keep(batch, columns, pieces, whole=True, followed=True)
                return pieces.rows
        rows, tables = last_rows(frame, self.last_rows.most)
        whole = rows == sum(table.num_rows for table in tables)
        self.last_rows.keep(batch, columns, tables, whole, followed=False)
        return rows

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a frame by one action; return their number, also if they were written before."""
        raise NotImplementedError

    def collected(self, frame: DataFrame) -> Pieces:
        """Return the rows of a frame; collect only one frame at a time."""
        return self._collector.collect(frame, self.task_writer)

    def close(self) -> None:
        """Make a waiting batch fail."""
        self._closed.set()
        if not self.attached:
            self._collector.close()

    def detach(self) -> None:
        """Release the callback of Spark, and the collector of its rows."""
        super().detach()
        self._collector.close()

    def said(self, failure: Unavailable) -> str:
        """Return the message of an unavailable sink."""
        does = "refuses the user" if failure.refused else "does not answer"
        return f"sink {self.sink.name} {does}: {redact(str(failure), self._secrets)}"

    def persistently(self, write: Callable[[], int], patience: float) -> int:
        """Call `write`, and retry while it raises Unavailable, after growing pauses or those it asks for.

        patience: seconds after which Unavailable becomes OperationalError; a stopped query raises it at once.
        """
        pause, begun = _FIRST_PAUSE, time.monotonic()
        while True:
            try:
                rows = write()
            except Unavailable as failure:
                reason = self.said(failure)
                if self.waiting is None:
                    LOGGER.warning("%s; it is tried again", reason)
                self.waiting = reason
                # A try itself may take long.
                left = patience - (time.monotonic() - begun)
                if left <= 0 or self._closed.wait(min(max(pause, failure.seconds), left)):
                    self.waiting = None
                    raise OperationalError(
                        reason, hint="nothing is lost: the next start resumes with this batch"
                    ) from failure
                pause = min(pause * 2, _LONGEST_PAUSE)
                self.retries += 1
            else:
                if self.waiting is not None:
                    LOGGER.warning("sink %s answers again", self.sink.name)
                self.waiting = None
                return rows
