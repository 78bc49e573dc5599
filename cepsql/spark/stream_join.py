"""A join of two streams within a time as a Spark DataFrame, in a keyed ordered stage."""

import dataclasses
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import DateType, TimestampType
from sqlglot import exp

from cepsql.analysis.canonical import digest
from cepsql.analysis.pair_conditions import lower_pair_condition
from cepsql.analysis.plain_sql import sql_of, without_tables
from cepsql.analysis.positions import span_of
from cepsql.errors import NotSupportedError
from cepsql.operators.interval_join import IntervalJoin as JoinOperator
from cepsql.operators.interval_join import JoinKind
from cepsql.operators.pair_condition import PairColumn, PairCondition
from cepsql.operators.pair_rows import RIGHT
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.identity import describe_join
from cepsql.plan.nodes import IntervalJoin
from cepsql.scalar.tree import Call, Expression, Session
from cepsql.scalar.types import Type
from cepsql.scalar.typing import typed
from cepsql.spark.buckets import Buckets
from cepsql.spark.conditions import session_for, value_type
from cepsql.spark.join_rows import alike_sides, join_rows, needed_columns
from cepsql.spark.rows import column_type, event_time
from cepsql.spark.stage import Feed, run_stage

_LIMIT = "until"


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
    feeds, taken = alike_sides(node, feeds), _Taken(node)
    condition = taken.lowered()
    names = needed_columns(node, 0), needed_columns(node, 1)
    limits = [_limit(node, side, feeds, taken.values[side]) for side in range(2)]
    rows = join_rows(node, feeds, names, taken.values)
    found = None if condition is None else _computed(condition, rows.frames, rows.layouts)
    operator = JoinOperator(*rows.layouts, node.low, node.high, node.kind, rows.columns, found, (limits[0], limits[1]))
    stage = run_stage(operator, feeds, digest([describe_join(node), rows.kinds]), observation, buckets)
    return rows.output(stage, single=node.kind in (JoinKind.SEMI, JoinKind.ANTI))


def _limit(node: IntervalJoin, side: int, feeds: Sequence[Feed], values: dict[str, str]) -> str | None:
    """Enter the time up to which rows of the other side meet a row among the values that travel; return its name, None
    if the rows say no such time.

    Raises NotSupportedError for a time of another type than the event times.
    """
    said = node.limits[side]
    if said is None:
        return None
    frame, sql = feeds[node.sides.index(side)].frame, sql_of(said.time)
    time = column_type(frame, node.side(side).properties.event_time.column)
    kind = frame.selectExpr(f"({sql}) AS x").schema["x"].dataType
    if kind != time and not (isinstance(kind, DateType) and isinstance(time, TimestampType)):
        raise NotSupportedError(
            f"a join of streams up to {sql}, which is {kind.simpleString().upper()}, is not supported",
            hint=f"CAST it to {time.simpleString().upper()}",
        )
    micros = event_time(frame, f"CAST(({sql}) AS {time.simpleString()})")
    values[_LIMIT] = f"{micros} - 1" if said.before else micros
    return _LIMIT


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
        plain = without_tables(expression)
        if isinstance(plain, exp.Column):
            name, time = plain.name.lower(), self.node.side(side).properties.event_time.column.lower()
            if name == time:
                return PairColumn(side, "t")
            traveling = needed_columns(self.node, side)
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
