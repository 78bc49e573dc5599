"""A query that has not run: lazy, until its rows are asked for or it is started."""

import contextlib
import inspect
import io
import sys
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cepsql.analysis.sql.intervals import is_duration
from cepsql.cached_property import cached_property
from cepsql.catalog import Registered, Sink, Source, Watermark
from cepsql.catalog.references import valued_sink
from cepsql.catalog.view_store import GroupSink, ViewSink, ViewSource
from cepsql.datagen.fields import DATAGEN
from cepsql.errors import DataError, InterfaceError, NotSupportedError, in_text, suggestion
from cepsql.explain.match_key import AskedPartition, Key, asked_match, asked_partition
from cepsql.explain.railroad import draw
from cepsql.explain.text import explain_logical
from cepsql.language import statements as st
from cepsql.language.interval_units import in_sparks_units
from cepsql.pattern.ir import dump
from cepsql.pattern.program import STEP_BUDGET, UNDECIDED_ROWS, MatchProgram
from cepsql.plan.identity import describe_plan
from cepsql.plan.operators.temporal_filter import TemporalFilter
from cepsql.plan.planner import Plan
from cepsql.plan.references import hidden_values, with_values
from cepsql.plan.start import started_at
from cepsql.plan.tree.match_id_column import match_id_column
from cepsql.plan.tree.matched_series import matched_series
from cepsql.plan.tree.nodes import walk
from cepsql.plan.tree.scans import choose_plain_scan, choose_scans, scanned, stage_obstacle
from cepsql.plan.view_sources import view_sources
from cepsql.scan.choose import Choice

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame, Row, SparkSession

    from cepsql.explain.match_explanation import MatchExplanation
    from cepsql.render.shown_rows import ShownRows
    from cepsql.spark.checkpoint.checkpoint import Checkpoint
    from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath
    from cepsql.spark.checkpoint.host_files import HostFiles
    from cepsql.spark.frames.buckets import Buckets
    from cepsql.spark.run.query import StandingQuery, StartOptions
    from cepsql.spark.run.runs import Run
    from cepsql.spark.run.sink import BatchSink
    from cepsql.spark.sources.csv_headers import CsvFiles
    from cepsql.spark.sources.late_rows import LateFiles
    from cepsql.spark.sources.reading_start import ReadingStart
    from cepsql.spark.sources.unread_files import ListedFolder
    from cepsql.spark.stages.neighbours import Sharing
    from cepsql.views.last_rows import LastRows
    from cepsql.views.reading import Reading
    from cepsql.views.relation import Rules

MOST_ROWS = 2**31 - 1
"""The greatest number of rows that Spark can be told to give."""


class Host(Protocol):
    """What a query needs of the `cepsql.engine.context.Context` that it was made by."""

    settings: dict[str, str]

    @property
    def spark(self) -> "SparkSession": ...

    def check_open(self) -> None: ...

    def keep(self, standing: "StandingQuery") -> None: ...

    def sink(self, name: str) -> Sink: ...

    def plan(self, query: st.Query) -> Plan: ...

    def wait_for_views(self, plan: Plan) -> None: ...

    def search_limits(self, program: MatchProgram) -> MatchProgram: ...

    def reading_rules(self) -> "Rules": ...

    def zone_name(self) -> str | None: ...


