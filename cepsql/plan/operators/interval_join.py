"""The join of two streams within a time, in a plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.operators.pairing.interval_join import JoinKind, time_hold, time_holds
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.operators.stream_join import (
    LATER,
    JoinLayout,
    StreamJoin,
    TakenValues,
    needed_columns,
    side_layout,
    spoken_sides,
)
from cepsql.plan.tree.nodes import Node
from cepsql.plan.tree.scans import key_types, value_type
from cepsql.plan.tree.spoken_times import spoken_hold, spoken_length
from cepsql.plan.tree.time_bound import TimeUpTo
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.scalar.expressions import Session
from cepsql.scalar.types import TIMESTAMP

UNTIL = "until"
"""The BIGINT column of a row of a join within a time that says up to which time rows of the other side meet it."""


@dataclass(frozen=True)
class IntervalJoin(StreamJoin):
    """An ordered operator: rows of two streams with equal keys whose event times lie close to each other.

    name:       what SQL over it calls it.
    inputs:     the streams, those of the left first.
    keys:       pairs of expressions over the columns of the left and of the right that must be equal.
    low, high:  right time - left time lies between them, microseconds; UNBOUNDED where `limits` alone say it.
    columns:    the columns of the left and of the right that come out; each is one of its columns, after LEFT or RIGHT.
    time:       which event time the rows are followed by: LEFT's, RIGHT's, or the later one, LATER.
    kind:       what comes out: pairs, rows without a partner.
    conditions: what must hold of a pair beside, with LEFT and RIGHT as tables of the columns.
    sides:      which side each input belongs to, 0 or 1.
    markers:    it gives markers beside its rows.
    limits:     for each side up to which time rows of the other side meet a row of it, None if it does not say.
    """

    name: str
    inputs: tuple[Node, ...]
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    low: int
    high: int
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    time: str
    kind: JoinKind = JoinKind.INNER
    conditions: tuple[exp.Expr, ...] = ()
    sides: tuple[int, ...] = (0, 1)
    markers: bool = False
    limits: tuple[TimeUpTo | None, TimeUpTo | None] = (None, None)

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows; an event time is not offered if it is not among the columns, or a row may come any
        time after it."""
        left, right = time_holds(self.low, self.high)
        return self._followed({LEFT: left, RIGHT: right, LATER: time_hold(self.kind, self.low, self.high)})

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        keys = [[canonical_sql(one), canonical_sql(other)] for one, other in self.keys]
        kind = "join" if self.kind == JoinKind.INNER else f"{self.kind.lower()} join"
        described = {kind: keys, "between": [self.low, self.high], "columns": [list(names) for names in self.columns]}
        if any(self.limits):
            said = [limit and {"time": canonical_sql(limit.time), "before": limit.before} for limit in self.limits]
            described["until"] = said
        if self.conditions:
            described["on"] = [canonical_sql(condition) for condition in self.conditions]
        return described

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        left, right = (self.side(side).properties.event_time for side in range(2))
        keys = " AND ".join(f"left.({sql_of(one)}) = right.({sql_of(other)})" for one, other in self.keys)
        spans = [
            f"until {sql_of(said.time)}" if said else f"for {spoken_length(max(reach, 0))}"
            for said, reach in zip(self.limits, (self.high, -self.low), strict=True)
        ]
        time = self.properties.watermark
        low, high = (f"{'-' if micros < 0 else ''}{spoken_length(abs(micros))}" for micros in (self.low, self.high))
        apart = [f" from {low}"] * (self.limits[1] is None) + [f" to {high}"] * (self.limits[0] is None)
        difference = f"right.{right.column} - left.{left.column}{''.join(apart)}" if apart else ""
        own = [
            f"{other} {'<' if said.before else '<='} {side}.({sql_of(said.time)})"
            for side, other, said in zip(
                ("left", "right"), (f"right.{right.column}", f"left.{left.column}"), self.limits, strict=True
            )
            if said
        ]
        kind = "" if self.kind == JoinKind.INNER else self.kind.capitalize()
        lines = [
            f"{kind}Join {self.name}  {keys}".rstrip(),
            f"  times: {', '.join(filter(None, [difference, *own]))}",
        ]
        if self.conditions:
            of_pairs = " AND ".join(sql_of(spoken_sides(condition)) for condition in self.conditions)
            lines.append(f"  further condition on pairs: {of_pairs}")
        return [
            *lines,
            f"  watermark: {left.column} - {spoken_length(left.delay)}, {right.column} - {spoken_length(right.delay)}",
            f"  state: rows not yet released by the watermark; rows of the left {spans[0]} and of the right {spans[1]}"
            f"{' after their time' if self.limits[1] is None else ''}",
            f"  event time of pairs: {f'{time.column}, {spoken_hold(time.delay)}' if time else 'none'}",
        ]

    def joined_layouts(self, session: Session) -> tuple[RowLayout, RowLayout]:
        """Return the columns that travel, of each side; raises Unlike."""
        limits = _limit(self, 0, session), _limit(self, 1, session)
        return interval_join_layout(self, key_types(self.keys, self.inputs, self.sides, session), limits).layouts


def interval_join_layout(
    node: IntervalJoin, kinds: Sequence[str], limits: tuple[str | None, str | None] = (None, None)
) -> JoinLayout:
    """Return the layout of a join within a time.

    kinds:  the type in which each key is compared.
    limits: for each side the Spark SQL of UNTIL, None where the rows say no such time.
    Raises NotSupportedError for a condition that cannot be computed on values of both sides.
    """
    names = needed_columns(node, 0), needed_columns(node, 1)
    taken = TakenValues(node, names)
    condition = taken.lowered()
    for values, limit in zip(taken.values, limits, strict=True):
        if limit is not None:
            values[UNTIL] = limit
    left, right = (side_layout(node, side, kinds, names[side], taken.values[side]) for side in range(2))
    return JoinLayout(names, (left, right), condition)


def until_sql(micros: str, said: TimeUpTo) -> str:
    """Return the SQL of UNTIL for a time that rows say, given as microseconds."""
    return f"{micros} - 1" if said.before else micros


def _limit(join: IntervalJoin, side: int, session: Session) -> str | None:
    """Return the SQL of the time up to which a row of a side can be met, None if it says none; raises Unlike for other
    times than TIMESTAMPs."""
    said = join.limits[side]
    if said is None:
        return None
    time = exp.column(exp.to_identifier(join.side(side).properties.event_time.column, quoted=True))
    inputs = [below for below, own in zip(join.inputs, join.sides, strict=True) if own == side]
    if any(value_type(below, one, session) != TIMESTAMP for below in inputs for one in (said.time, time)):
        raise Unlike("Spark computes up to which time a row can be met")
    return until_sql(f"UNIX_MICROS({sql_of(said.time)})", said)
