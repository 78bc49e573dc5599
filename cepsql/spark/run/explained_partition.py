"""Fetch the rows of one partition as a match sees them, and explain how the pattern matched them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.explain.condition_parts import ConditionParts, condition_parts
from cepsql.explain.match_explanation import MatchExplanation
from cepsql.explain.match_key import AskedPartition
from cepsql.explain.match_report import explain_match
from cepsql.language.tokens import quoted
from cepsql.operators.matching.key_rows import KeyRows, held_rows, sort_batches, state_of_key
from cepsql.operators.matching.match_operator import MatchOperator, row_layout
from cepsql.ordered.fused import state_of
from cepsql.ordered.operator import Operator
from cepsql.ordered.packet import open_packet, pack
from cepsql.ordered.plain_columns import plain_batch
from cepsql.ordered.state import decode, encode
from cepsql.pattern.program import MatchProgram
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import SparkWatermark, walk
from cepsql.render import canonical_zone, cells
from cepsql.spark.building.build import match_feeds, stage_of_match
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.frames.arrival_columns import with_origins, with_placed_columns
from cepsql.spark.frames.arrow_rows import collected, to_arrow
from cepsql.spark.frames.operator_rows import layout_columns
from cepsql.spark.frames.session_conditions import in_session
from cepsql.spark.jvm.lent_settings import setting, stage_settings
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.run.run_once import run_once
from cepsql.spark.sources.source import AHEAD, MALFORMED, REACHED
from cepsql.spark.stages.match import sorted_rows
from cepsql.spark.staging.bounds import BOUND
from cepsql.spark.staging.spark_stage import Feed, row_marks

_LISTED_KEYS = 8
_COUNTED_KEYS = 10_000
"""For how many keys a task counts rows."""

_ROWS = "__rows"
_MINE, _OTHERS = 0, 1


def explain_query(
    spark: SparkSession,
    plan: Plan,
    asked: AskedPartition,
    replaced: dict[str, DataFrame] | None = None,
) -> MatchExplanation:
    """Explain the matches of a query in one partition, over the present rows.

    A separate streaming run reads a stream, in the source's micro-batches and without end of input: late rows, and rows
    above the watermark, are the same as in a standing query that starts now.
    Raises ProgrammingError if no row has the key, and what the query itself would raise.
    """
    match = asked.match
    try:
        feeds = match_feeds(spark, plan, match, replaced)
        wanted = _Partition(feeds[0].frame, asked)
        parts = condition_parts(match, plan.text)
        # It has the columns of the match and of its parts.
        shown = in_session(wanted.frame, parts.program)
        parts = replace(parts, program=shown)
        match = replace(match, program=replace(match.program, session=shown.session, intervals=shown.intervals))
        with stage_settings(spark, unchecked=any(feed.chained for feed in feeds)):
            key_rows = _from_streams(wanted, feeds, parts) if match.streaming else _from_table(wanted, parts)
    except Exception as failure:
        raise translate_failure(failure) from failure
    return explain_match(match, parts, plan.text, wanted.texts, key_rows, wanted.zone)


def list_keys(spark: SparkSession, plan: Plan, match: MatchPlan, most: int) -> list[tuple[tuple, int]]:
    """Return at most `most` keys of a match with their row counts, the most frequent keys first."""
    names = [column.name for column in match.program.keys]
    selected = [f"({column.sql}) AS {quoted(column.name)}" for column in match.program.keys]
    try:
        feeds = match_feeds(spark, plan, match)
        keys = [_rows_of_keys(feed.frame).selectExpr(*selected) for feed in feeds]
        with stage_settings(spark, unchecked=any(feed.chained for feed in feeds)):
            united = reduce(DataFrame.unionAll, keys)
            schema = StructType([*united.schema.fields, StructField(_ROWS, LongType())])
            counted = united.mapInArrow(partial(_count_keys, names), schema)
            tables = run_once(counted) if match.streaming else [to_arrow(counted)]
        zone = setting(spark, "spark.sql.session.timeZone")
    except Exception as failure:
        raise translate_failure(failure) from failure
    counts: dict[tuple[str | None, ...], tuple[tuple, int]] = {}
    for table in tables:
        values = zip(*(column.to_pylist() for column in table.columns), strict=True)
        for texts, (*key, rows) in zip(_texts(table.select(names), zone), values, strict=True):
            counts[texts] = tuple(key), rows + (counts[texts][1] if texts in counts else 0)
    ordered = sorted(counts.items(), key=lambda item: (-item[1][1], [text or "" for text in item[0]]))
    return [shown for _, shown in ordered[:most]]


def _rows_of_keys(frame: DataFrame) -> DataFrame:
    """Return the rows of an input with a key, without control rows."""
    marked = [name for name in (MALFORMED, AHEAD, REACHED) if name in frame.columns]
    for name in marked:
        frame = frame.where(f"NOT coalesce({name}, false)")
    return frame.where(f"{BOUND} IS NULL") if BOUND in frame.columns else frame


def _count_keys(names: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the keys of a task's rows with their row counts, the most frequent ones if there are very many."""
    counted: pa.Table | None = None
    for batch in batches:
        rows = pa.Table.from_batches([batch]).append_column(_ROWS, pa.array([1] * batch.num_rows, pa.int64()))
        whole = rows if counted is None else pa.concat_tables([counted, rows])
        grouped = whole.group_by(names).aggregate([(_ROWS, "sum")]).rename_columns([*names, _ROWS])
        counted = grouped.sort_by([(_ROWS, "descending")]).slice(0, _COUNTED_KEYS)
    if counted is not None:
        yield from counted.to_batches()


