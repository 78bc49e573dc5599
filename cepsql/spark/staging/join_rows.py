"""What joins of two streams have in common in Spark: the columns that travel, and the rows that come out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    DataType,
    LongType,
    MapType,
    StructField,
    StructType,
    VariantType,
)
from sqlglot import exp

from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.ordered.operator import Operator
from cepsql.ordered.plain_columns import plain_schema
from cepsql.plan.operators.stream_join import LATER, JoinLayout, StreamJoin
from cepsql.spark.frames.arrow_rows import arrow_schema
from cepsql.spark.frames.operator_rows import column_type, incomparable, time_of, typed_columns
from cepsql.spark.frames.typed_frame import typed_frame
from cepsql.spark.frames.user_frames import alike
from cepsql.spark.jvm.spark_plan import analyzed, items
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


@dataclass(frozen=True)
class JoinRows:
    """The rows that a join of the frames of two sides gives."""

    node: StreamJoin
    frames: tuple[DataFrame, DataFrame]
    layout: JoinLayout

    @property
    def columns(self) -> tuple[pa.Schema, pa.Schema]:
        """The columns of each side beside the keys, as an operator has them."""
        left, right = (plain_schema(arrow_schema(StructType(self._fields(side)))) for side in range(2))
        return left, right

    def staged(self, operator: Operator, feeds: Sequence[Feed], identity: str, single: bool = False) -> Staged:
        """Return the operator of the join, whose rows are the columns of the node; `single`: it gives the left side
        only."""
        keys = typed_columns(self.frames[0], ((key.sql, key.name) for key in self.layout.layouts[0].keys))
        result_fields = [
            StructField(prefix + field.name, field.dataType)
            for side, prefix in enumerate((LEFT,) if single else (LEFT, RIGHT))
            for field in self._fields(side)
        ]
        # Whatever comes out may be NULL: rows have no partner, and markers no values.
        schema = StructType(
            [*(StructField(k.name, k.dataType) for k in keys), StructField("t", LongType()), *result_fields]
        )
        later = f"{time_of('t', self._time_type(0))} AS {LATER}"
        output = (*self._output(LEFT, 0), *self._output(RIGHT, 1), later)
        hold = self.node.properties.event_time.delay if self.node.markers else None
        return Staged(operator, feeds, identity, schema, output, hold)

    def _output(self, prefix: str, side: int) -> list[str]:
        places = {name: f"{prefix}v{i}" for i, name in enumerate(self.layout.names[side])}
        time = time_of(f"{prefix}t", self._time_type(side))
        return [f"{places.get(name, time)} AS {quoted(prefix + name)}" for name in self.node.columns[side]]

    def _fields(self, side: int) -> list[StructField]:
        layout = self.layout.layouts[side]
        columns = (*layout.order, *layout.values)
        typed = typed_columns(self.frames[side], ((column.sql, column.name) for column in columns))
        for column, field in zip(columns, typed, strict=True):
            if "variant" in field.dataType.simpleString():
                raise NotSupportedError(
                    f"the column {column.sql}, which is {field.dataType.typeName().upper()}, in a join of streams is "
                    "not supported",
                    hint="take what is needed of it in a subquery below the join, or to_json(...)",
                )
        return [StructField("t", LongType()), *typed]

    def _time_type(self, side: int) -> DataType:
        return column_type(self.frames[side], self.node.side(side).properties.event_time.column)


def side_frames(node: StreamJoin, feeds: Sequence[Feed]) -> tuple[DataFrame, DataFrame]:
    """Return a frame of each side, whose feeds have equal types."""
    return feeds[node.sides.index(0)].frame, feeds[node.sides.index(1)].frame


def is_nested(kind: DataType) -> bool:
    """Tell whether values of a type are made of others."""
    return isinstance(kind, ArrayType | MapType | StructType | VariantType)


def alike_sides(node: StreamJoin, feeds: Sequence[Feed]) -> list[Feed]:
    """Return the feeds with equal types on each side."""
    sides = list(feeds)
    for side in set(node.sides):
        places = [number for number, own in enumerate(node.sides) if own == side]
        if len(places) > 1:
            for place, frame in zip(places, alike([feeds[place].frame for place in places]), strict=True):
                # Its columns may have other names now than those of the stage.
                sides[place] = replace(feeds[place], frame=frame, rows=None)
    return sides


def key_types(keys: Sequence[tuple[exp.Expr, exp.Expr]], frames: Sequence[DataFrame]) -> list[str]:
    """Return the types in which Spark compares the two expressions of each key, over the frames of both sides.

    Raises NotSupportedError for types whose equal values may differ in their bytes.
    """
    if not keys:
        return []
    left, right = (
        typed_columns(frame, ((sql_of(pair[i]), f"{side}.{sql_of(pair[i])}") for pair in keys))
        for i, (side, frame) in enumerate(zip(("left", "right"), frames, strict=True))
    )
    for field in (*left, *right):
        if isinstance(field.dataType, ArrayType | StructType) or incomparable(field.dataType):
            kind, (side, name) = field.dataType.typeName().upper(), field.name.split(".", 1)
            raise NotSupportedError(
                f"a join of streams by {name}, which is {kind} on its {side} side, is not supported",
                hint="compare what is in it",
            )
    kinds = _compared_types(frames[0].sparkSession, left, right)
    for pair, kind in zip(keys, kinds, strict=True):
        if "COLLATE" in kind.upper():
            raise NotSupportedError(
                f"a join of streams by {sql_of(pair[0])}, whose text has a collation, is not supported",
                hint="compare lower(...) COLLATE UTF8_BINARY of both",
            )
    return kinds


def _compared_types(spark: SparkSession, left: Sequence[StructField], right: Sequence[StructField]) -> list[str]:
    """Return the types in which Spark compares each column with the other one of its place."""
    kinds = [field.dataType for field in left]
    if kinds == [field.dataType for field in right] and all(isinstance(kind, AtomicType) for kind in kinds):
        return [kind.simpleString().upper() for kind in kinds]
    # Repeated names would be ambiguous.
    rows = typed_frame(spark, {field.name: field for field in (*left, *right)}.values())
    pairs = zip(left, right, strict=True)
    plan = analyzed(rows.selectExpr(*(f"{quoted(one.name)} = {quoted(other.name)}" for one, other in pairs)))
    if plan is None:
        raise NotSupportedError(
            "over Spark Connect a join of streams needs keys of equal types",
            hint="CAST one of them in ON",
        )
    return [expression.child().left().dataType().sql() for expression in items(plan.projectList())]