class Query:
    """A query that has not run: a streaming or batch DataFrame on demand, its rows, or a standing query."""

    def __init__(self, engine: Host, plan: Plan, begins: str | None = None):
        """Make the query of a plan; `begins`: where its first start begins to read Kafka, as in `started_at`."""
        self._engine, self.plan, self._begins = engine, plan, begins
        self._frame: DataFrame | None = None
        self._ran: DataFrame | None = None
        self._now: Run | None = None
        self._looked = False
        self.token: str | None = None
        self.last_rows: LastRows | None = None

    def __reduce__(self):
        raise InterfaceError("a query cannot be copied or pickled", hint="pass on its text, or its rows")

    def __repr__(self) -> str:
        return f"<cepsql query, {'streaming' if self.streaming else 'bounded'}>\n{explain_logical(self.plan)}"

    def _repr_html_(self) -> str:
        """Show in a notebook what the query is; nothing runs."""
        from cepsql.render.html import html_table, html_text

        kind = "a stream" if self.streaming else "bounded"
        columns = [(column.name, column.type.lower()) for column in self.plan.columns]
        drawn = [html_text("\n".join(draw(program.pattern))) for program in self._programs]
        plan = f"<details><summary>plan</summary>{html_text(explain_logical(self.plan))}</details>"
        return f"<p>cepsql query, {kind}</p>{html_table(columns, None)}{''.join(drawn)}{plan}"

    @property
    def streaming(self) -> bool:
        """Whether the rows are a stream."""
        return self.plan.streaming

    @property
    def limit(self) -> int | None:
        """LIMIT of a query over a stream: after so many rows it ends."""
        return self.plan.limit

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know before the query runs for long."""
        return self.plan.notices

    def reading_starts(self, checkpoint: str | Path | None = None) -> "list[ReadingStart]":
        """Return where reading of each stream starts; with the folder of a checkpoint, where that resumes."""
        self._engine.check_open()
        from cepsql.spark.sources.reading_start import reading_starts

        folder = None if checkpoint is None else self._checkpoint_path(checkpoint)
        return reading_starts(started_at(self.plan, self._begins).origins, folder)

    def _checkpoint_path(self, location: str | Path) -> "CheckpointPath":
        from cepsql.spark.checkpoint.checkpoint_path import checkpoint_path

        return checkpoint_path(location, lambda: self._engine.spark)

    @property
    def patterns(self) -> str:
        """The row patterns as text, separated by semicolons."""
        return "; ".join(dump(program.pattern) for program in self._programs)

    @property
    def _programs(self) -> list[MatchProgram]:
        return [program for match in self.plan.matches for program in match.program.programs]

    @property
    def origins(self) -> list[Source | Registered]:
        """The relations that the query reads, each once; in place of a view those below it."""
        return self.plan.origins

    @property
    def df(self) -> "DataFrame":
        """The DataFrame, streaming or not; it composes with any PySpark code. Starts Spark."""
        self._engine.check_open()
        if self._frame is None:
            self._frame = self.build()
        return self._frame

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and Spark types of the columns. Starts Spark, unless views answer the query."""
        if self.reading is not None:
            return list(self.reading.columns)
        frame = self.df
        from cepsql.spark.frames.column_types import column_types

        return column_types(frame)

    def build(
        self,
        control: str | None = None,
        replaced: "dict[str, DataFrame] | None" = None,
        scan: str = "spark",
        buckets: "Buckets | None" = None,
        files: "HostFiles | None" = None,
        sharing: "Sharing | None" = None,
        writer: str | None = None,
        by_spark: "DataFrame | None" = None,
        packet_folder: Path | None = None,
        observed: dict[str, tuple[str, ...]] | None = None,
        expired: int | None = None,
        positions: bool = False,
    ) -> "DataFrame":
        """Build the DataFrame again; see `cepsql.spark.stages.build.build`. Raises Error."""
        spark = self._engine.spark
        from cepsql.spark.jvm.failures import translated_failures
        from cepsql.spark.jvm.interrupts import held_interrupts
        from cepsql.spark.jvm.settings import AS_WRITTEN, lent_settings
        from cepsql.spark.jvm.zone import session_zone
        from cepsql.spark.sources.view_frame import view_frames
        from cepsql.spark.stages.build import EXPIRED_ROWS, build
        from cepsql.views.points import asked_point

        with translated_failures(self.plan.text), held_interrupts(), lent_settings(spark, AS_WRITTEN):
            if not self.streaming and (views := view_sources(self.plan)):
                self._engine.wait_for_views(self.plan)
                # What is read of several views is of one moment.
                asked = asked_point(self.plan.query, session_zone(spark))
                replaced = view_frames(spark, views, asked) | (replaced or {})
            return build(
                spark,
                started_at(self._valued, self._begins),
                control,
                buckets or self._buckets(),
                replaced,
                self._engine.search_limits,
                scan,
                files,
                sharing,
                writer,
                by_spark,
                packet_folder,
                observed,
                expired or int(self._engine.settings.get("cepsql.expired_rows", EXPIRED_ROWS)),
                positions,
            )

    @cached_property
    def _valued(self) -> Plan:
        """The plan with the values of the references in its options, which were asked for when it was first run."""
        return with_values(self.plan)

    def _buckets(self) -> "Buckets":
        from cepsql.spark.frames.buckets import session_buckets

        count = self._engine.settings.get("cepsql.buckets")
        return session_buckets(self._engine.spark, int(count) if count else None)

    def collect(self) -> "list[Row]":
        """Return all rows of a bounded query.

        Raises InterfaceError for a stream, OperationalError if Spark fails or `Engine.cancel` ended it, DataError for a
        value without a type in Python: dates and times beyond the years 1 to 9999, and INTERVAL YEAR TO MONTH.
        """
        return self._run(self._collected)

    def _collected(self) -> "list[Row]":
        from pyspark.errors import PySparkNotImplementedError

        try:
            return self.df.collect()
        except (ValueError, OverflowError, PySparkNotImplementedError) as failure:
            raise no_python_type(failure) from failure

    @property
    def malformed(self) -> int:
        """How many malformed rows the last run of a bounded query left out."""
        from cepsql.spark.run.observed import observed_sum

        return 0 if self._ran is None else observed_sum(self._ran, "malformed")

    @property
    def tasks(self) -> tuple[int, int] | None:
        """How many of Spark's tasks are done for `pieces`, and how many there are; None if that is not known."""
        run = self._now
        return None if run is None else run.tasks()

    def arrow(self) -> "pa.Table":
        """Return all rows of a bounded query as an Arrow table; errors as for `collect`."""
        found = self.without_spark()
        return self._run(self._arrow) if found is None else found

    @property
    def reading(self) -> "Reading | None":
        """How a query over views is answered without Spark; None: Spark answers it."""
        return self._how_read[0]

    @property
    def spark_reason(self) -> str | None:
        """Why Spark answers a query over views; None if it does not, or the query reads no view."""
        return self._how_read[1]

    @cached_property
    def _how_read(self) -> "tuple[Reading | None, str | None]":
        """How a query over views is answered without Spark, or why Spark answers it."""
        if self.streaming or not view_sources(self.plan):
            return None, None
        from cepsql.scan.expression import Unlike
        from cepsql.views.reading import reading

        try:
            return reading(self.plan, self._engine.reading_rules()), None
        except Unlike as unlike:
            return None, str(unlike)

    def without_spark(self) -> "pa.Table | None":
        """Return the rows of a query over views as `arrow` does, but without Spark; None if only Spark can find them.

        Sometimes only the rows show that, such as numbers whose sum is rounded.
        """
        self._engine.check_open()
        zone = self._engine.zone_name() if self.reading is not None else None
        if self.reading is None or zone is None:
            return None
        from cepsql.scan.expression import Unlike
        from cepsql.views.reading import in_zone

        try:
            with in_text(self.plan.text):
                self._engine.wait_for_views(self.plan)
                return in_zone(self.reading.table(), zone)
        except Unlike:
            return None

    def _arrow(self) -> "pa.Table":
        from cepsql.spark.frames.arrow import to_arrow

        return to_arrow(self.df)

    def to_pandas(self) -> "pd.DataFrame":
        """Return all rows of a bounded query as a pandas DataFrame; errors as for `collect`.

        Integers with NULL among them get pandas' nullable types, such as Int64, because floats can't hold all of them.
        """
        from cepsql.spark.frames.arrow import to_pandas

        found = self.arrow()
        try:
            return to_pandas(found)
        except ValueError as failure:
            raise no_python_type(failure) from failure

    def to_polars(self) -> "pl.DataFrame":
        """Return all rows of a bounded query as a Polars DataFrame; errors as for `collect`.

        Raises InterfaceError where Polars is not installed, and for two columns of one name, which it cannot have.
        """
        try:
            import polars
        except ImportError as error:
            raise InterfaceError("Polars is not installed", hint="pip install polars") from error
        names = [name for name, _ in self.columns]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InterfaceError(
                f"two columns are called {twice}, and in a DataFrame of Polars each has a name of its own",
                hint="AS gives a column another name",
            )
        found = polars.from_arrow(self.arrow())
        assert isinstance(found, polars.DataFrame)
        return found

    def head(self, rows: int = 10) -> "ShownRows":
        """Return the first rows, shown as a table; its `table` has them as Arrow.

        rows: how many, at most. A stream is read as if its current input were all.
        Raises what `arrow` and `start` raise, and InterfaceError if `rows` is not a number of rows.
        """
        if type(rows) is not int or rows < 0:
            raise InterfaceError(f"a number of rows is a whole number from 0, not {rows!r}")
        import pyarrow as pa

        from cepsql.render.shown_rows import ShownRows

        found, count, wanted = [], 0, rows + 1
        for piece in self._first_pieces(wanted):
            found.append(piece.slice(0, wanted - count))
            count += found[-1].num_rows
            if count == wanted:
                break
        whole = pa.concat_tables(found) if found else self._no_rows()
        note = f"the first {rows} row{'' if rows == 1 else 's'}" if count > rows else ""
        zone = self._engine.zone_name() if self.reading is not None else None
        if zone is None:
            spark = self._engine.spark
            from cepsql.spark.jvm.settings import setting

            zone = setting(spark, "spark.sql.session.timeZone")
        return ShownRows(self.columns, whole.slice(0, rows), note, zone)

    def show(self, rows: int = 20) -> None:
        """Print the first rows as a table; arguments and errors as for `head`."""
        print(self.head(rows))

    def _first_pieces(self, wanted: int) -> "Iterator[pa.Table]":
        """Yield tables with the first rows; the query is ended where no more are taken."""
        if not self.streaming:
            with contextlib.closing(self.pieces(wanted)) as pieces:
                yield from pieces
            return
        with self.start(drain=True) as standing:
            yield from standing.rows()

    def pieces(self, limit: int | None = None) -> "Generator[pa.Table, None, None]":
        """Yield the rows of a bounded query in tables as they are found, at least one, however many rows there are.

        limit: the greatest number of rows; Spark computes no more.
        Closing the iterator ends the query. Errors as for `collect`, and InterfaceError for a limit that is no number
        of rows.
        """
        self._check_bounded()
        if limit is not None and (type(limit) is not int or not 0 <= limit <= MOST_ROWS):
            raise InterfaceError(f"a limit is a whole number from 0 to {MOST_ROWS}, not {limit!r}")
        answered = self.without_spark()
        if answered is not None:
            yield answered if limit is None else answered.slice(0, limit)
            return
        spark = self._engine.spark
        from cepsql.spark.jvm.failures import translated_failures
        from cepsql.spark.run.row_pieces import RowPieces
        from cepsql.spark.run.runs import running

        with translated_failures(self.plan.text), running(spark) as run, self._anew_after_failure():
            self._now = run
            self._read_views_anew()
            self._warn_of_tables()
            found = RowPieces(self.df if limit is None else self.df.limit(limit), run)
            try:
                yield from found
            finally:
                self._ran, self._now = found.executed, None

    def start(
        self,
        on_rows: "Callable[[pa.Table, int], None] | None" = None,
        *,
        sink: Sink | str | None = None,
        name: str | None = None,
        epoch: int | None = None,
        drain: bool = False,
        checkpoint: str | Path | None = None,
        trigger: str | None = None,
        upgrades: bool = False,
    ) -> "StandingQuery":
        """Start the query over its streams; with LIMIT it ends after so many rows, over all its starts.

        on_rows:    called with the rows and the number of every micro-batch that has rows; a column with a date or time
                    outside the years 1 to 9999 is text there.
        sink:       where rows go in place of that, as the name of one that CREATE SINK has made or as a
                    `cepsql.catalog.Sink`; without both `rows()` gives them.
        name:       what the sink knows the query by, the same in every start; None: a name of its checkpoint's own.
        epoch:      grows with each owner of the query: a sink refuses what an earlier one writes, and a checkpoint is
                    taken over from it. None: a checkpoint is never taken over from a process that lives.
        drain:      end when all input that is there now is processed and decided (the checkpoint is finished then).
        checkpoint: folder from which a later start resumes; None: nothing is kept.
        trigger:    time between micro-batches such as "5 seconds"; None: as soon as there is input.
        upgrades:   resume from the checkpoint of another text of the query, too, if the plans differ only in columns
                    and conditions above the operators.
        Raises InterfaceError for a bounded query, NotSupportedError over Spark Connect, ProgrammingError if there is no
        such sink or the columns do not fit it, OperationalError if the checkpoint is in use or belongs to another
        query, or the sink cannot be reached.
        """
        if not self.streaming:
            raise InterfaceError("a bounded query cannot be started", hint="collect() gives its rows, df its DataFrame")
        _check_arguments(on_rows, sink, checkpoint, trigger)
        if isinstance(sink, str):
            sink = self._engine.sink(sink)
        if not hasattr(self._engine.spark, "_jsparkSession"):
            raise NotSupportedError(
                "a standing query over Spark Connect is not supported: each batch, its counts and its checkpoint are "
                "handled where Spark's driver runs",
                hint="give a session that is not remote: connect(master='spark://...'), or a SparkSession of that kind",
            )
        from cepsql.spark.jvm.interrupts import held_interrupts

        standing = None
        try:
            with held_interrupts():
                standing = self._started(on_rows, sink, name, epoch, drain, checkpoint, trigger, upgrades)
        except KeyboardInterrupt:
            # Nobody has it who could stop it.
            if standing is not None:
                standing.stop()
            raise
        return standing

    def _started(
        self,
        on_rows: "Callable[[pa.Table, int], None] | None",
        sink: Sink | None,
        name: str | None,
        epoch: int | None,
        drain: bool,
        checkpoint: str | Path | None,
        trigger: str | None,
        upgrades: bool,
    ) -> "StandingQuery":
        """Start the query; see `start`."""
        from cepsql.spark.checkpoint.checkpoint import (
            ARROW_SCAN,
            SPARK_SCAN,
            discard,
            keep_records,
            keep_shared,
            open_checkpoint,
        )
        from cepsql.spark.checkpoint.checkpoint_path import used
        from cepsql.spark.checkpoint.control import check_ended
        from cepsql.spark.checkpoint.host_files import check_on_host, host_files
        from cepsql.spark.frames.packet_files import make_packet_folder
        from cepsql.spark.run.query import StartOptions, start
        from cepsql.spark.sources.late_rows import begin_folders, remove_uncommitted
        from cepsql.spark.sources.table_disks import check_tables
        from cepsql.spark.sources.table_refresh import TableRefresh
        from cepsql.spark.stages.neighbours import Sharing

        path = None if checkpoint is None else self._checkpoint_path(checkpoint)
        if path is not None:
            _check_replayable(self.origins)
        keeping = _kept_of_tables(self.origins)
        if keeping is not None and path is not None:
            check_on_host(path, self._engine.spark, keeping)
        # The views of a group have one source of a stream, which is Spark's.
        by_spark = self.plan.parts or self.scan_obstacle(self._engine.spark)
        scan = SPARK_SCAN if by_spark else ARROW_SCAN
        # Without operators either scan goes on from where the other was.
        plain = not self.plan.stages
        kept_scan = SPARK_SCAN if plain else scan
        origins = self._valued.origins
        age = _file_age(origins)
        folder = open_checkpoint(path, self.identity(), drain, kept_scan, self._buckets(), epoch, upgrades, age)
        try:
            tables = [one for one in origins if isinstance(one, Source) and not one.streaming]
            if keeping is not None:
                with used(folder.folder, "read"):
                    folder = replace(folder, files=host_files(folder.folder))
            folder = check_tables(origins, folder)
            refresh = TableRefresh(self._engine.spark, folder.files, tables, folder.mounts)
            refresh.begin()
            sharing = Sharing(folder.shared)
            scan = scan if plain else folder.scan
            writer = uuid.uuid4().hex
            known = self._frame if plain else None
            if not plain:
                folder = replace(folder, packets=make_packet_folder(self._engine.spark))
            observed: dict[str, tuple[str, ...]] = {}
            frame = self.build(
                folder.control,
                None,
                scan,
                folder.buckets,
                folder.files,
                sharing,
                writer,
                known,
                folder.packets,
                observed,
                # Nothing follows the end.
                sys.maxsize if drain else None,
                isinstance(sink, ViewSink | GroupSink),
            )
            folder = keep_shared(folder, sharing.found)
            if drain:
                check_ended(frame, len(self.plan.stages))
            target = self._target(on_rows, sink, name, folder, frame)
            target.task_writer = writer
            if target.place is not None and target.mount is None:
                folder = keep_records(folder, {}, {target.place: target.folder})
                target.mount = folder.mounts.get(target.place)
            options = replace(
                self._start_options(folder, sink),
                drain=drain,
                trigger=in_sparks_units(trigger) if trigger else StartOptions.trigger,
                # One that somebody could go on with must not be ended before its rows are read.
                in_one_batch=checkpoint is None and _in_one_batch(origins),
                refresh=refresh,
                observed=observed,
            )
            with used(folder.folder, "read"):
                folder = begin_folders(options.late_files, folder)
                remove_uncommitted([files.folder for files in options.late_files], folder.spark_folder)
        except BaseException:
            discard(folder)
            raise
        self._warn_of_tables()
        standing = start(frame, target, folder, options)
        self._engine.keep(standing)
        return standing

    def _start_options(self, folder: "Checkpoint", sink: Sink | None) -> "StartOptions":
        """Return what follows from the query for how it is run over its checkpoint."""
        from cepsql.kafka.reader import PYTHON, reader_of
        from cepsql.spark.jvm.full_disk import written_places
        from cepsql.spark.run.explain_match import explain_held
        from cepsql.spark.run.query import StartOptions
        from cepsql.spark.sources.source import is_kafka
        from cepsql.spark.stages.neighbours import Sharing

        def explain(key: Key) -> "MatchExplanation":
            return explain_held(
                self._engine.spark, self._valued, self._asked(key), folder.spark, Sharing(folder.shared)
            )

        origins = self._valued.origins
        late = _late_files(origins)
        return StartOptions(
            secrets=tuple(value for origin in self.origins for value in _secrets(origin)),
            sql=self.plan.text,
            patterns=self.patterns,
            explain=explain if self.plan.matches else None,
            heartbeat=min(
                filter(None, (every for m in _watermarks(origins) for every in (m.heartbeat, m.idle))), default=None
            ),
            expires=next((node.clock for node in walk(self.plan.root) if isinstance(node, TemporalFilter)), None),
            late_files=late,
            file_age=_file_age(origins),
            folders=_listed_folders(origins),
            csv_files=_csv_files(one for one in origins if isinstance(one, Source) and one.streaming),
            python_sources=any(
                isinstance(one, Source)
                and (
                    (is_kafka(one) and reader_of(one) == PYTHON)
                    or (one.streaming and (one.format == DATAGEN or isinstance(one, ViewSource)))
                )
                for one in origins
            ),
            written=written_places(self._engine.spark, sink, (files.folder for files in late)),
            parts=tuple(bool(part.stages) for part in self.plan.parts),
            late_shares={
                origin.name: mark.late_alert
                for origin in origins
                if (mark := origin.watermark) and mark.late_alert is not None
            },
        )

    def _target(
        self,
        on_rows: "Callable[[pa.Table, int], None] | None",
        sink: Sink | None,
        name: str | None,
        checkpoint: "Checkpoint",
        frame: "DataFrame",
    ) -> "BatchSink":
        """Return what takes the rows of a frame, checked."""
        from cepsql.mounts import check_still_mounted
        from cepsql.sinks import WriterIdentity, open_sink
        from cepsql.spark.checkpoint.checkpoint import disk_named
        from cepsql.spark.checkpoint.row_limit import RowLimit
        from cepsql.spark.run.row_queue import RowQueue
        from cepsql.spark.run.sink import RowSink

        if sink is None:
            rows = RowQueue() if on_rows is None else RowSink(_for_python(on_rows))
            rows.limit = None if self.limit is None else RowLimit(self.limit, checkpoint.folder)
            return rows
        if self.limit is not None:
            raise NotSupportedError("LIMIT of a query that writes to a sink is not supported")
        if sink.format.lower() == "kafka" and not sink.key:
            match_id = match_id_column(self.plan.logical)
            sink = replace(sink, key=(match_id,) if match_id else ())
        writer = WriterIdentity(name or checkpoint.id, checkpoint.epoch, checkpoint.id)
        target = open_sink(valued_sink(sink), writer, self.plan.changes, [part.changes for part in self.plan.parts])
        target.last_rows = None if self.last_rows is None else self.last_rows.of(checkpoint.id)
        place = target.place or ""
        target.known = checkpoint.known_record(place, target.folder)
        target.mount = checkpoint.mounts.get(place)
        try:
            if target.folder is not None and place not in checkpoint.records:
                check_still_mounted(target.mount, target.folder, f"sink {sink.name} at")
            with disk_named(checkpoint, place, target.folder):
                target.check_frame(frame)
        except BaseException:
            target.close()
            raise
        return target

    def write(self, sink: Sink) -> int:
        """Write all rows of a bounded query to a sink, as one batch; return how many there were.

        Raises InterfaceError for a stream, ProgrammingError if the columns do not fit the sink, OperationalError if
        it cannot be reached.
        """
        from cepsql.sinks import WriterIdentity, open_sink

        once = uuid.uuid4().hex
        target = open_sink(valued_sink(sink), WriterIdentity(f"insert-{once}", 1, once), self.plan.changes)

        def written() -> int:
            target.check(self.columns)
            target.claim()
            return target.accept(self.df, 0)

        try:
            return self._run(written, sink)
        finally:
            target.close()

    def summary(self) -> tuple[tuple[object, ...], ...]:
        """Return a row for each column of a bounded query, as SUMMARIZE has them; errors as for `collect`."""
        from cepsql.spark.run.summary import summarized

        return self._run(lambda: summarized(self.df))

    def insert(self, into: Source, names: Sequence[str] = ()) -> int:
        """Insert all rows of a bounded query into a stream or table, in one step; return how many there were.

        names: what the columns are called there, in order; none: they go by name, or else by place.
        `token` then tells which rows they were, for those who wait until views have taken them.
        Raises InterfaceError for a stream, NotSupportedError for a target that takes no rows, ProgrammingError and
        DataError for columns and values that do not fit, OperationalError if it cannot be written to.
        """
        from cepsql.sinks.insertion import fitted_rows, insert_files, insertion_sink

        sink = valued_sink(insertion_sink(into))

        def written() -> int:
            frame = fitted_rows(self.df, into, names)
            if sink.format != "kafka":
                rows, file = insert_files(frame, sink, into)
                self.token = None if file is None else f"{into.name}@{file}"
                return rows
            from cepsql.sinks import WriterIdentity, open_sink

            once = uuid.uuid4().hex
            target = open_sink(sink, WriterIdentity(f"insert-{once}", 1, once))
            try:
                target.check([(column.name, column.type) for column in sink.columns])
                rows = target.accept(frame, 0)
                self.token = self._reached(into)
                return rows
            finally:
                target.close()

        return self._run(written, sink)

    def _reached(self, into: Source) -> str | None:
        """Return the token of all records that a topic has now, None where that is not known."""
        from cepsql.kafka.reader import PYTHON, reader_of

        if reader_of(into) != PYTHON:
            return None
        from cepsql.kafka.cluster import Cluster
        from cepsql.spark.sources.kafka import parsed_options

        (offsets,) = Cluster(parsed_options(self._engine.spark, into)).latest().values()
        return f"{into.name}@{','.join(f'{part}:{end}' for part, end in sorted(offsets.items()))}"

    def scan_obstacle(self, spark: "SparkSession | None" = None) -> str | None:
        """Return why Spark, not Arrow, would read the files of streams if it were started now.

        spark: the session, whose settings matter, too. Returns None if Arrow would.
        """
        stages, plain = scanned(self._valued.stages), choose_plain_scan(self._valued.root)
        if not stages and plain is None:
            return "Spark's own operators read the streams"
        if self._engine.settings.get("cepsql.scan") == "spark":
            return "cepsql.scan is spark"
        reason = next(filter(None, map(stage_obstacle, stages)), None) or (plain.reason if plain else None)
        if reason or spark is None:
            return reason
        from cepsql.spark.frames.column_types import frame_columns
        from cepsql.spark.sources.arrow_scan import files_obstacle, scan_session, session_obstacle

        session = scan_session(spark)
        reason = session_obstacle(spark) or next(filter(None, (stage_obstacle(s, session) for s in stages)), None)
        if reason:
            return reason
        choices: list[Choice | None] = [choice for stage in stages for choice in choose_scans(stage, session)]
        if plain is not None:
            choices.append(choose_plain_scan(self._valued.root, session, frame_columns(self.df)))
        scans = [(choice.scan, choice.source) for choice in choices if choice and choice.scan and choice.source]
        unread = (files_obstacle(source, scan.layout) for scan, source in scans)
        return next(filter(None, [*(choice.reason for choice in choices if choice), *unread]), None)

    def explain_match(self, key: Key = None) -> "MatchExplanation":
        """Explain which matches the partition of a key has in the current rows, and why no others.

        key: the value of the PARTITION BY column, values in order, or a mapping by column name; None without PARTITION
             BY. Of several MATCH_RECOGNIZE, the one that reads no other is explained.
        Raises ProgrammingError if the key does not fit or no row has it, and what running the query would raise.
        """
        asked, spark = self._asked(key), self._engine.spark
        from cepsql.spark.run.explain_match import explain_query
        from cepsql.spark.run.runs import running

        with running(spark) as run, run.interruptible():
            return explain_query(run.spark, self._valued, asked)

    def partition_keys(self, most: int = 8) -> "list[tuple[tuple, int]]":
        """Return some keys for `explain_match`, each with its number of rows.

        They come from the current rows; those with the most rows come first.
        most: how many keys.
        Raises as `explain_match` does.
        """
        match, spark = asked_match(self._valued), self._engine.spark
        from cepsql.spark.run.explain_match import list_keys
        from cepsql.spark.run.runs import running

        with running(spark) as run, run.interruptible():
            return list_keys(run.spark, self._valued, match, most)

    def plot(self, x: str, y: str, most: int = 6) -> "Figure":
        """Draw the matches on their series: y over x for each partition, a colour for each variable.

        All rows that the pattern reads are drawn, whatever the query says of each match; of a query without a pattern
        those that it gives. Of a stream they are those that are there now. Rows without x are left out.
        most: how many partitions are drawn, those with the most matches.
        Raises InterfaceError where matplotlib is not installed or there is no such column, NotSupportedError for
        several MATCH_RECOGNIZE, and what running the query would raise.
        """
        from cepsql.plots.matches import draw_matches

        return draw_matches(*self._series(x, y), most)

    def drawing(self, x: str, y: str, width: int = 78, height: int = 20) -> str:
        """Draw y over x as text: the matches of the partition that has the most, or the rows of a query without any.

        Of a stream the rows are those that are there now. A row in a match is a letter of its variable.
        width, height: of the drawing in characters.
        Raises InterfaceError if there is no such column, or it is neither a number nor a time, and what running the
        query would raise.
        """
        from cepsql.plots.characters import draw_characters

        return draw_characters(*self._series(x, y), width, height)

    def _series(self, x: str, y: str) -> "tuple[pa.Table, str, str, tuple[str, ...]]":
        """Return the rows that the pattern reads, or without one the query gives, with what they are in the pattern,
        and the names of their columns and keys."""
        import pyarrow as pa

        from cepsql.plots.matches import MATCH, VARIABLE

        plain = not any(isinstance(clause, st.MatchClause) for clause in self.plan.query.operators)
        query, keys = self, tuple[str, ...]()
        if not plain:
            series, keys = matched_series(self.plan.query, VARIABLE, MATCH)
            query = Query(self._engine, self._engine.plan(series))
        names = {name.lower(): name for name, _ in query.columns if name not in (VARIABLE, MATCH)}
        for name in (x, y):
            if name.lower() not in names:
                hint = suggestion(name, names.values(), "columns")
                raise InterfaceError(f"there is no column {name} to draw", hint=hint)
        keys = tuple(names[key.lower()] for key in keys)
        found = query.rows_now()
        if plain:
            nothing = pa.nulls(found.num_rows, pa.string())
            found = found.append_column(VARIABLE, nothing).append_column(MATCH, nothing)
        return found, names[x.lower()], names[y.lower()], keys

    def rows_now(self) -> "pa.Table":
        """Return all rows of a bounded query; a stream is read as if its current input were all.

        Raises what `arrow` and `start` raise.
        """
        if not self.streaming:
            return self.arrow()
        import pyarrow as pa

        with self.start(drain=True) as standing:
            tables = list(standing.rows())
        return pa.concat_tables(tables) if tables else self._no_rows()

    def _no_rows(self) -> "pa.Table":
        frame = self.df
        from cepsql.spark.frames.arrow import arrow_schema

        return arrow_schema(frame.schema).empty_table()

    def identity(self) -> dict:
        """Return the identity of the query, as data: a query with another one can't resume from its checkpoint."""
        spark = self._engine.spark
        from cepsql.spark.frames.frames import frame_identity
        from cepsql.spark.jvm.settings import meaning_settings

        return describe_plan(self._valued, meaning_settings(spark), frame_identity)

    def _asked(self, key: Key) -> AskedPartition:
        """Return the partition of a key, with the match within the limits that SET gives its search."""
        asked = asked_partition(self._valued, key)
        program = self._engine.search_limits(asked.match.program)
        return replace(asked, match=replace(asked.match, program=program))

    def explain_spark(self) -> str:
        """Return Spark's plan of the query as text; of a stream the analyzed one, since each batch is planned again."""
        frame = self.df
        from cepsql.spark.jvm.failures import translated_failures

        text = io.StringIO()
        with translated_failures(self.plan.text), contextlib.redirect_stdout(text):
            frame.explain(mode="extended" if self.streaming else "formatted")
        if not self.streaming:
            return text.getvalue().rstrip()
        analyzed = text.getvalue().split("== Analyzed Logical Plan ==")[-1].split("== Optimized Logical Plan ==")[0]
        return analyzed.strip()

    def _warn_of_tables(self) -> None:
        """Warn, once, of files of tables whose columns are not where the tables say."""
        if not self._looked:
            self._looked = True
            from cepsql.spark.sources.csv_headers import CsvHeaders
            from cepsql.spark.sources.notices import warn_of_headers

            tables = (one for one in self._valued.origins if isinstance(one, Source) and not one.streaming)
            warn_of_headers(CsvHeaders(_csv_files(tables)).misplaced_there())

    def _check_bounded(self) -> None:
        if self.streaming:
            raise InterfaceError("the rows of a stream never end", hint="start() gives a standing query")

    def _run(self, action, sink: Sink | None = None):
        self._check_bounded()
        spark = self._engine.spark
        from cepsql.spark.jvm.failures import translated_failures
        from cepsql.spark.jvm.full_disk import full_disks_named
        from cepsql.spark.jvm.settings import stage_settings
        from cepsql.spark.run.runs import running

        with (
            full_disks_named(spark, sink),
            translated_failures(self.plan.text),
            running(spark) as run,
            stage_settings(run.spark),
            run.interruptible(),
            self._anew_after_failure(),
        ):
            self._read_views_anew()
            self._ran = self.df
            self._warn_of_tables()
            return action()

    def _read_views_anew(self) -> None:
        """Forget a DataFrame that has the rows which views had when it was made."""
        if view_sources(self.plan):
            self._frame = None

    @contextlib.contextmanager
    def _anew_after_failure(self) -> Iterator[None]:
        """Forget a DataFrame that failed or was cancelled: Spark would only repeat what it failed with."""
        try:
            yield
        except BaseException:
            self._frame = None
            raise


