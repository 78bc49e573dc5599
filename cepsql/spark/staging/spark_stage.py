"""Any operator as a stage of a Spark query: its inputs are packed, and each bucket of keys is advanced on its own."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import StructType

from cepsql.errors import OperationalError
from cepsql.operators.windowing.windows import REPEATED
from cepsql.ordered.counts import COUNTS, Counts, Tally
from cepsql.ordered.fused import own_name
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.ordered.operator import Operator
from cepsql.ordered.packet import PACKET_DDL
from cepsql.ordered.row_layout import AT_ONCE, BEGINNING, END_OF_TIME, UNTIMED, RowLayout
from cepsql.ordered.stage import Advanced, Stage, StageInput, advance
from cepsql.spark.checkpoint.control import control_times
from cepsql.spark.checkpoint.operator_progress import GIVEN_OUT, MICROS, TAKEN
from cepsql.spark.frames.arrival_columns import with_origins, with_placed_columns
from cepsql.spark.frames.arrow_rows import plain_types, refuse_months
from cepsql.spark.frames.buckets import Buckets, balanced_buckets, session_buckets
from cepsql.spark.frames.column_types import struct_of
from cepsql.spark.frames.operator_rows import layout_columns, refuse_collations, typed_columns
from cepsql.spark.frames.packet_files import Packing, fetched
from cepsql.spark.frames.worker import settle
from cepsql.spark.sources.late_rows import LateFiles, write_rejected
from cepsql.spark.sources.source import AHEAD, MALFORMED, PRODUCER, REACHED, SEEN, WHOLE
from cepsql.spark.staging.bounds import BOUND
from cepsql.spark.staging.observations import INPUT_COUNTS, OBSERVATION, SAID
from cepsql.spark.staging.stage_rows import OutputPackets, StageRows, packets_of, with_changes
from cepsql.spark.staging.task_folders import NO_FOLDERS, TaskFolders

if TYPE_CHECKING:
    import pandas as pd

PLACE = "place"
"""The name of a BIGINT column of a layout that gets the place of a row among those of its task."""

_ADVANCED_DDL = "said STRING, bound BIGINT, output BINARY"
_STATE_DDL = "state BINARY"
_MAX_OUTPUT_BYTES = 32 * 2**20

_MARKS = {
    MALFORMED: "malformed", AHEAD: "ahead", PRODUCER: "producer", REACHED: "reached", BOUND: "bound",
    REPEATED: "repeated", SEEN: "seen",
}  # fmt: skip
"""What the columns are called in packets that mark rows."""


@dataclass(frozen=True)
class Feed:
    """An input of a stage.

    frame:   its rows. The BOOLEAN columns MALFORMED and AHEAD mark rows that are only counted, REACHED those that only
             say how far the frame is; with PRODUCER the slowest producer does. A column BOUND marks rows that
             say how far the frame is; then `delay` must be 0.
    delay:   how many microseconds rows may come after later ones.
    side:    which relation of the operator they belong to.
    control: folder in which `cepsql.spark.checkpoint.control` ends the input and gives heartbeats; None: neither
             happens. One feed that is not chained is enough for all that are not.
    late:    where rows that are not used are written; the frame then has `__whole`.
    read:    makes the packets without Spark's rows, of which only the types are then used, and of the control folder.
    name:    what its counts are shown under, if the stage has several inputs; different for each.
    heartbeat, idle, seen: as in `StageInput`.
    inner:   the rows come from another stage, without BOUND.
    keys:    the types of the keys that `read` gives, to be compared with those of the frame; None: they need not be.
    rows:    the frame's, as another stage gives them out; None: they come from elsewhere, or Spark makes them.
    untimed: as in `StageInput`.
    """

    frame: DataFrame
    delay: int
    side: int = 0
    control: str | None = None
    late: LateFiles | None = None
    read: Callable[[str | None, Packing], DataFrame] | None = None
    name: str = ""
    heartbeat: int | None = None
    inner: bool = False
    idle: int | None = None
    keys: tuple[pa.DataType, ...] | None = None
    rows: StageRows | None = None
    untimed: bool = False
    seen: bool = False

    @property
    def chained(self) -> bool:
        """Whether the rows come from another stage."""
        return self.inner or BOUND in self.frame.columns

    @property
    def input(self) -> StageInput:
        """What the stage knows of it."""
        by_producer = PRODUCER in self.frame.columns
        clock = (self.heartbeat, by_producer, self.idle)
        return StageInput(self.delay, self.side, self.chained, self.name, *clock, self.untimed, self.seen)


@dataclass(frozen=True)
class StageOptions:
    """How a stage runs.

    buckets:  how keys are spread, the same for the life of a checkpoint; default `session_buckets`.
    lateness: as of `cepsql.ordered.stage.Stage`.
    folders:  what its tasks write into.
    begins:   as of `cepsql.spark.staging.staged.Staged`.
    begin:    further packets, with which a bucket runs before any row came (`cepsql.spark.checkpoint.begin`).
    endless:  as of `cepsql.ordered.stage.Stage`.
    """

    buckets: Buckets | None = None
    lateness: int | None = None
    folders: TaskFolders = NO_FOLDERS
    begins: bool = False
    begin: DataFrame | None = None
    endless: bool = False


def run_stage(
    operator: Operator,
    feeds: Sequence[Feed],
    identity: str,
    observation: str,
    options: StageOptions = StageOptions(),
) -> DataFrame:
    """Return what an operator makes of streams: `output`, rows as Arrow IPC or NULL, and `bound` BIGINT, the event time
    in microseconds up to which rows were released.

    identity:    of the query; a state that was written under another one is refused.
    observation: name under which each batch's progress shows what its buckets said, each in a text of its own, which
                 `cepsql.spark.run.progress_watch.gathered` puts together: `observed_counts`, the `bound`, and what is
                 held: `STANDING`. The name of a single input follows it.
    """
    begin = options.begin
    buckets = options.buckets or session_buckets(feeds[0].frame.sparkSession)
    # Another bucket, to which empty packets go, too, would begin as well.
    count = 1 if options.begins else buckets.count
    packings = [Packing(count, i, folder=options.folders.packets) for i in range(len(feeds))]
    packets = [packed(operator, feed, packing) for feed, packing in zip(feeds, packings, strict=True)]
    staged = stage_in_task(operator, feeds, identity, observation, options)
    united = reduce(DataFrame.unionAll, [*packets, *([] if begin is None else [begin])])
    return run_in_buckets(united, partial(_advance, staged, options.folders.state), buckets, staged.observation)


@dataclass(frozen=True)
class StageInTask:
    """A stage with what its tasks must know.

    late:        where rows of each input are written that are not used, as of `Feed`.
    observation: the name under which what it says is shown.
    """

    stage: Stage
    late: tuple[LateFiles | None, ...]
    observation: str

    def said(self, advanced: Advanced, seconds: float) -> str:
        """Return what a bucket says of a batch, which took so many seconds, as SAID tells."""
        return _said(self.stage, advanced, seconds, self.observation)

    def write_rejected(self, advanced: Advanced, bucket: int) -> None:
        """Write the rows that were not used."""
        for files, rejected in zip(self.late, advanced.rejected, strict=True):
            if files is not None and rejected is not None:
                write_rejected(files, rejected, f"bucket-{bucket}")


def stage_in_task(
    operator: Operator, feeds: Sequence[Feed], identity: str, observation: str, options: StageOptions
) -> StageInTask:
    """Return what tasks must know of an operator with its inputs; arguments as of `run_stage`."""
    stage = Stage(operator, tuple(feed.input for feed in feeds), identity, options.lateness, options.endless)
    # The name of a single input follows.
    name = f"{observation} {feeds[0].name}" if len(feeds) == 1 and feeds[0].name else observation
    return StageInTask(stage, tuple(feed.late for feed in feeds), name)


def run_in_buckets(packets: DataFrame, advance: Callable, buckets: Buckets, observation: str) -> DataFrame:
    """Return the `bound` and `output` of buckets.

    packets: `bucket` INT, `packet` BINARY and perhaps more.
    advance: takes one batch of one bucket, as Spark's `applyInPandasWithState` calls it.
    observation: name under which what the buckets say is observed.
    """
    numbers = ", ".join(map(str, balanced_buckets(buckets)))
    others = [name for name in packets.columns if name != "bucket"]
    batches = (
        packets.selectExpr(f"array({numbers})[bucket] AS bucket", *others)
        .groupBy("bucket")
        .applyInPandasWithState(
            advance, struct_of(_ADVANCED_DDL), struct_of(_STATE_DDL), "append", GroupStateTimeout.NoTimeout
        )
    )
    # Every task makes code of each aggregate function that is observed, so there is one.
    said = F.expr(f"collect_list(said) AS {SAID}")
    return batches.observe(observation, said).select("bound", "output")


def stage_rows(stage: DataFrame, schema: StructType) -> DataFrame:
    """Return the rows in the `output` of a stage."""
    return stage.mapInArrow(_unpack, schema)


def observed_counts(stage: Stage, tally: Tally) -> dict[str, int]:
    """Return the numbers that a query's progress gathers.

    The counts of all inputs that are not chained; `timeless`, which is how many rows of operators had no place in the
    order of the next one, for want of an event time; `late_results`, which of them came when the next one had gone on
    without waiting for the first row of an idle stream; and the operators' counters, of two in one stage together.
    Where there are several inputs the counts of each that is not chained, too, under `input0 orders read` and so on.
    """
    pairs = list(zip(stage.inputs, tally.inputs, strict=True))
    totals = asdict(sum((counts for stage_input, counts in pairs if not stage_input.chained), Counts()))
    totals["timeless"] = sum(counts.null_time for stage_input, counts in pairs if stage_input.chained)
    if late := sum(counts.late for stage_input, counts in pairs if stage_input.chained):
        totals["late_results"] = late
    for name, number in tally.counters.items():
        own = own_name(name)
        if own == "null_time":
            totals["timeless"] += number
        elif own not in COUNTS:
            totals[own] = totals.get(own, 0) + number
    if len(pairs) > 1:
        for place, (stage_input, counts) in enumerate(pairs):
            label = f"{INPUT_COUNTS}{place} {stage_input.name or place} "
            if not stage_input.chained:
                totals |= {label + name: getattr(counts, name) for name in COUNTS}
    return totals


def packed(operator: Operator, feed: Feed, packing: Packing) -> DataFrame:
    """Return the rows of an input in packets."""
    packing = input_packing(operator, feed, packing)
    if feed.read is not None:
        return feed.read(feed.control, packing)
    layout, frame = operator.sides[feed.side], feed.frame
    packets = packets_of_stage(operator, feed)
    if packets is not None:
        return packets(packing)
    whole = [f"{WHOLE} AS whole"] if feed.late is not None else []
    columns = [*layout_columns(frame, layout), *_routing(frame, layout, packing.buckets), *whole]
    rows = with_placed_columns(frame, columns) if layout.by_arrival else frame.selectExpr(*columns)
    if feed.control is not None:
        control = control_times(frame.sparkSession, feed.control).selectExpr("t", "0 AS bucket")
        rows = rows.unionByName(control, allowMissingColumns=True)
    refuse_months(rows.schema)
    return rows.mapInArrow(partial(_pack, packing), struct_of(PACKET_DDL))


def input_packing(operator: Operator, feed: Feed, packing: Packing) -> Packing:
    """Return how packets are made of an input; raises NotSupportedError and OperationalError for keys by which rows do
    not meet as they should."""
    layout = operator.sides[feed.side]
    refuse_collations(feed.frame, layout)
    if feed.read is not None:
        _check_keys(layout, feed)
    return reduced(operator, feed, packing)


def reduced(operator: Operator, feed: Feed, packing: Packing) -> Packing:
    """Return how packets are made of an input, without the rows that need not travel."""
    # A late row must be whole in the table of late rows, so none may be left out before.
    return replace(packing, reduction=operator.sides[feed.side].reduction if feed.late is None else None)


def packets_of_stage(operator: Operator, feed: Feed) -> OutputPackets | None:
    """Return how the rows of another stage become packets, None where Spark makes them."""
    if feed.rows is None or not _MARKS.keys() & feed.frame.columns <= {BOUND}:
        return None
    return packets_of(feed.rows, operator.sides[feed.side], feed.frame)


def _check_keys(layout: RowLayout, feed: Feed) -> None:
    """Raise OperationalError if the keys of an input are read with other types than Spark gives them: they would meet
    nobody."""
    if feed.keys is None or not layout.keys:
        return
    keys = typed_columns(feed.frame, ((column.sql, column.name) for column in layout.keys))
    expected = plain_types(keys)
    if feed.keys != expected:
        raise OperationalError(
            f"Arrow reads keys as {', '.join(map(str, feed.keys))}, Spark as {', '.join(map(str, expected))}",
            hint="SET cepsql.scan = 'spark' and start with a new checkpoint",
        )


def _routing(frame: DataFrame, layout: RowLayout, buckets: int) -> list[str]:
    """Return the SQL of the columns that say where a row goes: `bucket`, and marks."""
    keys = ", ".join(f"({column.sql})" for column in layout.keys)
    bucket = f"pmod(hash({keys}), {buckets}) AS bucket" if keys else "0 AS bucket"
    return [bucket, *row_marks(frame)]


def row_marks(frame: DataFrame) -> list[str]:
    """Return the SQL of the marks of rows that a frame has, under the names by which `pack` knows them."""
    return [f"{name} AS {short}" for name, short in _MARKS.items() if name in frame.columns]


def _pack(packing: Packing, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    return packing.packets(_placed(with_origins(batches)))


def _placed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task with their places in the column for them, if they have one."""
    begin = 0
    for batch in batches:
        column = batch.schema.get_field_index(PLACE)
        if column >= 0:
            batch = batch.set_column(column, PLACE, pa.array(range(begin, begin + batch.num_rows), pa.int64()))
        begin += batch.num_rows
        yield batch


