"""A join of two streams within a time as a Spark DataFrame, in a keyed ordered stage."""

from collections.abc import Sequence

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

from cepsql.analysis.canonical import digest
from cepsql.analysis.plain_sql import sql_of
from cepsql.errors import NotSupportedError
from cepsql.operators.interval_join import LEFT, RIGHT
from cepsql.operators.interval_join import IntervalJoin as JoinOperator
from cepsql.ordered.columns import plain_schema
from cepsql.ordered.row_layout import Column, RowLayout
from cepsql.plan.identity import describe_join
from cepsql.plan.nodes import LATER, IntervalJoin
from cepsql.spark.arrow import arrow_schema
from cepsql.spark.bounds import BOUND, unpack_bounded
from cepsql.spark.buckets import Buckets
from cepsql.spark.rows import incomparable, timestamp_of
from cepsql.spark.source import quoted
from cepsql.spark.spark_plan import analyzed, items
from cepsql.spark.stage import Feed, run_stage, stage_rows


def join_stream(
    node: IntervalJoin, feeds: Sequence[Feed], observation: str, buckets: Buckets | None = None
) -> DataFrame:
    """Return the pairs of a join: the columns of the node.

    feeds:       the left and the right stream.
    observation: name under which each batch's progress shows the counts of `cepsql.spark.stage.run_stage`.
    buckets:     how keys are spread, the same for the life of a checkpoint; default `session_buckets`.
    Raises NotSupportedError for keys that cannot be compared, and what Spark says of keys.
    """
    frames = [feed.frame for feed in feeds]
    kinds = _key_types(node, frames)
    left, right = (_layout(node, side, kinds) for side in range(2))
    keys = frames[0].selectExpr(*(f"{column.sql} AS {column.name}" for column in left.keys)).schema.fields
    pair = [*_fields(frames[0], left, LEFT), *_fields(frames[1], right, RIGHT)]
    schema = StructType([*keys, StructField("t", LongType()), *pair])
    alone = arrow_schema(StructType(_fields(frames[1], right, "")))
    outer = plain_schema(alone) if node.outer else None
    operator = JoinOperator(left, right, node.low, node.high, outer)
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


def _layout(node: IntervalJoin, side: int, kinds: list[str]) -> RowLayout:
    time = node.inputs[side].properties.event_time.column
    keys = [f"CAST(({sql_of(pair[side])}) AS {kind})" for pair, kind in zip(node.keys, kinds, strict=True)]
    return RowLayout(
        tuple(Column(f"k{i}", sql) for i, sql in enumerate(keys)),
        Column("t", quoted(time)),
        values=tuple(Column(f"v{i}", quoted(name)) for i, name in enumerate(_traveling(node, side))),
    )


def _traveling(node: IntervalJoin, side: int) -> list[str]:
    """Return the columns of a side that pairs give, but for the event time, which is there anyway."""
    time = node.inputs[side].properties.event_time.column.lower()
    return [name for name in node.columns[side] if name != time]


def _fields(frame: DataFrame, layout: RowLayout, prefix: str) -> list[StructField]:
    """Return what the columns of a side are in the operator's output."""
    values = frame.selectExpr(*(f"{column.sql} AS {prefix}{column.name}" for column in layout.values)).schema.fields
    for column, field in zip(layout.values, values, strict=True):
        if isinstance(field.dataType, ArrayType | MapType | StructType | VariantType):
            raise NotSupportedError(
                f"the column {column.sql}, which is {field.dataType.typeName().upper()}, in a join of streams before "
                "MATCH_RECOGNIZE is not supported",
                hint="take what is needed of it in a subquery below the join, or to_json(...)",
            )
    return [StructField(f"{prefix}t", LongType()), *values]


def _given(node: IntervalJoin, side: int, prefix: str, time_type: DataType) -> dict[str, str]:
    """Return the SQL over the operator's output of each column that pairs give of a side."""
    traveling = {name: f"{prefix}v{i}" for i, name in enumerate(_traveling(node, side))}
    time = timestamp_of(f"{prefix}t", time_type)
    return {name: traveling.get(name, time) for name in node.columns[side]}


def _time_type(node: IntervalJoin, side: int, frame: DataFrame) -> DataType:
    return frame.schema[node.inputs[side].properties.event_time.column].dataType


def _key_types(node: IntervalJoin, frames: Sequence[DataFrame]) -> list[str]:
    """Return the types in which Spark compares the two expressions of each key.

    Raises NotSupportedError for types whose equal values may differ in their bytes.
    """
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
                f"a join of streams before MATCH_RECOGNIZE by {field.name}, which is {kind}, is not supported",
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
                "over Spark Connect a join of streams before MATCH_RECOGNIZE needs keys of equal types",
                hint="CAST one of them in ON",
            )
        kinds = [field.dataType.simpleString() for field in sides[0]]
    else:
        kinds = [expression.child().left().dataType().sql() for expression in items(plan.projectList())]
    for pair, kind in zip(node.keys, kinds, strict=True):
        if "COLLATE" in kind.upper():
            raise NotSupportedError(
                f"a join of streams before MATCH_RECOGNIZE by {sql_of(pair[0])}, whose text has a collation, is not "
                "supported",
                hint="compare lower(...) of both",
            )
    return kinds
