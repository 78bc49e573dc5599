"""A join of two streams within a time as a Spark DataFrame, in a keyed ordered stage."""

import dataclasses
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    LongType,
    MapType,
    StructField,
    StructType,
    VariantType,
)
from sqlglot import exp

from cepsql.analysis.canonical import digest
from cepsql.analysis.pair_conditions import lower_pair_condition
from cepsql.analysis.plain_sql import sql_of
from cepsql.analysis.positions import span_of
from cepsql.errors import NotSupportedError
from cepsql.operators.interval_join import IntervalJoin as JoinOperator
from cepsql.operators.interval_join import JoinKind
from cepsql.operators.pair_condition import PairColumn, PairCondition
from cepsql.operators.pair_rows import LEFT, RIGHT
from cepsql.ordered.columns import plain_schema
from cepsql.ordered.row_layout import Column, RowLayout
from cepsql.plan.identity import describe_join
from cepsql.plan.nodes import LATER, IntervalJoin
from cepsql.scalar.tree import Call, Expression, Session
from cepsql.scalar.types import Type
from cepsql.scalar.typing import typed
from cepsql.spark.arrow import arrow_schema
from cepsql.spark.bounds import BOUND, unpack_bounded
from cepsql.spark.buckets import Buckets
from cepsql.spark.conditions import session_for, value_type
from cepsql.spark.frames import alike
from cepsql.spark.rows import incomparable, timestamp_of
from cepsql.spark.source import quoted
from cepsql.spark.spark_plan import analyzed, items
from cepsql.spark.stage import Feed, run_stage, stage_rows


def join_stream(
    node: IntervalJoin, feeds: Sequence[Feed], observation: str, buckets: Buckets | None = None
) -> DataFrame:
    """Return the rows of a join: the columns of the node.

    feeds:       the streams, as the node has its inputs.
    observation: name under which each batch's progress shows the counts of `cepsql.spark.stage.run_stage`.
    buckets:     how keys are spread, the same for the life of a checkpoint; default `session_buckets`.
    Raises NotSupportedError for keys that cannot be compared and conditions that cannot be computed on their types, and
    what Spark says of keys.
    """
    feeds = _alike(node, feeds)
    frames = [feeds[node.sides.index(side)].frame for side in range(2)]
    kinds, taken = _key_types(node, frames), _Taken(node)
    condition = taken.lowered()
    left, right = layouts = [_layout(node, side, kinds, taken) for side in range(2)]
    typed_keys = frames[0].selectExpr(*(f"{column.sql} AS {column.name}" for column in left.keys)).schema.fields
    keys = [StructField(key.name, key.dataType) for key in typed_keys]
    fields = [_fields(frame, layout, "") for frame, layout in zip(frames, layouts, strict=True)]
    given = [
        [StructField(prefix + f.name, f.dataType) for f in own]
        for prefix, own in zip((LEFT, RIGHT), fields, strict=True)
    ]
    single = node.kind in (JoinKind.SEMI, JoinKind.ANTI)
    schema = StructType([*keys, StructField("t", LongType()), *given[0], *([] if single else given[1])])
    columns = tuple(plain_schema(arrow_schema(StructType(own))) for own in fields)
    found = None if condition is None else _computed(condition, frames, layouts)
    operator = JoinOperator(left, right, node.low, node.high, node.kind, (columns[0], columns[1]), found)
    stage = run_stage(operator, feeds, digest([describe_join(node), kinds]), observation, buckets)
    if node.markers:
        pairs = unpack_bounded(stage, schema, node.properties.event_time.delay)
    else:
        pairs = stage_rows(stage, schema)
    output = [
        f"{sql} AS {quoted(prefix + name)}"
        for side, prefix in enumerate((LEFT, RIGHT))
        for name, sql in _given(node, side, prefix, _time_type(node, side, frames[side])).items()
    ]
    later = f"{timestamp_of('t', _time_type(node, 0, frames[0]))} AS {LATER}"
    return pairs.selectExpr(*output, later, *([BOUND] if node.markers else []))


@dataclass
class _Taken:
    """The values that the conditions of a join need of the rows of either side, as Spark SQL by name."""

    node: IntervalJoin
    values: tuple[dict[str, str], dict[str, str]] = dataclasses.field(default_factory=lambda: ({}, {}))

    def lowered(self) -> Expression | None:
        """Return what must hold of a pair, None for nothing."""
        parts = tuple(lower_pair_condition(part, self._take, span_of(part)) for part in self.node.conditions)
        return None if not parts else parts[0] if len(parts) == 1 else Call("and", parts)

    def _take(self, prefix: str, expression: exp.Expr) -> PairColumn:
        side = int(prefix == RIGHT)
        plain = expression.copy()
        for column in list(plain.find_all(exp.Column)):
            if column.parent is not None:
                column.set("table", None)
        if isinstance(plain, exp.Column):
            plain.set("table", None)
            name, time = plain.name.lower(), self.node.side(side).properties.event_time.column.lower()
            if name == time:
                return PairColumn(side, "t")
            traveling = _traveling(self.node, side)
            if name in traveling:
                return PairColumn(side, f"v{traveling.index(name)}")
        values = self.values[side]
        sql = sql_of(plain)
        known = next((name for name, value in values.items() if value == sql), None)
        name = known or f"c{len(values)}"
        values[name] = sql
        return PairColumn(side, name)


