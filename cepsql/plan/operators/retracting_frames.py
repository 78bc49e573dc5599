"""Window functions over the partitions of a table, in a plan."""

from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition
from cepsql.operators.framing.excluded_rows import Exclusion
from cepsql.plan.tree.nodes import ChangeOperator, Node

FrameEnd = tuple[int, exp.Expr | None]
"""How far after a row: so many rows or groups, or a direction, -1 or 1, and a distance in it."""


@dataclass(frozen=True)
class FrameEnds:
    """Where the frame of a window function begins and ends.

    unit:        "rows", "groups" of rows that are equal in the order, or "range".
    first, last: 0 is the row itself, for "range" and "groups" with those that are equal; None: with the partition.
    excluded:    what it leaves out.
    """

    unit: str
    first: FrameEnd | None
    last: FrameEnd | None
    excluded: Exclusion | None = None


@dataclass(frozen=True)
class PlannedWindow:
    """A window function over the rows of a table.

    column:   what comes out.
    sql:      the call as SQL.
    function, number, default, ignore_nulls, distinct, fraction: as of `WindowCall`; `default` is a column of the rows.
    argument: the column of the rows that it reads, None for "count" of rows and functions of places.
    """

    column: ColumnDefinition
    sql: str
    function: str
    argument: str | None
    frame: FrameEnds
    number: int = 1
    default: str | None = None
    ignore_nulls: bool = False
    distinct: bool = False
    fraction: float | None = None


@dataclass(frozen=True)
class RetractingFrames(ChangeOperator):
    """An ordered operator: the rows of a table with window functions over their partitions.

    inputs:  changes of the table, or its rows if it is at rest, and then rows come out.
    keys:    PARTITION BY: names of columns.
    order:   ORDER BY: names of columns with their direction.
    columns: the columns of the rows that come out.
    """

    timed = False

    name: str
    inputs: tuple[Node, ...]
    keys: tuple[str, ...]
    order: tuple[exp.Ordered, ...]
    calls: tuple[PlannedWindow, ...]
    columns: tuple[str, ...]
    markers: bool = False

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of the rows that come out or that a call reads."""
        named = (name for call in self.calls for name in (call.argument, call.default) if name is not None)
        return tuple({name.lower(): name for name in (*self.columns, *named)}.values())

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        wanted = {name.lower() for name in self.columns}
        carried = [column for column in self.inputs[0].properties.columns if column.name.lower() in wanted]
        columns = [*carried, *(call.column for call in self.calls)]
        if not self.inputs[0].properties.streaming:
            return Properties(self.name, tuple(columns), False, None, False)
        return self._changing(columns)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return {
            "window functions": [_describe_window(call) for call in self.calls],
            "partition by": [name.lower() for name in self.keys],
            "order by": [canonical_sql(item) for item in self.order],
            "columns": [name.lower() for name in self.columns],
        }

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        lines = [
            "Window functions of a table",
            f"  partition by: {', '.join(self.keys) or 'nothing (one partition)'}",
            f"  order by: {', '.join(map(sql_of, self.order)) or 'nothing'}",
            *(f"  {call.column.name}: {call.sql}" for call in self.calls),
        ]
        state = "  state: all rows; a change computes its partition again, and rows that differ come out"
        return [*lines, state] if self.properties.streaming else lines


def _describe_window(call: PlannedWindow) -> list:
    ends = [
        None if end is None else [end[0], None if end[1] is None else canonical_sql(end[1])]
        for end in (call.frame.first, call.frame.last)
    ]
    names = [None if name is None else name.lower() for name in (call.argument, call.default)]
    return [
        call.column.name, call.function, *names, call.frame.unit, *ends, call.number, call.ignore_nulls, call.distinct,
        call.fraction, *([] if call.frame.excluded is None else [str(call.frame.excluded)]),
    ]  # fmt: skip
