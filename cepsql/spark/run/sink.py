"""Where the rows of a standing query go."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.row_limit import RowLimit
from cepsql.spark.frames.arrow_rows import to_arrow
from cepsql.spark.jvm.calls_from_java import CallConnection, calling_connection, forget_error


@dataclass(frozen=True)
class Position:
    """How far a query is with a micro-batch that it hands over.

    watermark: event time in microseconds up to which rows were released, None where there is none.
    offsets:   how far each of its sources is read, as Spark writes it.
    parts:     of the query of a group of views the watermark of each, None where it has none, or is as before.
    """

    watermark: int | None
    offsets: tuple[str, ...]
    parts: tuple[int | None, ...] = ()

    def of_part(self, number: int) -> "Position":
        """Return how far a view of a group is."""
        return Position(self.parts[number], self.offsets)


BatchHook = Callable[[int], None]
"""Is called with the number of a micro-batch."""


class _Handover:
    """What Spark calls with each micro-batch. Java and Python would hold each other through it for ever: Java's query
    has this object, and what it calls has Java's query."""

    def __init__(self, take: Callable[[DataFrame, int], None]):
        self.take: Callable[[DataFrame, int], None] | None = take
        self._calls: CallConnection | None = None

    def __call__(self, frame: DataFrame, batch: int) -> None:
        if self._calls is None:
            self._calls = calling_connection()
        if self.take is None:
            raise OperationalError("the query has ended")
        self.take(frame, batch)

    def end(self) -> None:
        """Let go of what is called, and of the connection: Spark's query has ended."""
        self.take = None
        forget_error(self)
        if self._calls is not None:
            self._calls.close()
            self._calls = None


class BatchSink:
    """Receives each micro-batch in this process. A batch may be repeated after a failure, with equal number and rows.

    rows:    the number of rows handed over.
    error:   the error of the last hand-over, or None.
    waiting: what the sink waits for before it continues, or None.
    retries: the number of retries of hand-overs.
    raised:  the exception of a user's function, or None.
    limit:   the maximum number of rows handed over, None for all.
    enough:  called after the last row within the limit.
    rebuilding: whether the first batch is read again only to rebuild state: its rows are not handed over.
    position: returns the position of the query with a batch whose rows were computed; set by a running query.
    thread:  the identifier of the thread that hands over a batch now, None between batches.
    task_writer: the name under which tasks may write rows, as in `cepsql.spark.frames.task_files`; None: they may not.
    begun:   the number of the last batch whose hand-over has begun, None before the first.
    planned: the number of the last batch in the checkpoint when Spark was started, -1 without batches; None if batches
             have no numbers from a checkpoint.
    place:   the name, in a checkpoint, of the place with a record of the query, or None.
    folder:  the local file or folder of that place, or None.
    mount:   the mount point of the folder when the query began to write there; None: unknown.
    record_id: the id, in the checkpoint, of the record in that place, or None.
    recorded: whether the place has the record.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.error: Exception | None = None
        self.waiting: str | None = None
        self.retries = 0
        self.raised: BaseException | None = None
        self.limit: RowLimit | None = None
        self.enough: Callable[[], None] = lambda: None
        self.rebuilding = False
        self.task_writer: str | None = None
        self.begun: int | None = None
        self.planned: int | None = None
        self.place: str | None = None
        self.folder: Path | None = None
        self.mount: str | None = None
        self.record_id: str | None = None
        self.recorded = False
        self.position: Callable[[int], Position] = lambda batch: Position(None, ())
        self.thread: int | None = None
        self._ending = False
        self._handovers: list[_Handover] = []

    def attach(
        self, writer: DataStreamWriter, after: BatchHook = lambda batch: None, before: BatchHook = lambda batch: None
    ) -> DataStreamWriter:
        """Return the writer with this sink set; `before` and `after` are called with the number of each batch before
        anything is done with it, and after its rows."""

        def take(frame: DataFrame, batch: int) -> None:
            if self._ending:
                raise OperationalError("the query is being stopped")
            self.thread = threading.get_ident()
            try:
                before(batch)
                self.begun = batch
                if self.rebuilding and batch == 0:
                    frame.write.format("noop").mode("overwrite").save()
                else:
                    self.rows += self.accept(frame, batch)
            except Exception as error:
                self.error = error
                raise
            finally:
                self.thread = None
            after(batch)

        self._handovers.append(_Handover(take))
        return writer.foreachBatch(self._handovers[-1])

    @property
    def attached(self) -> bool:
        """Whether Spark may hand over a batch."""
        return bool(self._handovers)

    def detach(self) -> None:
        """Let go of what Spark calls: the query has ended."""
        for handover in self._handovers:
            handover.end()
        self._handovers.clear()

    def accept(self, frame: DataFrame, batch: int) -> int:
        """Hand a micro-batch over and return how many rows that were.

        It needs one action and no more: the stage below runs once for each, and counts its rows each time.
        """
        raise NotImplementedError

    def end(self) -> None:
        """Take no further batch: the query is being stopped."""
        self._ending = True

    def close(self) -> None:
        """Let a batch that waits go on or fail: the query is being stopped."""


@contextlib.contextmanager
def called(who: str) -> Iterator[None]:
    """Guard a call of a user's function: what would end the thread in which Spark waits for the batch, such as
    SystemExit, becomes an OperationalError; other exceptions pass."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        raise OperationalError(f"{who} raised {type(error).__name__}") from error


class RowSink(BatchSink):
    """Calls `on_rows(table, batch)` for each micro-batch that has rows."""

    def __init__(self, on_rows: Callable[[pa.Table, int], None]):
        super().__init__()
        self._on_rows = on_rows

    def accept(self, frame: DataFrame, batch: int) -> int:
        """Collect the rows and hand them over."""
        table = to_arrow(frame)
        if self.limit is not None:
            table = self.limit.cut(table, batch)
        if table.num_rows:
            with called("on_rows"):
                try:
                    self._on_rows(table, batch)
                except BaseException as error:
                    self.raised = error
                    raise
        if self.limit is not None:
            self.limit.save()
            if self.limit.reached:
                self.enough()
        return table.num_rows