def _for_python(on_rows: "Callable[[pa.Table, int], None]") -> "Callable[[pa.Table, int], None]":
    """Return a function that calls a user's with rows that Python can hold."""
    from cepsql.render.times import for_python

    return lambda rows, batch: on_rows(for_python(rows), batch)


def no_python_type(failure: Exception) -> DataError:
    """Return what is raised where a row cannot be given as Python's own values."""
    hint = "arrow() gives the rows as they are; CAST(... AS STRING) gives the value as text"
    return DataError(f"a value has no type in Python: {failure}", hint=hint)


def _check_arguments(on_rows: object, sink: object, checkpoint: object, trigger: object) -> None:
    """Raise InterfaceError for arguments of `Query.start` that are of another kind, or exclude each other."""
    if on_rows is not None and not callable(on_rows):
        raise InterfaceError(f"on_rows is a function, not {on_rows!r}")
    if any(map(inspect.iscoroutinefunction, (on_rows, type(on_rows).__call__))):
        hint = "a plain function can hand rows to a loop: asyncio.run_coroutine_threadsafe(show(rows), loop).result()"
        raise InterfaceError("on_rows is an async function, which no loop would run", hint=hint)
    if checkpoint is not None and not isinstance(checkpoint, str | Path):
        raise InterfaceError(f"a checkpoint is a folder, not {checkpoint!r}")
    if trigger is not None and not (isinstance(trigger, str) and is_duration(trigger)):
        raise InterfaceError(f"trigger is a time such as '5 seconds', not {trigger!r}")
    if on_rows is not None and sink is not None:
        raise InterfaceError("rows go either to on_rows or to a sink", hint="leave one of them out")
    if not isinstance(sink, str | Sink | None):
        raise InterfaceError(f"a sink is given by its name or as a Sink, not as {type(sink).__name__}")


