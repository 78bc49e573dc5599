"""Build the DataFrame of a plan: read relations, run operators, and let Spark run the SQL around them."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType, TimestampType
from sqlglot import exp

from cepsql.analysis.clauses.frame_reach import with_bounds_of_one_type
from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import ORIGIN, PLACE
from cepsql.analysis.sql.resolve import catalog_tables, flatten_names, table_name
from cepsql.base.cached_property import cached_property
from cepsql.catalog import Registered, Relation, Source, Watermark
from cepsql.errors import Error, NotSupportedError, OperationalError, answer, in_text
from cepsql.language.guard import no_collection
from cepsql.language.rewriting.misread import refuse_misread
from cepsql.language.tokens import quoted
from cepsql.language.tree_nodes import TreeNodes
from cepsql.plan.group import part_roots
from cepsql.plan.joins.as_of_tables import with_places
from cepsql.plan.names.hidden_column import carry_column
from cepsql.plan.planner import Plan
from cepsql.plan.rules.split_unions import input_branches
from cepsql.plan.tree.arrival_order import keeps_arrival
from cepsql.plan.tree.markers import carry_markers, inline_ctes
from cepsql.plan.tree.nodes import (
    AddedRows,
    ChangeOperator,
    LabelledChanges,
    Node,
    Ordered,
    Read,
    SparkWatermark,
    Sql,
    inputs,
    reads,
    walk,
)
from cepsql.plan.tree.scans import choose_plain_scan, choose_scans, joined_stream, with_short_identities
from cepsql.readers.scan.choose import Choice, ScanT, choose_column_scan
from cepsql.readers.scan.plain import PlainScan
from cepsql.readers.scan.projection import ArrowScan
from cepsql.scalar.expressions import Session
from cepsql.spark.building.dataflow import StagedFlow, run_flow, typed_rows
from cepsql.spark.building.finished_rows import finished_rows
from cepsql.spark.building.frame_options import EXPIRED_ROWS, FrameOptions
from cepsql.spark.building.labelled_frames import labelled_changes, labelled_fields
from cepsql.spark.building.neighbours import Sharing, neighbour
from cepsql.spark.building.pair_filter import with_filter
from cepsql.spark.building.side_by_side import side_by_side
from cepsql.spark.checkpoint.begin import added_rows
from cepsql.spark.checkpoint.checkpoint import SPARK_SCAN
from cepsql.spark.checkpoint.control import with_watermark
from cepsql.spark.frames.buckets import session_buckets
from cepsql.spark.frames.column_types import frame_columns
from cepsql.spark.frames.frame_sql import frame_sql
from cepsql.spark.frames.known_columns import declared_columns, passed_columns
from cepsql.spark.frames.list_aggregates import check_streaming, has_list_aggregates, with_aggregates, without_lists
from cepsql.spark.frames.operator_rows import column_type, event_time
from cepsql.spark.frames.typed_frame import TypedFrame, made, typed_frame
from cepsql.spark.frames.user_frames import alike
from cepsql.spark.jvm.bloom_functions import add_bloom_functions
from cepsql.spark.jvm.lent_settings import is_chain, setting
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.jvm.messages.stand_in_messages import in_words_of_statement
from cepsql.spark.jvm.spark_plan import analyzed, is_match, keeps_state, nodes
from cepsql.spark.sources.arrow_scan import SourceScan, scan_session
from cepsql.spark.sources.backfill import with_history
from cepsql.spark.sources.file_lists import is_plain
from cepsql.spark.sources.late_rows import LateFiles, divert, late_files
from cepsql.spark.sources.plain_scan import scan_plain
from cepsql.spark.sources.source import (
    MALFORMED,
    PRODUCER,
    REACHED,
    SEEN,
    WHOLE,
    columns_sql,
    observe_source,
    read_source,
    single_changes,
    without_marks,
)
from cepsql.spark.sources.tables_at_rest.snapshots import snapshot_rows
from cepsql.spark.sources.time_marks import with_time_marks
from cepsql.spark.stages.stage_registry import OPERATORS
from cepsql.spark.stages.upserts import with_moves
from cepsql.spark.staging.bounds import BOUND, with_match_watermark
from cepsql.spark.staging.observations import BELOW_MATCH, PART
from cepsql.spark.staging.spark_stage import Feed, packets_of_stage
from cepsql.spark.staging.stage_rows import OutputPackets, StageRows, arrow_session
from cepsql.spark.staging.staged import Staged, given_rows, run_staged, staged_rows

MATCH_OBSERVATION = "cepsql_match"
"""The prefix of the observations of match operators."""

SOURCE_OBSERVATION = "cepsql_source"
"""The prefix of the observations of plain streams."""

ARROW = "\0arrow"
"""The reader of rows that are read without a Spark frame."""

_numbers = itertools.count()


def build(spark: SparkSession, plan: Plan, options: FrameOptions) -> DataFrame:
    """Return the DataFrame of a plan: streaming if the plan is.

    Raises OperationalError, ProgrammingError and NotSupportedError for what Spark refuses.
    """
    builder = _Builder(spark, plan, options, plan.root)
    try:
        with in_text(plan.text), no_collection():
            return _rows(builder, plan, options)
    except Error:
        raise
    except Exception as failure:
        raise in_words_of_statement(translate_failure(failure), failure, plan.root, plan.text) from failure


def _rows(builder: "_Builder", plan: Plan, options: FrameOptions) -> DataFrame:
    """Return the rows of a plan, made by Arrow where it can."""
    by_spark, writer = options.by_spark, options.writer
    scanned = None if by_spark is None else _scanned_plain(builder, plan, by_spark, writer)
    if scanned is not None:
        return scanned
    frame = builder.side_by_side(plan) if plan.parts else builder.frame(plan.root)
    rows = builder.stage_rows(frame)
    frame = frame if plan.parts else _named(frame, plan.names)
    _check_times(frame, builder.untimed)
    _check_clocks(frame, builder.clocked)
    frame = _scanned_plain(builder, plan, frame, writer) or frame
    frame = (None if rows is None else finished_rows(rows, frame, writer)) or made(frame)
    if frame.isStreaming and has_list_aggregates(frame) and not is_chain(frame):
        builder.aggregate = without_lists
        check_streaming(builder.side_by_side(plan) if plan.parts else builder.frame(plan.root))
    return frame


def _scanned_plain(builder: "_Builder", plan: Plan, frame: DataFrame, writer: str | None) -> DataFrame | None:
    """Return the rows of a plan without operators, read with Arrow, None if Spark has to; `frame` has its rows."""
    if builder.scan == SPARK_SCAN or builder.joined is not None:
        return None
    choice = choose_plain_scan(plan.root, scan_session(builder.spark), frame_columns(frame))
    return None if choice is None else builder.plain_rows(choice, frame.schema, writer)


def _named(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return a frame whose columns have the query's names: planning puts some names in lower case."""
    columns = frame.columns
    if _alike_names(columns) is not None:
        # A case-sensitive session keeps the names as they are.
        return frame
    display_names = [name if name.lower() == own.lower() else own for name, own in zip(names, columns, strict=False)]
    display_names += columns[len(display_names) :]
    return frame if display_names == columns else frame.toDF(*display_names)


