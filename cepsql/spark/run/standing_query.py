"""A standing query while it runs: start, status, progress, stop."""

import contextlib
import logging
import threading
import time
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from cepsql.catalog.working_for import QUERY, thread_beside
from cepsql.errors import Error, InterfaceError, OperationalError
from cepsql.plan.tree.clock import Clock
from cepsql.render.plots.progress_figure import Moment, draw_progress
from cepsql.spark.checkpoint.checkpoint import Checkpoint, discard, finish, keep_forgotten, keep_records
from cepsql.spark.checkpoint.checkpoint_files import (
    drop_planned,
    explained,
    keep_unbegun,
    last_committed,
    last_planned,
    planned_offsets,
)
from cepsql.spark.checkpoint.checkpoint_holder import gone
from cepsql.spark.checkpoint.checkpoint_lock import FileLock
from cepsql.spark.checkpoint.checkpoint_path import on_object_store, used
from cepsql.spark.checkpoint.control import ClockReading, end_input, give_heartbeat, last_heartbeat
from cepsql.spark.checkpoint.object_store_writer import object_store_settings
from cepsql.spark.checkpoint.planned_files import PlannedFiles, rewrite_log
from cepsql.spark.checkpoint.progress import Progress
from cepsql.spark.checkpoint.saved_progress import KeptProgress
from cepsql.spark.checkpoint.source_log import old_files
from cepsql.spark.checkpoint.steady_clock import SteadyClock
from cepsql.spark.frames import packet_files
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.jvm.launching.quick_python import python_turn
from cepsql.spark.jvm.lent_settings import is_chain, local_checkpoint_settings, setting, stage_settings
from cepsql.spark.jvm.messages.failures import placed, started_late, translate_failure
from cepsql.spark.jvm.messages.full_disk import Place
from cepsql.spark.jvm.spark_plan import drops_rows, has_windows
from cepsql.spark.jvm.stream_execution import await_initialization, unpolled
from cepsql.spark.jvm.tasks import Tasks, grouped_tasks
from cepsql.spark.run.expiry import Expiry
from cepsql.spark.run.late_counts import count_left_out
from cepsql.spark.run.observed import observed_in, own_offsets
from cepsql.spark.run.polling import Polling
from cepsql.spark.run.progress_watch import Observed, Watch, watch
from cepsql.spark.run.row_queue import RowQueue
from cepsql.spark.run.sink import BatchSink, Position
from cepsql.spark.sources.late_rows import (
    LateFiles,
    begin_folders,
    remove_batch,
    remove_marks,
    remove_old,
    write_alerts,
)
from cepsql.spark.sources.tables_at_rest.table_refresh import TableRefresh
from cepsql.spark.sources.watching.csv_headers import CsvFiles, CsvHeaders
from cepsql.spark.sources.watching.notices import warn_of_folders, warn_of_gone, warn_of_headers, warn_of_unread
from cepsql.spark.sources.watching.unread_files import ListedFolder, UnreadFiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cepsql.explain.match_explanation import MatchExplanation


_EXPIRY_SECONDS = 1.0
"""How often a query is checked for expired rows."""

_OWN_BATCH_SECONDS = 3600.0
"""How long a batch may take whose handler stops the query."""

_START_SECONDS, _COMMIT_SECONDS, _POLL = 60, 10.0, 0.05
_TIDY_SECONDS = 60.0
_END_SECONDS = 10.0
"""How long a query's end may take to be noticed after Spark reports it."""
LOGGER = logging.getLogger("cepsql")
_PYTHON_STARTS = 6
"""How often the start of Python for a Python source is tried."""

_AT_ONCE = "0 seconds"
_ATTEND_SECONDS = 0.5
_LOOK_SECONDS, _LOOK_SHARE = 5.0, 0.02
"""How often the folders of streams are checked for unread files, and the maximum share of time for it."""

_MOMENTS = 1000
"""How many batches are kept for the plot."""