def _computed(condition: Expression, frames: Sequence[DataFrame], layouts: Sequence[RowLayout]) -> PairCondition:
    """Return a condition on pairs with the types of the columns of both sides."""
    types: dict[Hashable, Type] = {}
    for side, (frame, layout) in enumerate(zip(frames, layouts, strict=True)):
        assert layout.time is not None
        schema = frame.selectExpr(f"{layout.time.sql} AS t", *(f"{c.sql} AS {c.name}" for c in layout.values)).schema
        types |= {PairColumn(side, one.name): value_type(one.dataType) for one in schema}

    def with_types(session: Session) -> list:
        return [typed(condition, types.__getitem__, session)]

    session = session_for(frames[0].sparkSession, with_types)
    return PairCondition(with_types(session)[0], session)


def _alike(node: IntervalJoin, feeds: Sequence[Feed]) -> list[Feed]:
    """Return the feeds with equal types on each side."""
    found = list(feeds)
    for side in set(node.sides):
        places = [number for number, own in enumerate(node.sides) if own == side]
        if len(places) > 1:
            for place, frame in zip(places, alike([feeds[place].frame for place in places]), strict=True):
                found[place] = replace(feeds[place], frame=frame)
    return found


def _layout(node: IntervalJoin, side: int, kinds: list[str], taken: _Taken) -> RowLayout:
    time = node.side(side).properties.event_time.column
    keys = [f"CAST(({sql_of(pair[side])}) AS {kind})" for pair, kind in zip(node.keys, kinds, strict=True)]
    values = [Column(f"v{i}", quoted(name)) for i, name in enumerate(_traveling(node, side))]
    values += [Column(name, f"({sql})") for name, sql in taken.values[side].items()]
    return RowLayout(
        tuple(Column(f"k{i}", sql) for i, sql in enumerate(keys)), Column("t", quoted(time)), values=tuple(values)
    )


def _traveling(node: IntervalJoin, side: int) -> list[str]:
    """Return the columns of a side that pairs give, but for the event time, which is there anyway."""
    time = node.side(side).properties.event_time.column.lower()
    return [name for name in node.columns[side] if name != time]


def _fields(frame: DataFrame, layout: RowLayout, prefix: str) -> list[StructField]:
    """Return what the columns of a side are in the operator's output."""
    values = frame.selectExpr(*(f"{column.sql} AS {prefix}{column.name}" for column in layout.values)).schema.fields
    for column, field in zip(layout.values, values, strict=True):
        if isinstance(field.dataType, ArrayType | MapType | StructType | VariantType):
            raise NotSupportedError(
                f"the column {column.sql}, which is {field.dataType.typeName().upper()}, in a join of streams is not "
                "supported",
                hint="take what is needed of it in a subquery below the join, or to_json(...)",
            )
    return [StructField(f"{prefix}t", LongType()), *values]


def _given(node: IntervalJoin, side: int, prefix: str, time_type: DataType) -> dict[str, str]:
    """Return the SQL over the operator's output of each column of a side that comes out."""
    traveling = {name: f"{prefix}v{i}" for i, name in enumerate(_traveling(node, side))}
    time = timestamp_of(f"{prefix}t", time_type)
    return {name: traveling.get(name, time) for name in node.columns[side]}


def _time_type(node: IntervalJoin, side: int, frame: DataFrame) -> DataType:
    return frame.schema[node.side(side).properties.event_time.column].dataType


def _key_types(node: IntervalJoin, frames: Sequence[DataFrame]) -> list[str]:
    """Return the types in which Spark compares the two expressions of each key.

    Raises NotSupportedError for types whose equal values may differ in their bytes.
    """
    if not node.keys:
        return []
    names = [[quoted(f"{side}.{sql_of(pair[i])}") for pair in node.keys] for i, side in enumerate(("left", "right"))]
    sides = [
        frame.selectExpr(
            *(f"({sql_of(pair[i])}) AS {name}" for pair, name in zip(node.keys, named, strict=True))
        ).schema
        for i, (frame, named) in enumerate(zip(frames, names, strict=True))
    ]
    for field in (*sides[0].fields, *sides[1].fields):
        if isinstance(field.dataType, ArrayType | StructType) or incomparable(field.dataType):
            kind = field.dataType.typeName().upper()
            raise NotSupportedError(
                f"a join of streams by {field.name}, which is {kind}, is not supported",
                hint="compare what is in it",
            )
    # Repeated names would be ambiguous.
    rows = frames[0].sparkSession.createDataFrame(
        [], StructType([*{f.name: f for side in sides for f in side}.values()])
    )
    compared = rows.selectExpr(*(f"{one} = {other}" for one, other in zip(*names, strict=True)))
    plan = analyzed(compared)
    if plan is None:
        if [field.dataType for field in sides[0]] != [field.dataType for field in sides[1]]:
            raise NotSupportedError(
                "over Spark Connect a join of streams needs keys of equal types",
                hint="CAST one of them in ON",
            )
        kinds = [field.dataType.simpleString() for field in sides[0]]
    else:
        kinds = [expression.child().left().dataType().sql() for expression in items(plan.projectList())]
    for pair, kind in zip(node.keys, kinds, strict=True):
        if "COLLATE" in kind.upper():
            raise NotSupportedError(
                f"a join of streams by {sql_of(pair[0])}, whose text has a collation, is not supported",
                hint="compare lower(...) of both",
            )
    return kinds
