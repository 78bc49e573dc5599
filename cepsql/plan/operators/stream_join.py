"""What joins of two streams have, in a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from cepsql.analysis.operators.pair_conditions import lower_pair_condition
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import Properties
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import Error, ProgrammingError, Span
from cepsql.language.tokens import quoted
from cepsql.operators.pair_condition import PairColumn
from cepsql.operators.pair_rows import LEFT, RIGHT
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout
from cepsql.plan.tree.after_match import JOINED
from cepsql.plan.tree.nodes import Node, Ordered
from cepsql.scalar.tree import Call, Expression, Session

LATER = "later"
"""The column of an interval join with the later one of the two event times."""


class StreamJoin(Ordered):
    """What joins of two streams have; see `IntervalJoin`."""

    united = False
    compares = True
    row_words = JOINED

    name: str
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    time: str
    conditions: tuple[exp.Expr, ...]
    sides: tuple[int, ...]
    markers: bool

    @property
    def properties(self) -> Properties:
        """What is known of the rows."""
        raise NotImplementedError

    def side(self, number: int) -> Node:
        """Return an input of the left side, 0, or of the right one, 1."""
        return self.inputs[self.sides.index(number)]

    @property
    def time_type(self) -> str:
        """The type of the event times."""
        return self.side(0).properties.event_time_type

    @property
    def time_column(self) -> str:
        """The column of the event time that the rows are followed by."""
        return self._time_column(self.time)

    def _time_column(self, time: str) -> str:
        if time == LATER:
            return LATER
        return time + self.side(int(time == RIGHT)).properties.event_time.column.lower()

    def _given(self) -> tuple[ColumnDefinition, ...]:
        """Return the columns of its rows."""
        given = [
            ColumnDefinition(prefix + column.name.lower(), column.type)
            for side, (prefix, names) in enumerate(zip((LEFT, RIGHT), self.columns, strict=True))
            for column in self.side(side).properties.columns
            if column.name.lower() in names
        ]
        given.append(ColumnDefinition(LATER, self.time_type))
        return self.with_bound(given)

    def _followed(self, holds: Mapping[str, int | None]) -> Properties:
        """Return what is known of its rows; `holds`: how long a row can lie behind each event time, microseconds, None
        for any time."""
        columns = self._given()
        known = {column.name for column in columns}
        offers = {
            time: Watermark(self._time_column(time), hold)
            for time, hold in holds.items()
            if hold is not None and self._time_column(time) in known
        }
        watermark = offers.pop(self.time, None)
        return Properties(self.name, columns, True, watermark, True, others=tuple(offers.values()))

    def side_of(self, number: int) -> int:
        """Return which side an input belongs to."""
        return self.sides[number]

    def with_branches(self, branches: Sequence[Sequence[Node]]) -> "StreamJoin":
        """Return the join over the branches of each input side by side."""
        sides = tuple(side for side, parts in zip(self.sides, branches, strict=True) for _ in parts)
        return self.changed(inputs=tuple(branch for parts in branches for branch in parts), sides=sides)

    def followed_by(self, time: str) -> "StreamJoin":
        """Return the join followed by another one of its event times; itself where its rows don't have that one."""
        other = self if self.time == time else self.changed(time=time)
        return self if other.properties.watermark is None else other

    def missing_time(self, follower: str, place: Span | None) -> Error:
        """Return why `follower` cannot stand over a join without event time."""
        hint = "keep the event time of one of the two streams, unchanged, in the subquery"
        return ProgrammingError(f"{follower} over a join of streams needs their event time", place, hint)

    def layouts(self, session: Session) -> list[RowLayout]:
        """Return the columns that travel, of each input; raises Unlike for a join that Spark must see to know it."""
        layouts = self.joined_layouts(session)
        return [layouts[side] for side in self.sides]

    def joined_layouts(self, session: Session) -> tuple[RowLayout, RowLayout]:
        """Return the columns that travel, of each side; raises Unlike."""
        raise NotImplementedError


@dataclass(frozen=True)
class JoinLayout:
    """The rows of a join's two sides as they travel.

    names:     the columns of each side that travel as v0, v1, ..., lower case; the event time is there anyway.
    layouts:   of both sides, the left first.
    condition: what must hold of a pair of rows, over `PairColumn`s; None for nothing.
    """

    names: tuple[list[str], list[str]]
    layouts: tuple[RowLayout, RowLayout]
    condition: Expression | None = None


def side_layout(
    node: StreamJoin,
    side: int,
    kinds: Sequence[str],
    names: Sequence[str],
    values: dict[str, str] | None = None,
    order: tuple[OrderColumn, ...] = (),
    by_arrival: bool = False,
) -> RowLayout:
    """Return the layout of a side; `values` are further ones, Spark SQL by the name under which they travel."""
    traveling = [Column(f"v{i}", quoted(name)) for i, name in enumerate(names)]
    traveling += [Column(name, f"({sql})") for name, sql in (values or {}).items()]
    time = Column("t", quoted(node.side(side).properties.event_time.column))
    return RowLayout(key_columns(node.keys, side, kinds), time, order, tuple(traveling), by_arrival=by_arrival)


def key_columns(keys: Sequence[tuple[exp.Expr, exp.Expr]], side: int, kinds: Sequence[str]) -> tuple[Column, ...]:
    """Return the keys of a side of a join, as the types in which they are compared."""
    pairs = zip(keys, kinds, strict=True)
    return tuple(Column(f"k{i}", f"CAST(({sql_of(pair[side])}) AS {kind})") for i, (pair, kind) in enumerate(pairs))


def needed_columns(node: StreamJoin, side: int) -> list[str]:
    """Return the columns of a side that come out, but for the event time."""
    time = node.side(side).properties.event_time.column.lower()
    return [name for name in node.columns[side] if name != time]


@dataclass
class TakenValues:
    """The values that the conditions of a join need of the rows of either side, as Spark SQL by name."""

    node: StreamJoin
    names: tuple[list[str], list[str]]
    values: tuple[dict[str, str], dict[str, str]] = field(default_factory=lambda: ({}, {}))

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
            if name in self.names[side]:
                return PairColumn(side, f"v{self.names[side].index(name)}")
        values = self.values[side]
        sql = sql_of(plain)
        known = next((name for name, value in values.items() if value == sql), None)
        name = known or f"c{len(values)}"
        values[name] = sql
        return PairColumn(side, name)


def spoken_sides(condition: exp.Expr) -> exp.Expr:
    copy = condition.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", exp.to_identifier("left" if column.table == LEFT else "right"))
    return copy