@dataclass(frozen=True)
class StartOptions:
    """How a streaming frame is run.

    drain:    process the present input, end the input through the checkpoint's control folder, decide all state, and
              finish; else run a batch every `trigger` (0 seconds: as soon as there are rows).
    in_one_batch: all present input fits into one micro-batch, which may then include the end of the input.
    secrets:  values that no message may show.
    sql:      the query's text, for positions in errors.
    patterns: the query's row patterns as text, for warnings.
    explain:  the function that `StandingQuery.explain_match` calls with a key.
    heartbeat: the interval, in microseconds, of heartbeats with the system clock; None: never.
    expires:  the rule for rows that expire; None: no rows expire.
    late_files: the files for rejected rows.
    file_age: after how many seconds Spark ignores a file that it has read, None: never.
    folders:  the local folders of its streams.
    csv_files: the CSV files with headers that name columns.
    refresh:  of the tables that are read again while the query runs.
    written:  its targets besides its checkpoint, for the error on a full disk.
    late_shares: the share of late rows above which an alert is raised, by stream name.
    python_sources: whether a source is read by Python, for which Spark starts a process.
    observed: the names of the operators of each stage, by the name of its observation.
    parts:    for the query of a group of views, whether each has a stage.
    """

    drain: bool = False
    trigger: str = _AT_ONCE
    in_one_batch: bool = False
    secrets: tuple[str, ...] = ()
    sql: str = ""
    patterns: str = ""
    explain: "Callable[[object], MatchExplanation] | None" = None
    heartbeat: int | None = None
    expires: Clock | None = None
    late_files: tuple[LateFiles, ...] = ()
    file_age: float | None = None
    folders: tuple[ListedFolder, ...] = ()
    csv_files: tuple[CsvFiles, ...] = ()
    refresh: TableRefresh | None = None
    written: tuple[Place, ...] = ()
    late_shares: Mapping[str, float] = field(default_factory=dict)
    python_sources: bool = False
    observed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: tuple[bool, ...] = ()


def start(
    frame: DataFrame, sink: BatchSink, checkpoint: Checkpoint, options: StartOptions = StartOptions()
) -> "StandingQuery":
    """Start a streaming frame.

    Raises the cepsql error that says why Spark cannot run it.
    """
    try:
        with used(checkpoint.folder, "read"):
            query = StandingQuery(frame, sink, checkpoint, options)
    except BaseException:
        sink.close()
        discard(checkpoint)
        raise
    query._start()
    return query