def explain_held(
    spark: SparkSession, plan: Plan, asked: AskedPartition, checkpoint: str, sharing: Sharing
) -> MatchExplanation:
    """Explain the state of a partition in a standing query with this Spark checkpoint: its undecided rows.

    sharing: as for `cepsql.spark.building.build.build`.
    The state has no decided rows, nor values that only conditions on single rows read.
    Raises ProgrammingError if the state has no rows of the key, OperationalError before the first batch.
    """
    match = asked.match
    try:
        wanted = _Partition(match_feeds(spark, plan, match)[0].frame, asked)
        program = in_session(wanted.frame, match.program)
        match = replace(match, program=program)
        staged, number = stage_of_match(spark, plan, match, sharing)
        operator = _operator_number(spark, plan, number, checkpoint)
        states = spark.read.format("statestore").option("operatorId", operator).load(checkpoint)
        place = next(i for i, n in enumerate(staged.nodes) if n.searches(match))
        held = partial(_held, program, wanted.key, staged.operator, staged.identity, place)
        mine = states.selectExpr("value.groupState.state AS state").mapInArrow(held, "state BINARY").toArrow()["state"]
    except Exception as failure:
        if "STDS_" in str(failure):
            raise OperationalError(
                "the query has no state yet", hint="wait for the end of its first batch"
            ) from failure
        raise translate_failure(failure) from failure
    if not len(mine):
        key = wanted.asked() or "the only partition"
        raise ProgrammingError(f"nothing is held of {key}", hint="its rows, if there were any, are all decided")
    key_rows = held_rows(
        program, decode(mine[0].as_buffer(), MatchOperator(program), program.state_id), wanted.key, _ties(match)
    )
    parts = condition_parts(match, plan.text)
    return explain_match(match, parts, plan.text, wanted.texts, key_rows, wanted.zone, whole=False)


def _operator_number(spark: SparkSession, plan: Plan, stage: int, checkpoint: str) -> int:
    """Return Spark's number of the operator that runs a stage; stages are numbered from the last one, like Spark's
    operators."""
    if len(plan.stages) == 1 and not any(isinstance(node, SparkWatermark) for node in walk(plan.root)):
        return 0
    operators = spark.read.format("state-metadata").load(checkpoint)
    ours = operators.where("operatorName = 'applyInPandasWithState'").select("operatorId").distinct()
    return sorted(row["operatorId"] for row in ours.collect())[stage]