def limited(program: MatchProgram, settings: Mapping[str, str]) -> MatchProgram:
    """Return a program with the limits that settings give its search."""
    strict = program.strict or settings.get("cepsql.strict", "").lower() == "true"
    budget = int(settings.get("cepsql.step_budget", STEP_BUDGET))
    undecided = int(settings.get("cepsql.undecided_rows", UNDECIDED_ROWS))
    beside = tuple(limited(each, settings) for each in program.beside)
    return replace(program, strict=strict, step_budget=budget, undecided_rows=undecided, beside=beside)


def _watermarks(origins: list[Source | Registered]) -> list[Watermark]:
    return [origin.watermark for origin in origins if origin.watermark is not None]


def _late_files(origins: list[Source | Registered]) -> "tuple[LateFiles, ...]":
    """Return where streams send late rows."""
    from cepsql.spark.sources.late_rows import late_files

    return tuple(files for files in map(late_files, origins) if files is not None)


def _file_age(origins: list[Source | Registered]) -> float | None:
    """Return after how many seconds Spark forgets a file that it has read, None for never."""
    from cepsql.spark.checkpoint.source_log import longest_file_age

    return longest_file_age(one.options for one in origins if isinstance(one, Source) and one.streaming)


def _listed_folders(origins: list[Source | Registered]) -> "tuple[ListedFolder, ...]":
    """Return where the streams of a query find files of this machine."""
    from cepsql.spark.sources.unread_files import listed_folder

    streams = (one for one in origins if isinstance(one, Source) and one.streaming)
    return tuple(folder for folder in map(listed_folder, streams) if folder is not None)