class StandingQuery:
    """A query that runs until it is stopped, fails, or its input has ended; made by `start`.

    As a context manager it is stopped at the end of the block.
    """

    def __init__(self, frame: DataFrame, sink: BatchSink, checkpoint: Checkpoint, options: StartOptions):
        self._frame, self._late_bound = count_left_out(frame)
        self._sink, self._checkpoint, self._options = sink, checkpoint, options
        self._done, self._stopping, self._lock = threading.Event(), threading.Event(), threading.Lock()
        self._enough = threading.Event()
        sink.enough, sink.rebuilding = self._end_early, checkpoint.rebuilds
        sink.position = self._position
        self._error: Error | None = None
        self._query: StreamingQuery
        self._started, self._batches_done = threading.Event(), 0
        self._saved = KeptProgress(checkpoint.folder, last_committed(checkpoint.spark_folder))
        # Another process may have begun the batch before it was killed.
        self._found_planned = last_planned(checkpoint.spark_folder)
        sink.planned = -1 if self._found_planned is None else self._found_planned
        rows_known = 0 if checkpoint.rebuilds else None
        self._watch = Watch(options.patterns, self._saved.begun, rows_known, options.late_shares, options.observed)
        self._drops_rows = drops_rows(frame)
        self._observed: Observed | None = None
        self._headers = CsvHeaders(options.csv_files)
        self._files = PlannedFiles(
            checkpoint.spark_folder, frame.sparkSession, self._may_be_empty, self._look_at_headers
        )
        self._refused, self._works_for = False, QUERY.get()
        forgot = checkpoint.forgot is not None
        self._unread, self._looking = UnreadFiles(checkpoint.spark_folder, options.folders, forgot), threading.Lock()
        self._tidied = float("-inf")
        # A system clock that jumps ahead must not remove late rows too early.
        self._began_at = time.time() - time.monotonic()
        self._moments: deque[Moment] = deque(maxlen=_MOMENTS)
        self._gone: OperationalError | None = None
        self._own_offsets: list[int] | None = None
        self._late_begun = not options.late_files

    def __enter__(self) -> "StandingQuery":
        return self

    def __exit__(self, *exception) -> None:
        self.stop()

    def __reduce__(self):
        raise InterfaceError("a standing query cannot be copied or pickled", hint="pass on its rows, or its progress")

    def __repr__(self) -> str:
        return f"<standing query: {self._condition}>"

    def _repr_html_(self) -> str:
        """Show in a notebook how it does."""
        from cepsql.render.html import html_text

        return html_text(f"standing query, {self._condition}\n{self.progress}")

    @property
    def _condition(self) -> str:
        """The status, and what it waits for."""
        waiting = self._sink.waiting if self.status == "running" else None
        return self.status if waiting is None else f"waiting: {waiting}"

    @property
    def status(self) -> str:
        """running, stopped, finished or failed."""
        if not self._done.is_set():
            return "running"
        if self._error is not None:
            return "failed"
        return "stopped" if self._stopping.is_set() else "finished"

    @property
    def id(self) -> str:
        """The identity that its checkpoint gives it, the same after every restart; late rows name it."""
        return str(self._query.id)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and Spark types of the columns of its rows."""
        return column_types(self._frame)

    @property
    def error(self) -> Error | None:
        """Why it failed, None if it did not."""
        return self._error

    @property
    def failed_in_batch(self) -> bool:
        """Whether it failed within a micro-batch, not between two."""
        return self._sink.error is not None

    @property
    def progress(self) -> Progress:
        """Totals so far; complete once the query has ended."""
        sink = self._sink
        refresh = self._options.refresh
        return replace(
            self._watch.progress,
            sink_retries=sink.retries,
            waiting=sink.waiting,
            rows_per_second=self._watch.rate(busy=sink.thread is not None),
            refresh_failures=0 if refresh is None else refresh.failures,
        )

    @property
    def idle(self) -> bool:
        """Whether all batches are done, and it waits for input."""
        if self._done.is_set() or self._sink.thread is not None:
            return False
        try:
            status = self._query.status
        except (PySparkException, Py4JError, OSError):
            return False
        return not status["isTriggerActive"] and not status["isDataAvailable"]

    @property
    def tasks(self) -> Tasks | None:
        """How many of Spark's tasks are done for the batch that runs now, and how many there are; None between two."""
        return grouped_tasks(self._frame.sparkSession, str(self._query.runId))

    def plot(self) -> "Figure":
        """Draw its rate, its lag and the rows of its state over the last thousand batches.

        Raises InterfaceError where matplotlib is not installed.
        """
        return draw_progress(list(self._moments))

    def rows(self, timeout: float | None = None) -> Iterator[pa.Table]:
        """Yield the rows of each batch that is not empty, until the query ends or `timeout` seconds without rows.

        Raises InterfaceError if the query was started with a sink of its own, and the error that ended the query.
        """
        if not isinstance(self._sink, RowQueue):
            raise InterfaceError(
                "the rows of this query go to what it was started with", hint="start() without on_rows"
            )
        yield from self._sink.take(self._done, timeout)
        if self._error is not None:
            raise self._error

    def await_(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most `timeout` seconds; return whether it came.

        Raises the error that ended the query, if one did, InterfaceError in `on_rows`, which would wait for itself, and
        for a timeout that is no number.
        """
        if isinstance(timeout, bool) or not isinstance(timeout, int | float | None):
            raise InterfaceError(f"a timeout is a number of seconds, not {timeout!r}")
        self._refuse_inside("await_")
        ended = self._done.wait(timeout)
        if ended and self._error is not None:
            raise self._error
        return ended

    def explain_match(self, key: object = None) -> "MatchExplanation":
        """Explain what the query holds of a key after its last batch: open matches, and what they wait for.

        key: as for `Query.explain_match`, which reads the input again and also shows decided matches.
        Raises InterfaceError if the query has no MATCH_RECOGNIZE or its checkpoint was temporary and is gone,
        OperationalError before the first batch has ended, ProgrammingError if nothing of the key is held.
        """
        if self._options.explain is None or not self._checkpoint.spark_folder.exists():
            raise InterfaceError("the query has no state that could be explained", hint="start it with checkpoint=...")
        return self._options.explain(key)

    def process_available(self) -> None:
        """Wait until all current input has been processed; for tests and replays.

        Raises the error that ended the query, if one did, InterfaceError in `on_rows`, which would wait for itself.
        """
        self._refuse_inside("process_available")
        self._be_busy()
        try:
            # Spark may have looked for input before this call, and then ends the first wait with what it found.
            for _ in range(2):
                self._query.processAllAvailable()
            self._watch.catch_up(self._query)
        except (PySparkException, Py4JError, OSError) as exception:
            # A stop right after this would otherwise come before the end is noticed, and be taken for its cause.
            self._done.wait(_END_SECONDS)
            raise self._error or self._translated(exception) from exception

    @contextlib.contextmanager
    def unsearched(self) -> Iterator[None]:
        """Let Spark look for no input within the block, so that one micro-batch has all that is written there; for
        replays. The thread that enters it leaves it.
        """
        with unpolled(self._query):
            yield

    def stop(self, patience: float = 0.0) -> None:
        """End the query and wait for it; nothing happens if it has ended. Safe in a signal handler.

        In `on_rows` it does not wait: the query ends after the batch whose rows these are.
        patience: seconds that the running batch may take; a later start repeats a batch that was cut short.
        Spark is called from another thread, because a signal handler may have interrupted a call of this one.
        """
        self._sink.end()
        inside = self._is_inside()
        if not inside:
            self._sink.close()
        if not self._done.is_set():
            self._stopping.set()
            seconds = _OWN_BATCH_SECONDS if inside else patience
            threading.Thread(target=self._stop_spark, args=(seconds,), daemon=True).start()
        if not inside:
            self._done.wait()

    def _is_inside(self) -> bool:
        """Tell whether this call comes from the handler of the query's current batch."""
        return self._sink.thread == threading.get_ident()

    def _refuse_inside(self, method: str) -> None:
        if self._is_inside():
            raise InterfaceError(f"{method}() in on_rows would wait for itself", hint="stop() ends the query after it")

    def _start(self) -> None:
        try:
            if self._options.drain and self._options.in_one_batch:
                end_input(self._checkpoint.control_folder)
            if self._sink.limit is not None and self._sink.limit.reached:
                self._enough.set()
            clock = self._heartbeat_clock()
            expiry = self._expiry_clock()
            self._start_patiently()
        except Exception as exception:
            error = self._translated(exception)
            self._sink.close()
            discard(self._checkpoint)
            raise error from exception
        thread_beside(self._run, "cepsql-query").start()
        if self._options.refresh is not None:
            self._options.refresh.follow()
        thread_beside(self._attend, "cepsql-attend").start()
        if clock is not None:
            thread_beside(lambda: self._beat(clock), "cepsql-beat").start()
        if expiry is not None and not self._options.drain:
            thread_beside(lambda: self._expire(expiry), "cepsql-expiry").start()

    def _heartbeat_clock(self) -> SteadyClock | None:
        if self._options.heartbeat is None or self._options.drain:
            return None
        return SteadyClock(last_heartbeat(self._checkpoint.control_folder))

    def _beat(self, clock: SteadyClock) -> None:
        """Write heartbeats, each after a batch that could process the previous one."""
        beats, interval = None, self._options.heartbeat or 0
        while not self._done.wait(interval / 1_000_000):
            shown = clock.read()
            if beats is None or beats != self._batches_done:
                beats = self._batches_done
                self._give(shown)

    def _expiry_clock(self) -> SteadyClock | None:
        """Return the clock by which rows expire; if it is the system clock, send the time before the first batch."""
        if self._options.expires is None:
            return None
        control = self._checkpoint.control_folder
        clock = SteadyClock(last_heartbeat(control))
        if self._options.expires == Clock.ARRIVAL:
            shown = clock.read()
            give_heartbeat(control, shown.clock, shown.system)
        return clock

    def _expire(self, clock: SteadyClock) -> None:
        """Send the query the time after each batch with rows that are due to expire."""
        arrival = self._options.expires == Clock.ARRIVAL
        expiry = Expiry(arrival, self.progress)
        last_batch = -1
        while not self._done.wait(_EXPIRY_SECONDS):
            shown, done = clock.read(), self._batches_done
            if done != last_batch and expiry.is_due(self.progress, shown.system):
                last_batch = done
                self._give(shown)

    def _give(self, shown: ClockReading) -> None:
        """Send the query the time; if the disk refuses it, the next one follows soon."""
        with contextlib.suppress(OSError):
            give_heartbeat(self._checkpoint.control_folder, shown.clock, shown.system)

    def _attend(self) -> None:
        """While the query runs, let it poll less often if no input arrives, and warn of files that it does not read."""
        look = 0.0
        while not self._done.wait(_ATTEND_SECONDS):
            begun = time.monotonic()
            self._look_at_checkpoint()
            if self._options.trigger == _AT_ONCE:
                self._polling.be_idle(begun - self._busy)
            if begun >= look:
                self._warn_of_unread()
                now = time.monotonic()
                look = now + max(_LOOK_SECONDS, (now - begun) / _LOOK_SHARE)

    def _look_at_checkpoint(self) -> None:
        """Detect that the checkpoint is missing or taken over, even if it returns before the batch ends."""
        lock = self._checkpoint.lock
        if isinstance(lock, FileLock) and self._gone is None:
            try:
                lock.check()
            except OperationalError as error:
                self._gone = error

    def _check_checkpoint(self, batch: int) -> None:
        """Refuse a batch that was not planned in the checkpoint, which happens while its disk is not mounted.

        No later start would have the batch, and a sink with its rows could not resume.
        """
        self._look_at_checkpoint()
        planned = self._checkpoint.spark_folder / "offsets" / str(batch)
        if isinstance(self._checkpoint.lock, FileLock) and self._gone is None and not planned.exists():
            self._gone = gone(self._checkpoint.folder)
        if self._gone is not None:
            raise self._gone

    def _warn_of_unread(self) -> None:
        # Another thread may be waiting for a file system that does not answer.
        if self._looking.acquire(timeout=_LOOK_SECONDS):
            try:
                with contextlib.suppress(OSError):
                    warn_of_folders(*self._unread.moved())
                    warn_of_unread(self._unread.look())
            finally:
                self._looking.release()

    def _run(self) -> None:
        """Follow the query to its end, in a separate thread."""
        try:
            self._follow()
            if self._options.drain and not self._options.in_one_batch and not self._is_ending():
                end_input(self._checkpoint.control_folder)
                self._start_spark()
                self._follow()
            if self._options.drain and not self._is_ending():
                finish(self._checkpoint)
        except Exception as exception:
            if not self._is_ending():
                self._error = self._error_of(exception)
        finally:
            # Waiting threads must learn of the end, even if Java is gone and the clean-up fails.
            try:
                self._clean_up()
            finally:
                self._done.set()

    def _error_of(self, exception: Exception) -> Error:
        """Return the error that ended the query, even if its translation fails: else the query seems finished."""
        try:
            return self._translated(exception)
        except Exception as failure:
            return translate_failure(failure, self._options.secrets)

    def _clean_up(self) -> None:
        try:
            self._sink.close()
            self._warn_of_unread()
            self._drop_planned()
            if self._options.refresh is not None:
                self._options.refresh.end()
        finally:
            if self._checkpoint.temporary:
                with contextlib.suppress(OSError, ValueError):
                    remove_marks([files.folder for files in self._options.late_files], self._checkpoint.spark_folder)
            discard(self._checkpoint)
            self._sink.detach()

    def _drop_planned(self) -> None:
        """Let a batch that was planned but not begun be planned again; keep batches of a later owner."""
        if not (self._stopping.is_set() or self._refused):
            return
        lock, folder = self._checkpoint.lock, self._checkpoint.folder
        # Java may be gone, and so may the checkpoint.
        with contextlib.suppress(OperationalError, OSError, PySparkException, Py4JError):
            if self._query.isActive:
                return
            with contextlib.nullcontext() if lock is None else lock.held():
                if on_object_store(folder):
                    keep_unbegun(folder, self._sink.begun, self._found_planned)
                else:
                    drop_planned(self._checkpoint.spark_folder, self._sink.begun, self._found_planned)

    def _start_patiently(self) -> None:
        """Start Spark's query; retry if Python did not start within Spark's limit of ten seconds."""
        for left in reversed(range(_PYTHON_STARTS)):
            try:
                self._start_spark()
                return
            except (PySparkException, Py4JError) as failure:
                if not left or not started_late(failure) or self._is_ending():
                    raise
                LOGGER.info("Python, which reads for a query, did not start in time, and is started again")
                self._sink.detach()

    def _start_spark(self) -> None:
        name = f"cepsql-{uuid.uuid4()}"
        watch(self._frame.sparkSession, name, self._watch)
        self._prepare_batch()
        self._started.clear()
        if self._sink.begun is not None:
            self._sink.planned = self._sink.begun
        writer = self._frame.writeStream.queryName(name).outputMode("append")
        writer = self._sink.attach(writer, self._after_batch, self._check_files).option(
            "checkpointLocation", self._checkpoint.spark
        )
        self._keep_record()
        timing = {"availableNow": True} if self._options.drain else {"processingTime": self._options.trigger}
        spark = self._frame.sparkSession
        folder = self._checkpoint.folder
        settings = local_checkpoint_settings(spark) if isinstance(folder, Path) else {}
        needed = object_store_settings(spark) if on_object_store(folder) else {}
        python = python_turn() if self._options.python_sources else contextlib.nullcontext()
        with self._lock, python, stage_settings(spark, _is_unchecked(self._frame), settings, needed):
            self._query = writer.trigger(**timing).start()
            self._busy, self._polling = time.monotonic(), Polling(self._query)
            self._started.set()
            if settings or needed or self._options.python_sources:
                # The query's own thread opens the source's log, with the settings of this session. For a Python source,
                # that thread starts a process; with many concurrent starts, none would be ready in time.
                await_initialization(self._query, _START_SECONDS * 1000)

    def _keep_record(self) -> None:
        """Store in the checkpoint that the sink has the query's record, before another batch is written there."""
        sink, id = self._sink, self._checkpoint.id
        if sink.place is not None and sink.recorded and sink.record_id != id:
            self._checkpoint = keep_records(self._checkpoint, {sink.place: id}, {sink.place: sink.folder})
            sink.record_id = id

    def _is_ending(self) -> bool:
        return self._stopping.is_set() or self._enough.is_set()

    def _end_early(self) -> None:
        """End the query because its LIMIT is reached; called within a batch, which must not wait for its own end."""
        if not self._enough.is_set():
            self._enough.set()
            threading.Thread(target=self._stop_after_batch, daemon=True).start()

    def _stop_after_batch(self) -> None:
        """Stop after the running batch commits, if that does not take long."""
        deadline = time.monotonic() + _COMMIT_SECONDS
        with contextlib.suppress(PySparkException, Py4JError, OSError):
            before = self._query.lastProgress
            while self._query.isActive and time.monotonic() < deadline:
                now = self._query.lastProgress
                if now is not None and (before is None or now.batchId > before.batchId):
                    break
                time.sleep(_POLL)
        self._stop_spark()

    def _may_be_empty(self, path: str) -> bool:
        return not any(folder.never_empty and folder.covers(path) for folder in self._options.folders)

    def _look_at_headers(self, paths: Iterable[str]) -> None:
        warn_of_headers(self._headers.misplaced(paths))

    def _check_files(self, batch: int) -> None:
        """Refuse a batch with files that Spark would misread, before it runs; warn of files that are gone."""
        # Java calls back in a thread of the query.
        QUERY.set(self._works_for)
        self._observed = None
        self._check_checkpoint(batch)
        self._begin_late_folders()
        try:
            warn_of_gone(batch, self._files.check(batch, again=batch == self._found_planned))
        except OperationalError:
            self._refused = True
            raise

    def _begin_late_folders(self) -> None:
        """Make sure that the folders of late rows have their marks before the first batch."""
        if not self._late_begun:
            self._checkpoint = begin_folders(self._options.late_files, self._checkpoint)
            self._late_begun = True

    def _after_batch(self, batch: int) -> None:
        """Store the totals after a batch whose rows were handed over and that Spark is about to commit."""
        # The first batch may arrive before the call that started it has returned.
        self._started.wait(_START_SECONDS)
        rows_out = self._saved.begun.rows_out + self._sink.rows
        observed, self._observed = self._observed, None
        if observed is None:
            observed = observed_in(self._query, self._drops_rows)
        totals = self._watch.reach(observed, batch, rows_out)
        self._moments.append(Moment.of(time.time(), vars(totals)))
        if self._checkpoint.rebuilds and batch == 0:
            remove_batch([files.folder for files in self._options.late_files], self._checkpoint.spark_folder, batch)
        write_alerts(self._options.late_files, self._watch.late_alerts, totals.bound, self.id, batch)
        self._check_checkpoint(batch)
        self._keep_record()
        if self._checkpoint.lock is not None:
            with used(self._checkpoint.folder), self._checkpoint.lock.held():
                self._saved.keep(batch, totals)
        self._prepare_batch(batch)
        if self._checkpoint.packets is not None:
            packet_files.empty(self._checkpoint.packets)
        self._be_busy()
        if self._options.refresh is not None:
            self._options.refresh.batch_done()
        self._batches_done += 1
        if time.monotonic() - self._tidied > _TIDY_SECONDS:
            self._tidy()

    def _position(self, batch: int) -> Position:
        """Return the position of the query with the batch that it hands over."""
        self._started.wait(_START_SECONDS)
        # It is needed again after the batch.
        self._observed = observed_in(self._query, self._drops_rows)
        watermark = self._watch.reached_bound(self._observed)
        offsets = planned_offsets(self._checkpoint.spark_folder, batch)
        if not self._options.parts:
            return Position(watermark, offsets)
        if self._own_offsets is None:
            self._own_offsets = own_offsets(self._query)
        parts = self._watch.bounds_of_parts(self._observed, self._options.parts)
        return Position(watermark, tuple(offsets[place] for place in self._own_offsets), parts)

    def _be_busy(self) -> None:
        self._busy = time.monotonic()
        self._polling.be_quick()

    def _tidy(self) -> None:
        """Remove data that would grow without bound; called while no batch is planned."""
        self._tidied = time.monotonic()
        remove_old(self._options.late_files, self._began_at + time.monotonic())
        lock, age = self._checkpoint.lock, self._options.file_age
        if age is not None:
            with (
                contextlib.nullcontext() if lock is None else lock.held(),
                contextlib.suppress(OSError, OperationalError),
            ):
                for log, entries in old_files(self._checkpoint.spark_folder, age):
                    self._checkpoint = keep_forgotten(self._checkpoint, age)
                    rewrite_log(log, entries)

    def _prepare_batch(self, before: int | None = None) -> None:
        if self._late_bound is not None:
            self._late_bound.set_after(self._checkpoint.spark_folder, before)

    def _follow(self) -> None:
        """Wait until Spark's query has ended, and complete the progress; raise its error."""
        if self._is_ending():
            self._stop_spark()
        try:
            self._query.awaitTermination()
        finally:
            # The session may be gone.
            with contextlib.suppress(PySparkException, Py4JError, OSError):
                limit = setting(self._frame.sparkSession, "spark.sql.streaming.numRecentProgressUpdates")
                self._watch.complete(self._query, int(limit))

    def _stop_spark(self, patience: float = 0.0) -> None:
        try:
            with self._lock:
                self._await_batch(patience)
                self._query.stop()
        except (PySparkException, Py4JError, OSError) as exception:
            self._error = self._error or self._translated(exception)

    def _await_batch(self, patience: float) -> None:
        """Wait for the end of the running batch, if any."""
        end, at = time.monotonic() + patience, self._batch()
        while time.monotonic() < end and self._query.isActive and self._query.status["isTriggerActive"]:
            if self._batch() != at:
                return
            time.sleep(0.05)

    def _batch(self) -> int:
        last = self._query.lastProgress
        return last.batchId if last is not None else -1

    def _translated(self, exception: BaseException) -> Error:
        raised = self._sink.raised
        if raised is not None and not isinstance(raised, Error):
            account = "".join(traceback.format_exception(raised))
            error = OperationalError(f"on_rows raised {type(raised).__name__}: {raised}", detail=account)
            error.__cause__ = raised
            return error
        said = self._sink.error
        # Spark's error of a batch quotes the whole stack trace, with Python's.
        cause = said if isinstance(said, Error | PySparkException | Py4JError) else exception
        translated = placed(translate_failure(cause, self._options.secrets), cause, self._options.sql)
        return explained(translated, self._checkpoint.folder, self._options.written)


def _is_unchecked(frame: DataFrame) -> bool:
    """Tell whether a frame has operators that Spark would refuse although their use is correct."""
    return is_chain(frame) or has_windows(frame)