def _alike_names(names: Sequence[str]) -> tuple[str, str] | None:
    """Return two names that differ only in case, or None."""
    seen: dict[str, str] = {}
    pairs = ((seen.setdefault(name.lower(), name), name) for name in names)
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def match_feeds(
    spark: SparkSession, plan: Plan, match: MatchPlan, replaced: dict[str, DataFrame] | None = None
) -> list[Feed]:
    """Return the inputs of a match of a plan, unless it reads another match; arguments and errors as for `build`.

    Their frames have columns with equal names and types. Late rows are not written.
    """
    node = next(n for n in plan.stages if n.searches(match))
    builder = _Builder(spark, plan, FrameOptions(replaced=replaced or {}, write_late=False))
    frames = builder.inputs(node)
    return builder.feeds(node, frames) if node.properties.streaming else [Feed(frame, 0) for frame in frames]


def stage_of_match(spark: SparkSession, plan: Plan, match: MatchPlan, sharing: Sharing) -> tuple[Staged, int]:
    """Return the stage that runs a match of a plan over streams, and its number, counted from the last stage.

    sharing: as for `build`.
    Raises NotSupportedError if several stages run the match.
    """
    builder = _Builder(spark, plan, FrameOptions(write_late=False, sharing=sharing))
    builder.frame(plan.root)
    stages = [
        (staged, number)
        for number, staged in enumerate(builder.stages(plan.root))
        if staged is not None and any(n.searches(match) for n in staged.nodes)
    ]
    if len(stages) > 1:
        raise NotSupportedError(
            "EXPLAIN MATCH of what a query holds that reads the same matches twice is not supported"
        )
    return stages[0]


def _check_times(frame: DataFrame, untimed: list[Source | Registered]) -> None:
    """Refuse Spark's stateful operators over streams whose event time Spark can't use."""
    if not untimed or not _spark_keeps_state(frame):
        return
    relation = untimed[0]
    assert relation.watermark is not None
    time = next(c for c in relation.columns if c.name.lower() == relation.watermark.column.lower())
    raise NotSupportedError(
        f"windows, groups and joins of {relation.name} are not supported, whose event time {time.name} is "
        f"{time.type.upper()} and not TIMESTAMP",
        hint=f"declare a computed column, such as at TIMESTAMP AS CAST({time.name} AS TIMESTAMP), with the watermark",
    )


