"""Rows that are in a table for a time, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.sql.properties import CHANGE, IDENTITY, Properties
from cepsql.base.cached_property import cached_property
from cepsql.plan.tree.clock import Clock
from cepsql.plan.tree.markers import BOUND
from cepsql.plan.tree.nodes import ChangeOperator, Node

ENTER, LEAVE = "__enter", "__leave"
"""Columns of rows that are there for a time only, of the type of the clock: from when on, and until when."""


@dataclass(frozen=True)
class TemporalFilter(ChangeOperator):
    """An ordered operator: the rows of a table from the time in their column ENTER on until that in LEAVE.

    inputs: changes of the table, or the rows of a stream, with these columns.
    enters, leaves: whether there are these columns; without either it only tells how far the rows are.
    clock:  what goes on.
    conditions: the conditions as SQL.
    """

    name: str
    inputs: tuple[Node, ...]
    enters: bool
    leaves: bool
    clock: Clock
    conditions: tuple[str, ...] = ()
    markers: bool = False

    @property
    def chained(self) -> bool:
        """Whether it goes by the markers of ordered operators."""
        return self.clock == Clock.EVENT_TIME

    @property
    def expires(self) -> Clock:
        """What time lets its rows leave by."""
        return self.clock

    @property
    def only_tells_time(self) -> bool:
        """Whether it gives all its rows as they are, and only tells how far they are."""
        return not self.conditions

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        hidden = (IDENTITY, CHANGE, BOUND, ENTER, LEAVE)
        return self._changing(column for column in self.inputs[0].properties.columns if column.name not in hidden)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return {"rows by time": {"enter": self.enters, "leave": self.leaves}, "clock": self.clock}

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        clock = "the watermark of the rows" if self.clock == Clock.EVENT_TIME else "the system clock, as recorded"
        if not self.conditions:
            return ["Clock of rows", f"  now: {clock}"]
        return [
            "Rows while their time lasts",
            *(f"  while: {condition}" for condition in self.conditions),
            f"  now: {clock}",
            "  state: rows that are still to come or to go",
        ]

    @property
    def timed(self) -> bool:
        """Whether it goes by the event time of its rows."""
        return self.chained

    def goes_by_time(self, number: int) -> bool:
        """Tell whether what an input says of event time counts."""
        return self.clock == Clock.EVENT_TIME
