"""Start a query over streams: its checkpoint, its DataFrame, its sink, and then Spark."""

import sys
import uuid
from collections.abc import Iterable
from dataclasses import replace

from pyspark.sql import DataFrame

from cepsql.catalog import Registered, Source
from cepsql.catalog.view_store import GroupSink, ViewSink
from cepsql.errors import NotSupportedError
from cepsql.language.interval_units import in_sparks_units
from cepsql.query.planned_query import PlannedQuery
from cepsql.query.row_target import row_target
from cepsql.query.run_options import longest_age, run_options
from cepsql.query.scan_obstacle import scan_obstacle
from cepsql.query.spark_rows import SparkRows
from cepsql.query.start_arguments import StartArguments
from cepsql.spark.building.frame_options import FrameOptions
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.checkpoint.checkpoint import (
    ARROW_SCAN,
    SPARK_SCAN,
    Checkpoint,
    CheckpointDemands,
    discard,
    keep_records,
    keep_shared,
    open_checkpoint,
    state_folder,
)
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, used
from cepsql.spark.checkpoint.control import check_ended
from cepsql.spark.checkpoint.host_files import check_on_host, host_files
from cepsql.spark.frames.packet_files import make_packet_folder
from cepsql.spark.jvm.interrupts import held_interrupts
from cepsql.spark.run.sink import BatchSink
from cepsql.spark.run.standing_query import StandingQuery, StartOptions, start
from cepsql.spark.sources.late_rows import begin_folders, remove_uncommitted
from cepsql.spark.sources.source import is_read_at_once
from cepsql.spark.sources.tables_at_rest.table_disks import check_tables
from cepsql.spark.sources.tables_at_rest.table_refresh import TableRefresh
from cepsql.spark.staging.task_folders import TaskFolders
from cepsql.views.recent_rows import LastRows


def start_query(
    planned: PlannedQuery, rows: SparkRows, arguments: StartArguments, last_rows: LastRows | None
) -> StandingQuery:
    """Start a query, as documented in `Query.start`.

    rows:      hold its DataFrame if it was built before, and warn of its tables.
    last_rows: the store of the last rows of the query under this name, or None.
    """
    standing = None
    try:
        with held_interrupts():
            standing = _Start(planned, rows, arguments, last_rows).run()
    except KeyboardInterrupt:
        # The caller gets no query that it could stop.
        if standing is not None:
            standing.stop()
        raise
    return standing