def _csv_files(sources: Iterable[Source]) -> "tuple[CsvFiles, ...]":
    """Return which files of these have headers."""
    from cepsql.spark.sources.csv_headers import csv_files

    return tuple(files for files in map(csv_files, sources) if files is not None)


def _kept_of_tables(origins: Iterable[Source | Registered]) -> str | None:
    """Return what a query reads for which its checkpoint keeps rows of a table; None: nothing."""
    for origin in origins:
        if isinstance(origin, Source) and (origin.refresh is not None or origin.backfill is not None):
            what = "table with REFRESH EVERY" if origin.refresh is not None else "stream with BACKFILL FROM"
            return f"{origin.name} is a {what}"
    return None


def _check_replayable(origins: list[Source | Registered]) -> None:
    """Refuse a checkpoint of what cannot be read again after a restart: rows would be lost."""
    for origin in origins:
        if isinstance(origin, Source) and origin.streaming and origin.format.lower() == "socket":
            raise NotSupportedError(
                f"a query over {origin.name} cannot have a checkpoint: what a socket has sent cannot be read again",
                hint="start it without one, or send the rows through files or Kafka",
            )


def _in_one_batch(origins: list[Source | Registered]) -> bool:
    """Tell whether all input that is there goes into one micro-batch."""
    from cepsql.spark.sources.source import is_read_at_once

    streams = [origin for origin in origins if origin.streaming]
    return all(isinstance(origin, Source) and is_read_at_once(origin) for origin in streams)


def _secrets(origin: Source | Registered) -> list[str]:
    return hidden_values(origin) if isinstance(origin, Source) else []
