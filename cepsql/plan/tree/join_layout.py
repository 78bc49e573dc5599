"""What of the rows of a join's two streams travels to it, and under which names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from cepsql.analysis.operators.pair_conditions import lower_pair_condition
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.language.tokens import quoted
from cepsql.operators.pair_condition import PairColumn
from cepsql.operators.pair_rows import RIGHT
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout
from cepsql.plan.tree.nodes import AsOfJoin, IntervalJoin, StreamJoin
from cepsql.plan.tree.time_bound import TimeUpTo
from cepsql.scalar.tree import Call, Expression

UNTIL = "until"
"""The BIGINT column of a row of a join within a time that says up to which time rows of the other side meet it."""

DELETION = "o0"
"""The column of the right of an as-of join that tells whether a row deletes."""


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


def interval_join_layout(
    node: IntervalJoin, kinds: Sequence[str], limits: tuple[str | None, str | None] = (None, None)
) -> JoinLayout:
    """Return the layout of a join within a time.

    kinds:  the type in which each key is compared.
    limits: for each side the Spark SQL of UNTIL, None where the rows say no such time.
    Raises NotSupportedError for a condition that cannot be computed on values of both sides.
    """
    names = _needed_columns(node, 0), _needed_columns(node, 1)
    taken = _Taken(node, names)
    condition = taken.lowered()
    for values, limit in zip(taken.values, limits, strict=True):
        if limit is not None:
            values[UNTIL] = limit
    left, right = (_layout(node, side, kinds, names[side], taken.values[side]) for side in range(2))
    return JoinLayout(names, (left, right), condition)


def until_sql(micros: str, said: TimeUpTo) -> str:
    """Return the SQL of UNTIL for a time that rows say, given as microseconds."""
    return f"{micros} - 1" if said.before else micros


def as_of_join_layout(node: AsOfJoin, kinds: Sequence[str], comparable: Callable[[str], bool]) -> JoinLayout:
    """Return the layout of a join with the nearest row.

    kinds:      the type in which each key is compared.
    comparable: whether values of a column of the right, by its lower-case name, pass through a join.
    All columns of the right travel that do, so that it does not matter for which of several rows of one time is taken
    which columns a query reads.
    """
    time, needed = node.side(1).properties.event_time.column.lower(), _needed_columns(node, 1)
    declared = [column.name.lower() for column in node.side(1).properties.columns]
    plain = [name for name in declared if name != time and (name in needed or comparable(name))]
    # A row that deletes comes before one of the same time that sets values.
    # One of which nobody knows whether it deletes sets values.
    gone = None if node.deletion is None else f"coalesce(({sql_of(node.deletion)}), false)"
    order = () if gone is None else (OrderColumn(DELETION, gone, descending=True),)
    names = _needed_columns(node, 0), plain
    taken = _Taken(node, names)
    condition = taken.lowered()
    left = _layout(node, 0, kinds, names[0], taken.values[0])
    right = _layout(node, 1, kinds, names[1], taken.values[1], order, by_arrival=True)
    return JoinLayout(names, (left, right), condition)


def _layout(
    node: StreamJoin,
    side: int,
    kinds: Sequence[str],
    names: Sequence[str],
    values: dict[str, str] | None = None,
    order: tuple[OrderColumn, ...] = (),
    by_arrival: bool = False,
) -> RowLayout:
    """Return the layout of a side; `values` are further ones, Spark SQL by the name under which they travel."""
    keys = [f"CAST(({sql_of(pair[side])}) AS {kind})" for pair, kind in zip(node.keys, kinds, strict=True)]
    traveling = [Column(f"v{i}", quoted(name)) for i, name in enumerate(names)]
    traveling += [Column(name, f"({sql})") for name, sql in (values or {}).items()]
    time = Column("t", quoted(node.side(side).properties.event_time.column))
    named = tuple(Column(f"k{i}", sql) for i, sql in enumerate(keys))
    return RowLayout(named, time, order, tuple(traveling), by_arrival=by_arrival)


def _needed_columns(node: StreamJoin, side: int) -> list[str]:
    """Return the columns of a side that come out, but for the event time."""
    time = node.side(side).properties.event_time.column.lower()
    return [name for name in node.columns[side] if name != time]


@dataclass
class _Taken:
    """The values that the conditions of a join need of the rows of either side, as Spark SQL by name."""

    node: IntervalJoin | AsOfJoin
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