def _check_clocks(frame: DataFrame, clocked: list[Source | Registered]) -> None:
    """Refuse Spark's stateful operators over streams whose watermark has clauses that only our operators support."""
    if clocked and _spark_keeps_state(frame):
        stream = clocked[0]
        assert stream.watermark is not None
        raise NotSupportedError(
            f"{_untold(stream.watermark)} of {stream.name} does not reach the windows, groups, joins and DISTINCT that "
            "Spark computes",
            hint="cepsql computes windows of one length whose aggregates do not read their bounds, DISTINCT with "
            "EMIT CHANGES, and DEDUPLICATE",
        )


def _untold(mark: Watermark) -> str | None:
    """Return the clause of a watermark that Spark's operators do not support, or None."""
    clauses = {"WITH HEARTBEAT": mark.heartbeat, "BY": mark.producer, "WITH PUNCTUATION": mark.punctuation}
    return next((words for words, clause in clauses.items() if clause is not None), None)


def _spark_keeps_state(frame: DataFrame) -> bool:
    return any(keeps_state(node) and not is_match(node) for node in nodes(analyzed(frame)))


class _Builder:
    """Builds one query; a relation that the query names several times is read once."""

    def __init__(self, spark: SparkSession, plan: Plan, options: FrameOptions, root: Node | None = None):
        """Build for a plan; `root`: the node that is built, None: parts, whose inputs have no numbers."""
        self.spark, self.streaming, self.text = spark, plan.streaming, plan.text
        self.control, self.buckets, self.limits = options.control, options.buckets, options.limits
        self.scan, self.files, self.folders = options.scan, options.files, options.folders
        self.expired = options.expired or EXPIRED_ROWS
        self.observed = {} if options.observed is None else options.observed
        self.sharing = options.sharing or Sharing()
        self.replaced = {name.lower(): frame for name, frame in options.replaced.items()}
        self.write_late = options.write_late
        self.positions, self.ends_at_once = options.positions, options.ends_at_once
        self.aggregate = with_aggregates
        self.untimed: list[Source | Registered] = []
        self.clocked: list[Source | Registered] = []
        self._built: dict[int, Staged] = {}
        # Operators over changes by identity: their flows, and those that run with others or must not.
        self._flows: dict[int, StagedFlow] = {}
        self._inside: set[int] = set()
        self._apart: set[int] = set()
        # While an operator's input is built: whether only types are needed, and the nodes built so.
        self._in_task = False
        self._typed_only: list[Ordered] = []
        self._readings = itertools.count()
        self._several = root is not None and _reads_several(root)
        self._streams = [relation.name for relation in reads(root)] if root is not None else []
        self._labels: dict[tuple[int, int], str] = {}
        # With the frame, so that no other frame gets its id.
        self._stage_rows: dict[int, tuple[DataFrame, StageRows]] = {}
        self._choices: dict[int, list[Choice[ArrowScan] | None]] = {}
        self.joined = joined_stream(root) if root is not None and options.scan != SPARK_SCAN else None
        self._part: int | None = None
        self._shared: dict[Source, DataFrame] = {}

    def side_by_side(self, plan: Plan) -> DataFrame:
        """Build the plan of a group of views, which all read the same rows of a stream in each micro-batch."""
        frames = []
        for self._part, (part, root) in enumerate(zip(plan.parts, part_roots(plan), strict=True)):
            frames.append(_named(self.frame(root), part.names))
        return side_by_side(frames)

    def frame(
        self,
        node: Node,
        reader: str | None = None,
        over: exp.Query | None = None,
        timed: bool = True,
        placed: bool = False,
        seen: bool = False,
    ) -> DataFrame:
        """Build a node.

        reader: the label of the input of an ordered operator over a stream that reads and counts the rows, "" if its
                inputs have no labels; None: no ordered operator; ARROW: the input is read without Spark, and only the
                names and types of the columns matter.
        over:   the only query that reads the rows of the node, so that an operator may apply its WHERE; or None.
        timed:  whether the operator that reads the rows uses their event time.
        placed: whether the rows have ORIGIN and PLACE of `cepsql.analysis.sql.properties`, if their source is ordered.
        seen:   whether the rows have SEEN.
        """
        match node:
            case Read(relation) if reader == ARROW:
                columns = declared_columns(relation) if isinstance(relation, Source) else None
                if columns is not None:
                    return typed_frame(self.spark, columns)
                return self._typed("SELECT * FROM source", {"source": relation})
            case Read():
                return self._relation(node, reader, timed, placed, seen)
            case Sql():
                return self._sql(node, reader, timed, placed, seen)
            case Ordered() if not node.properties.streaming:
                table = OPERATORS[type(node)].table
                assert table is not None
                return table(node, self.inputs(node)[0], self)
            case Ordered():
                return self._staged_rows(node, node.markers, over)
            case LabelledChanges(_, below):
                return self._labelled(self.frame(below))
            case AddedRows(_, below):
                return added_rows(self.frame(below), self.control)
            case SparkWatermark(below):
                return with_match_watermark(self.frame(below), below.properties.event_time)

    @cached_property
    def _arrow(self) -> Session | None:
        """The rules of the session, None if Arrow can't follow them."""
        return arrow_session(self.spark)

    @property
    def expired_of_bucket(self) -> int:
        """The maximum number of rows that expire in a bucket in one micro-batch."""
        return -(-self.expired // (self.buckets or session_buckets(self.spark)).count)

    def _staged_rows(self, node: Ordered, markers: bool = False, over: exp.Query | None = None) -> DataFrame:
        """Return the rows of an operator over streams."""
        if isinstance(node, ChangeOperator) and self.sharing.tasks:
            return self._changes(node, markers)
        staged = self.staged(node)
        if over is not None:
            staged = with_filter(staged, over)
        observation = self._observed(node, staged)
        stage = run_staged(staged, observation, self.buckets, self.folders, self.control)
        rows = staged_rows(staged, stage, markers)
        return rows if staged.gathered is not None else self._with_stage_rows(rows, given_rows(staged, stage))

    def _changes(self, node: ChangeOperator, markers: bool) -> DataFrame:
        """Return the rows of an operator over changes, only their types if they are read in its task."""
        in_task = self._in_task and id(node) not in self._apart
        flow = self._flow(node)
        gathered = flow.staged.gathered is not None
        if in_task and not gathered:
            self._typed_only.append(node)
            return self._with_stage_rows(
                typed_rows(flow.staged, markers, self._arrow), given_rows(flow.staged, None, node)
            )
        # A view that is read twice runs twice.
        flow = replace(flow, observation=self._observed(node, flow.staged))
        if flow.below:
            buckets = self.buckets or session_buckets(self.spark)
            stage = run_flow(flow, buckets, self.folders, self.control, self.sharing)
        else:
            stage = run_staged(flow.staged, flow.observation, self.buckets, self.folders, self.control)
        if gathered:
            return staged_rows(flow.staged, stage, markers)
        frame = typed_rows(flow.staged, markers, self._arrow, partial(staged_rows, flow.staged, stage, markers))
        return self._with_stage_rows(frame, given_rows(flow.staged, stage))

    def _observed(self, node: Ordered, staged: Staged) -> str:
        """Return the name of a stage's observation."""
        observation = self._observation()
        self.observed[observation] = tuple(each.properties.name for each in staged.nodes or (node,))
        return observation

    def _flow(self, node: ChangeOperator) -> StagedFlow:
        """Return an operator over changes, and those below it that run in its task."""
        if id(node) in self._flows:
            return self._flows[id(node)]
        staged = self.staged(node)
        below: dict[int, tuple[StagedFlow, OutputPackets]] = {}
        apart = []
        for number, feed in enumerate(staged.feeds):
            read = None if feed.rows is None else feed.rows.node
            if read is None:
                continue
            packets = packets_of_stage(staged.operator, feed)
            if self.sharing.in_task(packets is not None) and packets is not None:
                below[number] = self._flows[id(read)], packets
                self._inside.add(id(read))
            else:
                apart.append(read)
        if apart:
            self._apart |= set(map(id, apart))
            staged = self.staged(node)
        self._flows[id(node)] = StagedFlow(staged, self._observed(node, staged), below)
        return self._flows[id(node)]

    def _labelled(self, changes: DataFrame) -> DataFrame:
        rows = self.stage_rows(changes)
        if rows is None:
            return labelled_changes(changes)
        labelled = typed_frame(self.spark, labelled_fields(changes), partial(labelled_changes, changes))
        return self._with_stage_rows(labelled, rows.with_operations())

    def _with_stage_rows(self, frame: DataFrame, rows: StageRows) -> DataFrame:
        """Record that a frame has the rows of a stage; return the frame."""
        self._stage_rows[id(frame)] = frame, rows
        return frame

    def stage_rows(self, frame: DataFrame) -> StageRows | None:
        """Return the stage rows of a frame that was built, None if its rows are not those of a stage."""
        _, rows = self._stage_rows.get(id(frame), (None, None))
        return rows

    def inputs(self, node: Ordered) -> list[DataFrame]:
        """Return the rows of an operator, by input, with equal types if they are united."""
        frames = self._rows(node)
        return alike(frames) if node.united and len(frames) > 1 else frames

    def _rows(self, node: Ordered) -> list[DataFrame]:
        """Return the rows of each input; those directly from a source keep the mark of malformed rows for counting."""
        frames = []
        for number, below in enumerate(node.inputs):
            self._refuse_capitals(column.name for relation in reads(below) for column in relation.columns)
            if node.properties.streaming and self._arrow_scan(node, number) is not None:
                frames.append(self.frame(below, ARROW))
            elif isinstance(below, Read):
                placed = node.by_arrival(number)
                frames.append(self._events(below.relation, node.reads_versions(number), placed))
            elif not node.properties.streaming:
                frames.append(self._bounded_rows(below))
            else:
                frames.append(self._input(node, number))
            self._refuse_capitals(frames[-1].columns)
        return frames

    def _input(self, node: Ordered, number: int) -> DataFrame:
        """Return the rows of an input of an operator over streams, only their types if they arrive in its task."""
        below, label = node.inputs[number], self._label(node, number)
        rows_of = partial(
            self.frame, below, label, timed=node.timed, placed=node.by_arrival(number), seen=self._is_seen(node)
        )
        before = self._in_task, self._typed_only
        self._in_task, self._typed_only = isinstance(node, ChangeOperator) and self.sharing.tasks, []
        try:
            frame = rows_of()
            rows = self.stage_rows(frame)
            if self._typed_only and (rows is None or rows.node is None):
                # Spark needs their rows, not only types.
                self._apart |= set(map(id, self._typed_only))
                frame = rows_of()
        finally:
            self._in_task, self._typed_only = before
        return frame

    def _bounded_rows(self, node: Node) -> DataFrame:
        """Return the rows of a bounded input; rows of a UNION ALL have their branch, as in streams."""
        if not any(isinstance(relation, Source) for relation in reads(node)):
            return self.frame(node)
        branches = input_branches(node)
        frames = [self.frame(branch, placed=True) for branch in branches]
        if len(branches) == 1:
            return frames[0]
        if not any(ORIGIN in frame.columns for frame in frames):
            return self.frame(node)
        return reduce(DataFrame.unionByName, map(_of_branch, itertools.count(), alike(frames)))

    def _refuse_capitals(self, names: Iterable[str]) -> None:
        """Raise NotSupportedError for names that an operator would not find in a case-sensitive session."""
        capital = next((name for name in names if name != name.lower()), None)
        if capital is not None and setting(self.spark, "spark.sql.caseSensitive") == "true":
            said = f"this session tells capital from small letters, operators do not: they would not find {capital}"
            raise NotSupportedError(said, hint="SET spark.sql.caseSensitive = false")

    def _label(self, node: Ordered, number: int) -> str:
        """Return the name of an input in progress: the name of its stream, with a number if the query reads it again.

        A query that reads one stream once needs no names, and input from another operator is not counted."""
        below = node.inputs[number]
        if not self._several or below.properties.ordered:
            return ""
        if (id(node), number) not in self._labels:
            name = next((relation.name for relation in reads(below) if relation.streaming), "")
            free = name
            if free in self._labels.values():
                taken = {*self._labels.values(), *self._streams}
                free = next(label for n in itertools.count(2) if (label := f"{name} {n}") not in taken)
            self._labels[id(node), number] = free
        return self._labels[id(node), number]

    def staged(self, node: Ordered) -> Staged:
        """Return the staged operator over streams, together with the operator below it if they share a stage."""
        run = OPERATORS[type(node)]
        frames = self.inputs(node) if run.rows is None else run.rows(node, self)
        alone = run.stage(node, self.feeds(node, frames), self)
        # The end of the input is a packet that comes to it.
        alone = replace(alone, is_begun=self.ends_at_once and any(feed.control is not None for feed in alone.feeds))
        if not run.shares:
            return alone
        alone = replace(alone, nodes=(node,))
        # The operator below has just been built.
        staged = self.sharing.staged(self.spark, node, self._built.get(id(neighbour(node))), alone)
        self._built[id(node)] = staged
        return staged

    def stages(self, node: Node) -> Iterator[Staged | None]:
        """Yield the stages up to a node that was built, in Spark's order; None for stages not made by `staged`."""
        staged = self._built.get(id(node))
        if isinstance(node, Ordered) and id(node) not in self._inside:
            yield staged
        for below in inputs(node if staged is None else staged.nodes[0]):
            yield from self.stages(below)

    def feeds(self, node: Ordered, frames: list[DataFrame]) -> list[Feed]:
        """Return the inputs of an operator over streams, with these frames as rows."""
        return [self._feed(node, number, frame) for number, frame in enumerate(frames)]

    def _feed(self, node: Ordered, number: int, frame: DataFrame) -> Feed:
        name = self._label(node, number)
        below, side, untimed = node.inputs[number], node.side_of(number), not node.goes_by_time(number)
        if below.properties.ordered:
            chained = node.chained and BOUND in frame.columns
            return Feed(frame, 0, side, name=name, inner=not chained, rows=self.stage_rows(frame), untimed=untimed)
        # One control folder ends all inputs, so only one input reads it.
        first = next(i for i, part in enumerate(node.inputs) if not part.properties.ordered)
        control = self.control if number == first else None
        late = self._late_files(below, frame)
        source_scan, reader, keys, seen = self._arrow_scan(node, number), None, None, self._is_seen(node)
        if source_scan is not None:
            source, scan = source_scan
            scan = scan.with_seen() if seen else scan
            listed_along = self.ends_at_once and self.control is not None and is_plain(self.control)
            reader = SourceScan(self.spark, source, scan, listed_along)
            if node.compares:
                keys = scan.projection.key_types
        mark = below.properties.watermark
        delay = mark.delay if mark is not None else 0
        marks = [relation.watermark for relation in reads(below) if relation.streaming]
        source_mark = next((one for one in marks if one is not None), Watermark("", 0))
        return Feed(
            frame,
            source_mark.delay if seen else delay,
            side,
            control,
            late,
            reader,
            name,
            heartbeat=source_mark.heartbeat,
            idle=source_mark.idle,
            keys=keys,
            untimed=untimed,
            seen=seen,
        )

    def _is_seen(self, node: Ordered) -> bool:
        """Tell whether the rows of an operator's inputs have SEEN."""
        if not self.positions or not node.counts_at_once:
            return False
        return all(self._tells_time(node, number) for number in range(len(node.inputs)))

    def _tells_time(self, node: Ordered, number: int) -> bool:
        below, source_scan = node.inputs[number], self._arrow_scan(node, number)
        marks = [relation.watermark for relation in reads(below) if relation.streaming]
        if below.properties.ordered or len(marks) != 1 or (source_scan is not None and source_scan[1].time is None):
            return False
        # With BY, every producer must have reached the time.
        return marks[0] is not None and marks[0].producer is None and _lets_through(below)

    def _observation(self) -> str:
        part = "" if self._part is None else f"{PART}{self._part}"
        return f"{MATCH_OBSERVATION}_{next(_numbers)}{part}"

    def plain_rows(self, choice: Choice[PlainScan], schema: StructType, writer: str | None = None) -> DataFrame:
        """Return the rows of a plan without operators, or of a stream, read with Arrow; `schema` is Spark's."""
        source, scan = _chosen(choice)
        observation = f"{SOURCE_OBSERVATION}_{next(_numbers)}"
        return scan_plain(self.spark, source, scan, schema, observation, self.control, writer)

    def _joined_rows(self, source: Source, names: Sequence[str]) -> DataFrame:
        """Return columns of a stream, read with Arrow, for a join with tables."""
        columns = self._typed(f"SELECT {', '.join(map(quoted, names))} FROM source", {"source": source})
        return self.plain_rows(choose_column_scan(source, names, scan_session(self.spark)), columns.schema)

    def _arrow_scan(self, node: Ordered, number: int) -> tuple[Source, ArrowScan] | None:
        """Return the source and the Arrow scan of an input, None if Spark has to read it."""
        if self.scan == SPARK_SCAN or node.inputs[number].properties.ordered:
            return None
        if id(node) not in self._choices:
            session = scan_session(self.spark) if self._arrow is None else self._arrow
            self._choices[id(node)] = choose_scans(node, session)
        choice = self._choices[id(node)][number]
        assert choice is not None
        return _chosen(choice)

    def _late_files(self, node: Node, frame: DataFrame) -> LateFiles | None:
        """Return where the late rows of the stream that a node reads are written; frame: the node's rows."""
        if WHOLE not in frame.columns or not self.write_late:
            return None
        files = next((files for files in map(late_files, reads(node)) if files is not None), None)
        # The number comes from the plan, so a repeated batch writes files of the same names.
        return None if files is None else replace(files, reading=next(self._readings))

    def _sql(self, node: Sql, reader: str | None, timed: bool, placed: bool, seen: bool) -> DataFrame:
        """Run plain SQL over its inputs, each under a temporary view with a unique name.

        A stream that the query names twice is read twice, and its rows count twice.
        Below a match, hidden columns of a stream pass through, such as `__whole` if it has a table of late rows, and
        so does its punctuation.
        """
        query = node.query
        if (self.streaming or placed) and query.find(exp.With):
            query = inline_ctes(query)
        placed = placed and keeps_arrival(query)
        query = with_places(query)
        asked = any(column.name == ORIGIN for column in query.find_all(exp.Column))
        views: dict[str, list[str]] = {}
        frames: dict[str, DataFrame] = {}
        sources: dict[str, Relation] = {}
        punctuated = False
        for table in catalog_tables(query):
            name = table_name(table)
            views.setdefault(name, []).append(f"__cepsql_{next(_numbers)}")
            if reader == ARROW:
                (sources[views[name][-1]],) = reads(node.inputs[name])
                continue
            below = node.inputs[name]
            frame = self.frame(below, reader, query, timed, placed or (asked and not below.properties.streaming), seen)
            if asked and not below.properties.streaming and ORIGIN not in frame.columns:
                frame = frame.selectExpr("*", f"CAST(NULL AS STRUCT<rank: BIGINT>) AS {ORIGIN}", f"0L AS {PLACE}")
            if REACHED in frame.columns:
                query, frame = (
                    carry_markers(query, {name}, "over a stream WITH PUNCTUATION"),
                    frame.withColumnRenamed(REACHED, BOUND),
                )
                punctuated = True
            for hidden in (WHOLE, PRODUCER, SEEN, *((ORIGIN, PLACE) if placed else ())):
                if hidden in frame.columns:
                    query = carry_column(query, name, hidden)
            frames[views[name][-1]] = frame
        unused = {name: iter(names) for name, names in views.items()}
        query = with_bounds_of_one_type(query)
        columns = self._passed(query, [*sources.values(), *frames.values()])
        if node.written is not None and query is node.query:
            sql = node.written.sql(lambda name: next(unused[name]))
        else:
            refuse_misread(TreeNodes(query), self.text)
            sql = sql_of(flatten_names(query, lambda name: next(unused[name])))
        make = partial(self._typed, sql, sources) if sources else partial(frame_sql, self.spark, sql, frames)
        if columns is None:
            output = make()
        else:
            has_rows = any(frame.isStreaming for frame in frames.values())
            output = typed_frame(self.spark, columns, make if has_rows else None)
        if punctuated:
            return output.withColumnRenamed(BOUND, REACHED)
        rows = self.stage_rows(*frames.values()) if len(frames) == 1 else None
        selected = None if rows is None else rows.under(query)
        return output if selected is None else self._with_stage_rows(output, selected)

    def _passed(self, query: exp.Query, tables: Sequence[object]) -> list[StructField] | None:
        """Return the columns of a query that only passes on those of one table; None if only Spark can tell the types.

        tables: what the query reads: sources and frames.
        """
        session, columns = self._arrow, None
        if len(tables) == 1 and isinstance(tables[0], Source):
            columns = declared_columns(tables[0])
        elif len(tables) == 1 and isinstance(tables[0], TypedFrame):
            columns = tables[0].schema.fields
        if session is None or columns is None:
            return None
        return passed_columns(with_short_identities(query), columns, session)

    def _relation(self, read: Read, reader: str | None, timed: bool, placed: bool, seen: bool) -> DataFrame:
        """Return a relation for plain SQL, without rejected rows, which are counted, and with Spark's watermark."""
        relation = read.relation
        if relation.streaming and self.joined is not None:
            return self._joined_rows(*self.joined)
        frame = self._events(relation, placed=placed)
        if seen and relation.streaming and relation.watermark is not None:
            frame = frame.selectExpr("*", f"{event_time(frame, quoted(relation.watermark.column))} AS {SEEN}")
        if not relation.streaming:
            return without_marks(frame)
        name = f"{SOURCE_OBSERVATION if reader is None else BELOW_MATCH}_{next(_numbers)}"
        if reader:
            name = f"{name} {reader}"
        files = self._late_files(read, frame)
        frame = observe_source(frame, name) if files is None else divert(frame, name, files)
        if reader is not None:
            # Without event time, no row is late, and no producer is behind.
            return frame if timed else frame.drop(WHOLE, PRODUCER)
        if REACHED in frame.columns:
            frame = frame.where(f"{REACHED} IS NULL")
        frame = frame.drop(WHOLE, PRODUCER, REACHED)
        if relation.watermark is None:
            return frame
        if _untold(relation.watermark) is not None:
            self.clocked.append(relation)
        if not isinstance(column_type(frame, relation.watermark.column), TimestampType):
            self.untimed.append(relation)
            return frame
        return with_watermark(frame, relation.watermark, self.control)

    def _typed(self, text: str, relations: Mapping[str, Relation]) -> DataFrame:
        """Return a frame without rows that has the columns of a statement over sources, by name."""
        ctes = [f"{name} AS ({columns_sql(one)})" for name, one in relations.items() if isinstance(one, Source)]
        add_bloom_functions(self.spark, text)
        return self.spark.sql(f"WITH {', '.join(ctes)} SELECT * FROM ({text})")

    def _events(self, relation: Source | Registered, versions: bool = False, placed: bool = False) -> DataFrame:
        """Return the rows of a relation as independent events.

        versions: a change of a row's key becomes two rows, because the version under the former key ends.
        placed:   as of `frame`.
        """
        frame = self.read(relation, placed)
        if not isinstance(relation, Source) or not relation.key:
            return frame
        return single_changes(relation, with_moves(relation, frame) if versions else frame, versions)

    def read(self, relation: Source | Registered, placed: bool = False) -> DataFrame:
        """Return the rows of a relation; `placed` as of `frame`."""
        frame = self._source_rows(relation, placed)
        if isinstance(relation, Registered):
            return frame
        if relation.streaming and relation.watermark is not None and self.streaming:
            return with_time_marks(frame, relation.watermark)
        if self.streaming or MALFORMED not in frame.columns:
            return frame
        # The progress of a stream would count the rows of a bounded table again in every batch.
        return frame.observe(f"{SOURCE_OBSERVATION}_{next(_numbers)}", F.count_if(MALFORMED).alias("malformed"))

    def _source_rows(self, relation: Source | Registered, placed: bool) -> DataFrame:
        replaced = self.replaced.get(relation.name.lower())
        if isinstance(relation, Registered):
            return relation.frame if replaced is None else replaced
        if self.files is not None and relation.refresh is not None:
            return snapshot_rows(self.spark, self.files, relation)
        if replaced is None and relation.streaming and self._part is not None:
            rows = self._shared_rows(relation, placed)
        elif replaced is None:
            rows = read_source(self.spark, relation, placed, self.control or "")
        else:
            rows = replaced if placed else replaced.drop(ORIGIN, PLACE)
        if self.files is None or relation.backfill is None:
            return rows
        return with_history(self.spark, rows, relation, self.files)

    def _shared_rows(self, stream: Source, placed: bool) -> DataFrame:
        """Return the rows of a stream from the one source that all views of a group share: two sources could list
        different files for one micro-batch."""
        if stream not in self._shared:
            self._shared[stream] = read_source(self.spark, stream, True, self.control or "")
        return self._shared[stream] if placed else self._shared[stream].drop(ORIGIN, PLACE)


def _chosen(choice: Choice[ScanT]) -> tuple[Source, ScanT]:
    if choice.scan is None or choice.source is None:
        raise OperationalError(
            f"the checkpoint was begun with the Arrow scan, which cannot go on: {choice.reason}",
            hint="start with a new checkpoint and replay the input",
        )
    return choice.source, choice.scan


def _lets_through(node: Node) -> bool:
    """Tell whether plain SQL passes on a hidden column of the stream that it reads."""
    if not isinstance(node, Sql) or not node.properties.streaming:
        return True
    query = inline_ctes(node.query) if node.query.find(exp.With) else node.query
    streams = [name for name, below in node.inputs.items() if below.properties.streaming]
    carried = [answer(partial(carry_column, query, name, SEEN), NotSupportedError) for name in streams]
    return not any(isinstance(one, Error) for one in carried) and all(map(_lets_through, node.inputs.values()))


def _of_branch(number: int, frame: DataFrame) -> DataFrame:
    """Return the rows of a branch of a UNION ALL, with the branch number first in ORIGIN, if they have ORIGIN."""
    names, plain = frame.columns, [name for name in frame.columns if name not in (ORIGIN, PLACE)]
    kind = "STRUCT<branch: INT, rank: BIGINT, name: STRING, part: BIGINT>"
    origin = f"struct({number} AS branch, {ORIGIN}.*)" if ORIGIN in names else "NULL"
    place = PLACE if PLACE in names else "NULL"
    columns = [*map(quoted, plain), f"CAST({origin} AS {kind}) AS {ORIGIN}", f"CAST({place} AS BIGINT) AS {PLACE}"]
    return frame.selectExpr(*columns)


def _reads_several(root: Node) -> bool:
    """Tell whether ordered operators read streams in more than one place."""
    below = [part for node in walk(root) if isinstance(node, Ordered) for part in node.inputs]
    return sum(part.properties.streaming and not part.properties.ordered for part in below) > 1
