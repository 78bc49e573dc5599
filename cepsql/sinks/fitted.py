"""What sinks have in common: columns as declared, and patience with what does not answer."""

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
"""How long a sink that does not answer is tried again, unless the option `retry_for` says otherwise."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 15.0


class Unavailable(Exception):
    """The sink cannot be written to now, but may be later; the text says why.

    refused: it answers, and lets the user in no more, or not yet.
    seconds: how long it asks not to be tried again.
    """

    def __init__(self, reason: str, refused: bool = False, seconds: float = 0.0):
        super().__init__(reason)
        self.refused, self.seconds = refused, seconds


class FittedSink(BatchSink):
    """A sink whose rows have its columns; subclasses write them.

    sink, writer: what is written, and who writes.
    changes:      the rows have a column OPERATION, which says what each does to the result.
    last_rows:    where the last rows are kept for those who want to see them, None for nowhere.
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
        fitted_columns(self.sink, self.given(columns))

    def check_frame(self, frame: DataFrame) -> None:
        """Refuse rows whose columns do not fit; see `check`."""
        self.check(column_types(frame))

    @property
    def applies(self) -> bool:
        """Whether changes are applied to what the sink holds, and not written as rows with OPERATION."""
        return self.changes and applies_changes(self.sink)

    def given(self, columns: Columns) -> Columns:
        """Return the columns that are written.

        Raises ProgrammingError if the rows are changes, and the sink can do nothing with them.
        """
        return written_columns(self.sink, columns, self.changes)

    def attach(
        self, writer: DataStreamWriter, after: BatchHook = lambda batch: None, before: BatchHook = lambda batch: None
    ) -> DataStreamWriter:
        """Return the writer with this sink set; from now on an earlier epoch of the query is refused."""
        self.claim()
        return super().attach(writer, after, before)

    def claim(self) -> None:
        """Take the sink over from earlier epochs, as far as it knows of them.

        Raises OperationalError if a later epoch has it, or it has rows of batches that the checkpoint does not know.
        """

    def check_known(self, written: int) -> None:
        """Refuse to go on if the checkpoint does not know a batch that was written: its next ones would have the same
        numbers, and their rows be taken for written."""
        if self.planned is not None and written > self.planned:
            raise OperationalError(
                f"the checkpoint of query {self.writer.query} is an older copy: it does not know batch {written}, of "
                f"which sink {self.sink.name} has rows",
                hint="put its newest copy back; or make a savepoint of it, and CREATE OR REPLACE QUERY ... FROM "
                "SAVEPOINT writes the rows since then again",
            )

    def lost(self, where: str) -> OperationalError:
        """Return the error of a place that lacks the record which the checkpoint knows there.

        where: the folder or database, for the message.
        """
        return OperationalError(
            f"sink {self.sink.name}: {where} lacks the record of what query {self.writer.query} has written; it was "
            "moved or removed, or its disk is not mounted",
            hint="put it back: the next start resumes with this batch; "
            "CREATE OR REPLACE QUERY ... WITH NEW CHECKPOINT AS ... starts over and writes all rows again",
        )

    def forget(self) -> None:
        """Remove what the sink keeps of the query beside its rows: it was dropped.

        Raises OperationalError if the sink does not answer.
        """

    def accept(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch in the sink's columns."""
        columns = column_types(frame)
        fitted = fitted_columns(self.sink, self.given(columns))
        written = [f"CAST({quoted(given)} AS {kind}) AS {quoted(name)}" for given, name, kind in fitted]
        written += [OPERATION] if self.applies else []
        if self.sink.columns and [(name, kind) for _, name, kind in fitted] != columns:
            # What tasks would write is not yet what the sink holds.
            frame, self.task_writer = frame.selectExpr(*written), None
        if self.last_rows is None:
            return self.write(frame, batch)
        followed = self.last_rows.followed
        seen = followed or self.last_rows.most > 0
        return self._write_seen(frame, batch, followed) if seen else self.write(frame, batch)

    def _write_seen(self, frame: DataFrame, batch: int, followed: bool) -> int:
        """Write the rows of a micro-batch, and keep the last of them; all while somebody follows."""
        columns = column_types(frame)
        if self.sink.format.lower() == "noop":
            return self._keep(frame, batch, columns, followed)
        # The stage below runs once.
        self.task_writer = None
        kept = frame.persist()
        try:
            rows = self.write(kept, batch)
            self._keep(kept, batch, columns, followed)
            return rows
        finally:
            kept.unpersist()

    def _keep(self, frame: DataFrame, batch: int, columns: Columns, followed: bool) -> int:
        """Keep the last rows of a micro-batch by one action, or all; return how many there are."""
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
        """Write the rows of a frame, by one action; return how many there were, also if they were written before."""
        raise NotImplementedError

    def collected(self, frame: DataFrame) -> Pieces:
        """Return the rows of a frame; those of one frame at a time."""
        return self._collector.collect(frame, self.task_writer)

    def close(self) -> None:
        """Let a batch that waits fail."""
        self._closed.set()
        if not self.attached:
            self._collector.close()

    def detach(self) -> None:
        """Let go of what Spark calls, and of what collects its rows."""
        super().detach()
        self._collector.close()

    def said(self, failure: Unavailable) -> str:
        """Say what a sink that cannot be written to now does."""
        does = "refuses the user" if failure.refused else "does not answer"
        return f"sink {self.sink.name} {does}: {redact(str(failure), self._secrets)}"

    def persistently(self, write: Callable[[], int], patience: float) -> int:
        """Return what `write` gives, tried again while it raises Unavailable, in growing pauses or those it asks for.

        patience: seconds after which that is an OperationalError; so it is at once when the query is stopped.
        """
        pause, begun = _FIRST_PAUSE, time.monotonic()
        while True:
            try:
                found = write()
            except Unavailable as failure:
                reason = self.said(failure)
                if self.waiting is None:
                    LOGGER.warning("%s; it is tried again", reason)
                self.waiting = reason
                # A try may take long itself.
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
                return found
