"""Operators over tables that change as Spark DataFrames, whose rows are changes with IDENTITY and CHANGE."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, ByteType, DataType, DoubleType, StringType, StructField, StructType

from cepsql.analysis.ddl.records import code_column
from cepsql.analysis.operators.emission import OPERATION, OPERATIONS
from cepsql.analysis.sql.canonical import digest
from cepsql.analysis.sql.properties import CHANGE, DELETED, IDENTITY
from cepsql.catalog import Source
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.operators import change_rows
from cepsql.operators.change_rows import KIND, labelled, net_changes, signs
from cepsql.operators.changing_groups import EVER
from cepsql.operators.pair_condition import PairColumn
from cepsql.operators.pair_rows import LEFT, RIGHT
from cepsql.operators.partial_groups import partial_groups
from cepsql.operators.retracting_groups import GroupCall, RetractingGroupsOperator
from cepsql.operators.running import RunningCall
from cepsql.operators.table_join import TableJoinOperator
from cepsql.operators.upserts import GONE, UpsertsOperator
from cepsql.operators.windows import REPEATED
from cepsql.ordered.columns import plain_schema
from cepsql.ordered.operator import Change, Operator
from cepsql.ordered.row_layout import AT_ONCE, Column, OrderColumn, RowLayout
from cepsql.plan.operators.retracting_groups import RetractingGroups
from cepsql.plan.operators.table_join import TableJoin, table_join_layout
from cepsql.plan.operators.temporal_filter import TemporalFilter
from cepsql.plan.operators.upserts import Upserts
from cepsql.plan.tree.nodes import ChangeOperator, takes_rows_away
from cepsql.scalar.types import Type
from cepsql.spark.frames.arrow import arrow_schema, map_rows, plain_types
from cepsql.spark.frames.conditions import value_type
from cepsql.spark.frames.names import ARRIVAL, FORMER
from cepsql.spark.frames.rows import column_type, incomparable, layout_columns, typed_columns
from cepsql.spark.frames.worker import settle
from cepsql.spark.sources.source import MALFORMED, REACHED
from cepsql.spark.stages.bounds import BOUND
from cepsql.spark.stages.join_rows import key_types
from cepsql.spark.stages.over import is_compared, running_type
from cepsql.spark.stages.stage import PLACE, Feed
from cepsql.spark.stages.stage_rows import CHANGE as STAGE_CHANGE
from cepsql.spark.stages.staged import Staged
from cepsql.spark.stages.stream_join import typed_condition

STATE_VERSION = 1
"""Of what is kept for tables; to be raised when the columns that travel change."""

_SPOKEN = pa.array([OPERATIONS[change] for change in Change])


def upserts_stage(node: Upserts, feed: Feed) -> Staged:
    """Return what gives the changes of the table that a stream with a PRIMARY KEY makes."""
    source, frame = node.stream, feed.frame
    said = [DELETED] if DELETED in frame.columns else []
    said += [f"coalesce(({source.deletion}), false)"] if source.deletion is not None else []
    gone = " OR ".join(said) or "false"
    key_names = {name.lower() for name in source.key}
    given = [column.name for column in node.properties.columns if column.name not in (IDENTITY, CHANGE, BOUND)]
    plain = [name for name in given if name.lower() not in key_names]
    time = Column("t", quoted(source.watermark.column)) if source.watermark is not None else AT_ONCE
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(name)) for i, name in enumerate(source.key)),
        time,
        _order(frame, gone, [column.name for column in source.columns]),
        (*(Column(f"v{i}", quoted(name)) for i, name in enumerate(plain)), Column(GONE, gone)),
    )
    operator = UpsertsOperator(layout, source.watermark is not None)
    rows = frame.selectExpr(*layout_columns(frame, layout))
    fields = [field for field in rows.schema.fields if field.name[0] in "kv"]
    places = {name.lower(): f"k{i}" for i, name in enumerate(source.key)}
    places |= {name.lower(): f"v{i}" for i, name in enumerate(plain)}
    named = [f"{places[name.lower()]} AS {quoted(name)}" for name in given]
    return change_stage(node, operator, [feed], fields, named)


def with_keys_known(node: Upserts, frame: DataFrame) -> DataFrame:
    """Return the rows of a changelog in which those without a key are malformed, too; punctuation needs none."""
    missing = " OR ".join(f"{quoted(name)} IS NULL" for name in node.stream.key)
    if REACHED in frame.columns:
        missing = f"({missing}) AND {REACHED} IS NULL"
    already = f"{MALFORMED} OR " if MALFORMED in frame.columns else ""
    others = [quoted(name) for name in frame.columns if name != MALFORMED]
    return frame.selectExpr(*others, f"({already}{missing}) AS {MALFORMED}")


def changelog_rows(node: Upserts, frame: DataFrame) -> DataFrame:
    """Return the rows of the stream that an operator reads, given as its source has them."""
    if isinstance(node.stream, ViewSource):
        # In a view NULL is a key like others.
        return frame
    return with_moves(node.stream, with_keys_known(node, frame))


def with_moves(source: Source, frame: DataFrame) -> DataFrame:
    """Return the rows of a changelog, and before each that gives a row another key one that deletes the former.

    That one is REPEATED, and has what the change says in all other columns but that of the kind of change.
    """
    if FORMER not in frame.columns:
        return frame
    given = {name.lower(): f"{FORMER}.{quoted(name)}" for name in source.key}
    given |= {DELETED: "true"}
    if (code := code_column(source.columns)) is not None:
        given[code.lower()] = "'d'"
    columns = [
        f"if({REPEATED}, {given[name.lower()]}, {quoted(name)}) AS {quoted(name)}"
        if name.lower() in given
        else quoted(name)
        for name in frame.columns
        if name != FORMER
    ]
    both = f"explode(if({FORMER} IS NULL, array(false), array(true, false))) AS {REPEATED}"
    return frame.selectExpr("*", both).selectExpr(*columns, REPEATED)


def retracting_groups_stage(node: RetractingGroups, feeds: Sequence[Feed]) -> Staged:
    """Return what gives the changes of the groups of a table."""
    frame = feeds[0].frame
    layout, places = node.placed_layout()
    calls = [replace(call, name=column.name, column=places[call.column]) for column, call in node.calls]
    rows = frame.selectExpr(*layout_columns(frame, layout))
    given = [StructField(call.name, _group_type(call, rows)) for call in calls]
    retracting = any(map(takes_rows_away, node.inputs))
    layout = _reduced(layout, calls, rows.schema, retracting)
    operator = RetractingGroupsOperator(layout, tuple(calls), plain_types(given), retracting)
    keys = [field for field in rows.schema.fields if field.name.startswith("k") and field.name != KIND]
    named = [f"k{i} AS {quoted(column.name)}" for i, column in enumerate(node.keys)]
    named += [quoted(call.name) for call in calls]
    staged = change_stage(node, operator, feeds, [*keys, *given], named, retracting)
    return replace(staged, begins=not node.keys)


def _reduced(layout: RowLayout, calls: Sequence[GroupCall], schema: StructType, retracting: bool) -> RowLayout:
    """Return the layout of rows that are added up before the shuffle, if all that is known of a group are exact totals.

    Else order counts for DOUBLE only, whose sums, and zeros that are equal, differ by it.
    """
    names = list(dict.fromkeys(call.column for call in calls))
    types = dict(zip(names, plain_types([schema[name] for name in names]), strict=True))
    needs = any(call.needs_values(types[call.column], retracting) for call in calls)
    reduction = None if needs else partial_groups([(call.function, call.column) for call in calls], types)
    if reduction is not None:
        return replace(layout, reduction=reduction, joins=True)
    read = {types[call.column] for call in calls if call.function != "count"}
    return replace(layout, any_order=retracting or not any(map(pa.types.is_floating, read)))


def _group_type(call: GroupCall, rows: DataFrame) -> DataType:
    """Return the type of an aggregate; raises NotSupportedError for values that it cannot compute with."""
    kind = rows.schema[call.column].dataType
    if call.function in ("count", "sum", "avg", "min", "max"):
        return running_type(RunningCall(call.name, call.function, call.column), rows)
    if not is_compared(kind):
        raise NotSupportedError(
            f"an aggregate of {kind.simpleString().upper()} that needs the values of a group that changes is not "
            "supported",
            hint="to_json(x) is the text of a value",
        )
    if call.function == "list":
        return ArrayType(kind, containsNull=False)
    return kind if call.function == "mode" else DoubleType()


def table_join_stage(node: TableJoin, feeds: Sequence[Feed]) -> Staged:
    """Return what gives the changes of the join of two tables.

    Raises what `cepsql.spark.stages.join_rows.key_types` raises.
    """
    frames = (feeds[0].frame, feeds[1].frame)
    kinds = key_types(node.keys, frames)
    found = table_join_layout(node, kinds)
    fields, schemas, further = [], [], []
    types: dict[Hashable, Type] = {}
    for side, frame in enumerate(frames):
        compared = typed_columns(frame, ((column.sql, column.name) for column in found.asked[side]))
        types |= {PairColumn(side, field.name): value_type(field.dataType) for field in compared}
        further.append(plain_schema(arrow_schema(StructType(compared))))
        own = typed_columns(frame, ((column.sql, column.name) for column in found.values[side]))
        schemas.append(plain_schema(arrow_schema(StructType(own))))
        fields += (
            []
            if side and node.single
            else [StructField((LEFT, RIGHT)[side] + field.name, field.dataType) for field in own]
        )
    condition = None if found.condition is None else typed_condition(found.condition, types, frames[0].sparkSession)
    schema, asks = (schemas[0], schemas[1]), (further[0], further[1])
    left, right = found.layouts
    operator = TableJoinOperator(left, right, node.kind, schema, condition, asks, node.null_safe)
    named = [
        f"{prefix}v{i} AS {quoted(prefix + name)}"
        for prefix, names in zip((LEFT,) if node.single else (LEFT, RIGHT), node.columns, strict=False)
        for i, name in enumerate(names)
    ]
    return change_stage(node, operator, feeds, fields, named, kinds)


def labelled_changes(frame: DataFrame) -> DataFrame:
    """Return changes with OPERATION in place of the hidden columns.

    What SQL made of them keeps the changes of one identity next to each other; it may have left some out.
    """
    names = [field for field in frame.schema.fields if field.name not in (IDENTITY, CHANGE)]
    return map_rows(frame, _label, StructType([*names, StructField(OPERATION, StringType())]))


def _label(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    return label(batches)


def _order(frame: DataFrame, gone: str, columns: Sequence[str]) -> tuple[OrderColumn, ...]:
    """Return what orders the rows of a key and a time: how they came, or, where nobody knows that, what they say."""
    if ARRIVAL in frame.columns:
        return (OrderColumn("o0", ARRIVAL), OrderColumn(PLACE, "CAST(0 AS BIGINT)"))
    plain = [name for name in columns if not incomparable(column_type(frame, name))]
    said = [(gone, True), *((quoted(name), False) for name in plain)]
    return tuple(OrderColumn(f"o{i}", sql, descending) for i, (sql, descending) in enumerate(said))


def change_stage(
    node: ChangeOperator,
    operator: Operator,
    feeds: Sequence[Feed],
    fields: Sequence[StructField],
    named: Sequence[str],
    more: object = None,
) -> Staged:
    """Return what gives changes, with IDENTITY and CHANGE.

    fields: the columns that the operator gives out beside these.
    named:  the columns in the end as Spark SQL with their names.
    more:   decides what is kept, beside the node.
    """
    identity = digest([STATE_VERSION, node.describe(), more])[:16]
    hidden = [StructField(change_rows.IDENTITY, StringType()), StructField(STAGE_CHANGE, ByteType())]
    schema = StructType([*(StructField(field.name, field.dataType) for field in fields), *hidden])
    output = (*named, f"{change_rows.IDENTITY} AS {IDENTITY}", f"{STAGE_CHANGE} AS {CHANGE}")
    # Whatever row it gives out, later ones may be of any time.
    hold = 0 if node.markers else None
    endless = node.markers or isinstance(node, TemporalFilter)
    return Staged(operator, feeds, identity, schema, output, hold, lateness=EVER, endless=endless)


def label(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task with OPERATION in place of the hidden columns; see `labelled_changes`."""
    waiting: pa.Table | None = None
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        rows = rows if waiting is None else pa.concat_tables([waiting, rows]).combine_chunks()
        owner = _owners(rows)
        # The changes of the last identity may go on in the next batch.
        end = int(np.searchsorted(owner, owner[-1])) if len(owner) else 0
        waiting = rows.slice(end)
        yield from _labelled(rows.slice(0, end), owner[:end])
    if waiting is not None and waiting.num_rows:
        yield from _labelled(waiting, _owners(waiting))


def _owners(rows: pa.Table) -> np.ndarray:
    """Number the identities of rows; rows next to each other that have the same one have one number."""
    codes = rows[IDENTITY].combine_chunks().dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    numbers = codes.indices.to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(np.diff(numbers) != 0)])[: len(numbers)]


def _labelled(rows: pa.Table, owner: np.ndarray) -> Iterator[pa.RecordBatch]:
    if rows.num_rows == 0:
        return
    rows = rows.combine_chunks()
    shown, weights = rows.drop_columns([IDENTITY, CHANGE]), signs(rows[CHANGE].chunk(0))
    if (weights > 0).all():
        yield from shown.append_column(OPERATION, pa.repeat(_SPOKEN[int(Change.INSERT)], shown.num_rows)).to_batches()
        return
    columns = [column.chunk(0) for column in shown.columns]
    first, total = net_changes(owner - owner[0], columns, weights)
    places, changes = labelled(owner[first], total)
    made = shown.take(pa.array(first[places])).append_column(OPERATION, _SPOKEN.take(changes))
    yield from made.combine_chunks().to_batches()