def _ties(match: MatchPlan) -> list[str]:
    """Return the columns that break remaining ties, as in the stage of a standing query."""
    return [column.name for column in match.program.values] + (["m"] if match.program.predicates else [])


def _held(
    program: MatchProgram,
    key: list[pa.Array],
    operator: Operator,
    identity: str,
    place: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the matcher's states, in the stage of an operator, of the buckets with rows of a key, without the rows of
    other keys."""
    for batch in batches:
        for data in batch["state"]:
            whole = decode(data.as_buffer(), operator, identity)
            state = state_of_key(program, state_of(operator, whole, place), key)
            if state is not None:
                states = pa.array([encode(state, MatchOperator(program), program.state_id)], pa.binary())
                yield pa.RecordBatch.from_arrays([states], ["state"])


class _Partition:
    """The partition to explain.

    condition: Spark SQL that is true for its rows.
    key:       the values of its key, one array each; texts: the same as text.
    zone:      the session's time zone.
    """

    def __init__(self, frame: DataFrame, asked: AskedPartition):
        match, constants = asked.match, asked.constants
        self.frame, self.match = frame, match
        self.zone = setting(frame.sparkSession, "spark.sql.session.timeZone")
        self.names = [column.name for column in match.program.keys]
        kinds = frame.selectExpr(*self.keys()).schema
        typed = [f"try_cast({c} AS {f.dataType.simpleString()})" for c, f in zip(constants, kinds.fields, strict=True)]
        equal = [f"({k.sql}) <=> {value}" for k, value in zip(match.program.keys, typed, strict=True)]
        self.condition = " AND ".join(equal) or "true"
        self.key: list[pa.Array] = []
        self.texts: tuple[str | None, ...] = ()
        if typed:
            self._read(typed, constants, [field.dataType.simpleString() for field in kinds.fields])

    def _read(self, typed: list[str], constants: tuple[str, ...], kinds: list[str]) -> None:
        """Evaluate the constants as values of the key's types."""
        pairs = enumerate(zip(constants, typed, strict=True))
        wrong = [f"({constant}) IS NOT NULL AND {value} IS NULL AS wrong{i}" for i, (constant, value) in pairs]
        columns = [f"{value} AS {quoted(name)}" for value, name in zip(typed, self.names, strict=True)]
        row = to_arrow(self.frame.sparkSession.range(1).selectExpr(*columns, *wrong))
        for i, kind in enumerate(kinds):
            if row[f"wrong{i}"][0].as_py():
                column = self.match.output[i].name
                raise ProgrammingError(f"{constants[i]} is no {kind.upper()}, the type of {column}")
        (values,) = row.select(self.names).to_batches()
        self.key = list(plain_batch(values).columns)
        self.texts = _texts(row.select(self.names), self.zone)[0]

    def keys(self) -> list[str]:
        """Return the SQL of the key columns."""
        return [f"({column.sql}) AS {quoted(column.name)}" for column in self.match.program.keys]

    def asked(self) -> str:
        """Return the key as text."""
        names = [column.name for column in self.match.output]
        return ", ".join(f"{name} = {_shown(text)}" for name, text in zip(names, self.texts, strict=False))

    def none(self, keys: pa.Table) -> ProgrammingError:
        """Return the error for a key without rows; `keys` are some existing keys."""
        if not keys.num_rows:
            return ProgrammingError("there are no rows")
        listed = sorted(", ".join(map(_shown, texts)) for texts in _texts(keys, self.zone))
        if len(self.names) > 1:
            listed = [f"({texts})" for texts in listed]
        more = ", ..." if len(listed) > _LISTED_KEYS else ""
        return ProgrammingError(f"no row has {self.asked()}", hint=f"keys: {', '.join(listed[:_LISTED_KEYS])}{more}")


def _from_table(wanted: _Partition, parts: ConditionParts) -> KeyRows:
    match, frame = wanted.match, wanted.frame
    if MALFORMED in frame.columns:
        frame = frame.where(f"NOT {MALFORMED}")
    mine = frame.where(wanted.condition)
    more = parts.program.values[len(match.program.values) :]
    rows = _plain(sorted_rows(mine, row_layout(match.program), list(match.order), more))
    if rows is None:
        raise wanted.none(to_arrow(frame.selectExpr(*wanted.keys()).distinct().limit(_LISTED_KEYS + 1)))
    timeless = 0
    if match.program.time is not None:
        timeless = rows["t"].null_count
        rows = rows.filter(pc.is_valid(rows["t"])).combine_chunks()
    return KeyRows(rows, timeless=timeless)


def _from_streams(wanted: _Partition, feeds: Sequence[Feed], parts: ConditionParts) -> KeyRows:
    packets = [_packets(wanted, feed.frame, parts.program, number) for number, feed in enumerate(feeds)]
    tables = run_once(reduce(DataFrame.unionAll, packets))
    batches = [[packet.as_py() for packet in table["mine"]] for table in tables]
    inputs = tuple(replace(feed.input, heartbeat=None, idle=None) for feed in feeds)
    key_rows = sort_batches(parts.program, inputs, batches, _ties(wanted.match))
    if key_rows is None:
        keys = [pa.ipc.open_stream(o.as_py()).read_all() for t in tables for o in t["others"] if o.is_valid]
        raise wanted.none(_distinct(pa.concat_tables(keys)) if keys else pa.table({}))
    return key_rows


def _packets(wanted: _Partition, frame: DataFrame, program: MatchProgram, number: int) -> DataFrame:
    """Return the packets of an input: `mine`, and keys of other partitions in `others`."""
    columns = [
        *layout_columns(frame, row_layout(program)),
        f"CASE WHEN {wanted.condition} THEN {_MINE} ELSE {_OTHERS} END AS bucket",
        *row_marks(frame),
    ]
    packed = partial(_pack, wanted.names, number)
    return with_placed_columns(frame, columns).mapInArrow(packed, "mine BINARY, others BINARY")


def _pack(names: list[str], number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack a task's rows of the partition, with the maximum time of all rows, and some distinct keys of other rows."""
    for packed in pack(with_origins(batches), 2, number):
        packets = dict(zip(packed["bucket"].to_pylist(), packed["packet"], strict=True))
        others = open_packet(packets[_OTHERS].as_buffer()).rows
        sink = pa.BufferOutputStream()
        if others is not None:
            keys = _distinct(others.select(names))
            with pa.ipc.new_stream(sink, keys.schema) as writer:
                writer.write_table(keys)
        listed = sink.getvalue().to_pybytes() if others is not None else None
        columns = [pa.array([packets[_MINE].as_py()], pa.binary()), pa.array([listed], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, ["mine", "others"])


def _distinct(keys: pa.Table) -> pa.Table:
    """Return some of the keys, each once."""
    if not keys.num_columns:
        return keys
    rows = keys.to_pylist()
    first = {repr(row): place for place, row in reversed(list(enumerate(rows)))}
    return keys.take(sorted(first.values())[: _LISTED_KEYS + 1])


def _plain(frame: DataFrame) -> pa.Table | None:
    """Return the rows of a bounded frame with plain types, one chunk per column, None without rows."""
    batches = [plain_batch(batch) for batch in collected(frame).to_batches() if batch.num_rows]
    return pa.Table.from_batches(batches).combine_chunks() if batches else None


def _texts(table: pa.Table, zone: str) -> list[tuple[str | None, ...]]:
    columns = [cells(column, canonical_zone(zone)) for column in table.columns]
    return list(zip(*columns, strict=True))


def _shown(text: str | None) -> str:
    return "NULL" if text is None else text