def _advance(
    staged: StageInTask,
    folder: StateFolder | None,
    key: tuple,
    frames: Iterator["pd.DataFrame"],
    state: GroupState,
) -> Iterator["pd.DataFrame"]:
    """Take one batch of one bucket."""
    settle()
    began = time.perf_counter()
    packets = (fetched(packet) for frame in frames for packet in frame["packet"])
    advanced = advance(staged.stage, state.get[0] if state.exists else None, packets, folder)
    staged.write_rejected(advanced, key[0])
    state.update((advanced.state,))
    yield from given_out(advanced, [staged.said(advanced, time.perf_counter() - began)])


def given_out(advanced: Advanced | None, said: Sequence[str]) -> Iterator["pd.DataFrame"]:
    """Yield what a bucket gave: as many rows as the size of its output needs, and as what it says."""
    import pandas as pd

    bound, pieces = (BEGINNING, iter(())) if advanced is None else (advanced.bound, _serialized(advanced))
    first = [next(pieces, None), *[None] * (len(said) - 1)]
    yield pd.DataFrame({"said": said, "bound": bound, "output": first})
    for piece in pieces:
        yield pd.DataFrame({"said": [None], "bound": [bound], "output": [piece]})


def _said(stage: Stage, advanced: Advanced, seconds: float, observation: str) -> str:
    """Return what a bucket says of a batch, as JSON: its observation, and numbers by name."""
    counts = observed_counts(stage, advanced.counts)
    held = asdict(advanced.standing) | {"bytes": advanced.size}
    timed = all(side.time != AT_ONCE for side in stage.operator.sides) or advanced.bound == END_OF_TIME
    timed = timed or stage.endless or all(stage_input.seen for stage_input in stage.inputs)
    worked = {TAKEN: advanced.counts.rows.used, GIVEN_OUT: advanced.output.num_rows, MICROS: seconds * 1_000_000}
    numbers = counts | held | worked | {"bound": advanced.bound if timed else UNTIMED}
    whole_numbers = {name: None if number is None else int(number) for name, number in numbers.items()}
    return json.dumps({OBSERVATION: observation, **whole_numbers})


def _serialized(advanced: Advanced) -> Iterator[bytes]:
    """Yield the output rows as Arrow IPC streams of limited size."""
    output = with_changes(advanced)
    if output.num_rows == 0:
        return
    step = max(1, output.num_rows * _MAX_OUTPUT_BYTES // max(1, output.nbytes))
    for start in range(0, output.num_rows, step):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, output.schema) as writer:
            writer.write_table(output.slice(start, step))
        yield sink.getvalue().to_pybytes()


def _unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    for batch in batches:
        for data in batch["output"]:
            if data.is_valid:
                yield from pa.ipc.open_stream(data.as_buffer())