class _Start:
    """One start of a query; each step completes `_checkpoint`, and a failure removes it."""

    def __init__(self, planned: PlannedQuery, rows: SparkRows, arguments: StartArguments, last_rows: LastRows | None):
        self._planned, self._rows, self._arguments, self._last_rows = planned, rows, arguments, last_rows
        self._spark = planned.host.spark
        self._keeps = _kept_of_tables(planned.plan.origins)
        path = self._path()
        # The views of a group share one source of a stream, in Spark.
        by_spark = planned.plan.parts or scan_obstacle(planned, rows, self._spark)
        self._scan = SPARK_SCAN if by_spark else ARROW_SCAN
        # Without operators, each scan can resume from the other's checkpoint.
        self._plain = not planned.plan.stages
        self._origins = planned.valued.origins
        self._writer = uuid.uuid4().hex
        self._observed: dict[str, tuple[str, ...]] = {}
        # A checkpoint that can be resumed must not end before its rows are read.
        self._in_one_batch = arguments.checkpoint is None and _fits_one_batch(self._origins)
        self._checkpoint = self._opened(path)

    def run(self) -> StandingQuery:
        """Start the query."""
        try:
            refresh = self._keep_tables()
            frame = self._built()
            target = self._target(frame)
            options = self._options(refresh)
            with used(self._checkpoint.folder, "read"):
                self._checkpoint = begin_folders(options.late_files, self._checkpoint)
                remove_uncommitted([files.folder for files in options.late_files], self._checkpoint.spark_folder)
        except BaseException:
            discard(self._checkpoint)
            raise
        self._rows.warn_of_tables()
        standing = start(frame, target, self._checkpoint, options)
        self._planned.host.keep(standing)
        return standing

    def _path(self) -> CheckpointPath | None:
        """Return the folder of the checkpoint, which may exist already; None for a temporary checkpoint."""
        if self._arguments.checkpoint is None:
            return None
        path = self._planned.checkpoint_path(self._arguments.checkpoint)
        _check_replayable(self._planned.plan.origins)
        if self._keeps is not None:
            check_on_host(path, self._spark, self._keeps)
        return path

    def _opened(self, path: CheckpointPath | None) -> Checkpoint:
        arguments, planned = self._arguments, self._planned
        demands = CheckpointDemands(
            arguments.drain,
            SPARK_SCAN if self._plain else self._scan,
            planned.buckets(),
            arguments.epoch,
            arguments.upgrades,
            longest_age(self._origins),
            arguments.resumes,
        )
        return open_checkpoint(path, planned.identity(), demands)

    def _keep_tables(self) -> TableRefresh:
        """Store the rows of tables in the checkpoint, if needed; return the refresh of tables."""
        tables = [one for one in self._origins if isinstance(one, Source) and not one.streaming]
        if self._keeps is not None:
            with used(self._checkpoint.folder, "read"):
                self._checkpoint = replace(self._checkpoint, files=host_files(self._checkpoint.folder))
        self._checkpoint = check_tables(self._origins, self._checkpoint)
        refresh = TableRefresh(self._spark, self._checkpoint.files, tables, self._checkpoint.mounts)
        refresh.begin()
        return refresh

    def _built(self) -> DataFrame:
        """Return the DataFrame, and record in the checkpoint which operators share a stage."""
        if not self._plain:
            self._checkpoint = replace(self._checkpoint, packets=make_packet_folder(self._spark))
        checkpoint = self._checkpoint
        tasks = self._planned.tasks() if checkpoint.tasks is None else checkpoint.tasks
        sharing = Sharing.of_checkpoint(checkpoint, tasks)
        options = FrameOptions(
            control=checkpoint.control,
            scan=self._scan if self._plain else checkpoint.scan,
            buckets=checkpoint.buckets,
            files=checkpoint.files,
            sharing=sharing,
            writer=self._writer,
            by_spark=self._rows.built if self._plain else None,
            folders=TaskFolders(checkpoint.packets, state_folder(checkpoint, self._spark)),
            observed=self._observed,
            # No batch follows the end.
            expired=sys.maxsize if self._arguments.drain else None,
            positions=isinstance(self._arguments.sink, ViewSink | GroupSink),
            ends_at_once=self._arguments.drain and self._in_one_batch,
        )
        frame = self._planned.build(options)
        self._checkpoint = keep_shared(checkpoint, sharing.shared, sharing.shared_tasks)
        if self._arguments.drain:
            check_ended(frame, len(self._planned.plan.stages))
        return frame

    def _target(self, frame: DataFrame) -> BatchSink:
        """Return the target of the rows, and record its mount point in the checkpoint."""
        target = row_target(self._planned, self._arguments, self._last_rows, self._checkpoint, frame)
        target.task_writer = self._writer
        if target.place is not None and target.mount is None:
            self._checkpoint = keep_records(self._checkpoint, {}, {target.place: target.folder})
            target.mount = self._checkpoint.mounts.get(target.place)
        return target

    def _options(self, refresh: TableRefresh) -> StartOptions:
        arguments = self._arguments
        return replace(
            run_options(self._planned, self._checkpoint, arguments.sink),
            drain=arguments.drain,
            trigger=in_sparks_units(arguments.trigger) if arguments.trigger else StartOptions.trigger,
            in_one_batch=self._in_one_batch,
            refresh=refresh,
            observed=self._observed,
        )


def _kept_of_tables(origins: Iterable[Source | Registered]) -> str | None:
    """Return the origin for which the query's checkpoint stores rows of a table, or None."""
    for origin in origins:
        if isinstance(origin, Source) and (origin.refresh is not None or origin.backfill is not None):
            what = "table with REFRESH EVERY" if origin.refresh is not None else "stream with BACKFILL FROM"
            return f"{origin.name} is a {what}"
    return None


def _check_replayable(origins: Iterable[Source | Registered]) -> None:
    """Refuse a checkpoint for input that can't be read again after a restart, because rows would be lost."""
    for origin in origins:
        if isinstance(origin, Source) and origin.streaming and origin.format.lower() == "socket":
            raise NotSupportedError(
                f"a query over {origin.name} cannot have a checkpoint: what a socket has sent cannot be read again",
                hint="start it without one, or send the rows through files or Kafka",
            )


def _fits_one_batch(origins: Iterable[Source | Registered]) -> bool:
    """Tell whether all present input fits into one micro-batch."""
    streams = [origin for origin in origins if origin.streaming]
    return all(isinstance(origin, Source) and is_read_at_once(origin) for origin in streams)
