"""A join of two streams within a time in Spark, in a keyed ordered stage."""

from collections.abc import Hashable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DateType, TimestampType

from cepsql.analysis.sql.canonical import digest
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.errors import NotSupportedError
from cepsql.operators.pairing.interval_join import IntervalJoinOperator, JoinKind
from cepsql.operators.pairing.pair_condition import PairColumn, PairCondition
from cepsql.plan.operators.interval_join import UNTIL, IntervalJoin, interval_join_layout, until_sql
from cepsql.plan.operators.stream_join import JoinLayout
from cepsql.scalar.expressions import Expression, Session
from cepsql.scalar.types import Type
from cepsql.scalar.typing import typed
from cepsql.spark.frames.operator_rows import column_type, event_time, typed_columns
from cepsql.spark.frames.session_conditions import session_for, value_type
from cepsql.spark.staging.join_rows import JoinRows, alike_sides, key_types, side_frames
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


def join_stage(node: IntervalJoin, feeds: Sequence[Feed]) -> Staged:
    """Return what gives the rows of a join: the columns of the node.

    feeds: the streams, as the node has its inputs.
    Raises NotSupportedError for keys that cannot be compared and conditions that cannot be computed on their types, and
    what Spark says of keys.
    """
    feeds = alike_sides(node, feeds)
    frames = side_frames(node, feeds)
    kinds = key_types(node.keys, frames)
    limits = _limit(node, 0, frames[0]), _limit(node, 1, frames[1])
    layout = interval_join_layout(node, kinds, limits)
    rows = JoinRows(node, frames, layout)
    condition = pair_condition(layout, frames)
    until = UNTIL if limits[0] else None, UNTIL if limits[1] else None
    operator = IntervalJoinOperator(*layout.layouts, node.low, node.high, node.kind, rows.columns, condition, until)
    identity = digest([node.describe(), kinds])
    return rows.staged(operator, feeds, identity, single=node.kind in (JoinKind.SEMI, JoinKind.ANTI))


def _limit(node: IntervalJoin, side: int, frame: DataFrame) -> str | None:
    """Return the SQL of the time up to which rows of the other side meet a row, microseconds; None if the rows say no
    such time.

    Raises NotSupportedError for a time of another type than the event times.
    """
    said = node.limits[side]
    if said is None:
        return None
    sql, time = sql_of(said.time), column_type(frame, node.side(side).properties.event_time.column)
    kind = typed_columns(frame, [(sql, "x")])[0].dataType
    if kind != time and not (isinstance(kind, DateType) and isinstance(time, TimestampType)):
        raise NotSupportedError(
            f"a join of streams up to {sql}, which is {kind.simpleString().upper()}, is not supported",
            hint=f"CAST it to {time.simpleString().upper()}",
        )
    micros = event_time(frame, f"CAST(({sql}) AS {time.simpleString()})")
    return until_sql(micros, said)


def pair_condition(rows: JoinLayout, frames: Sequence[DataFrame]) -> PairCondition | None:
    """Return the condition on pairs with the types of the columns of both sides, None if there is none."""
    condition = rows.condition
    if condition is None:
        return None
    types: dict[Hashable, Type] = {}
    for side, (frame, layout) in enumerate(zip(frames, rows.layouts, strict=True)):
        assert layout.time is not None
        fields = typed_columns(frame, [(layout.time.sql, "t"), *((c.sql, c.name) for c in layout.values)])
        types |= {PairColumn(side, one.name): value_type(one.dataType) for one in fields}

    return typed_condition(condition, types, frames[0].sparkSession)


def typed_condition(condition: Expression, types: Mapping[Hashable, Type], spark: SparkSession) -> PairCondition:
    """Return a condition on pairs with the types of the `PairColumn`s that it reads.

    Raises NotSupportedError for what cannot be computed on values of these types.
    """

    def with_types(session: Session) -> list:
        return [typed(condition, types.__getitem__, session)]

    session = session_for(spark, with_types)
    return PairCondition(with_types(session)[0], session)
