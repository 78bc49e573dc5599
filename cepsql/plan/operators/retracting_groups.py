"""Groups of the rows that a table has, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.sql.properties import Properties
from cepsql.cached_property import cached_property
from cepsql.catalog import ColumnDefinition
from cepsql.language.tokens import quoted
from cepsql.operators.retracting_groups import GroupCall
from cepsql.ordered.row_layout import AT_ONCE, Column, RowLayout
from cepsql.plan.tree.change_layout import KIND
from cepsql.plan.tree.nodes import ChangeOperator, Node, takes_rows_away


@dataclass(frozen=True)
class RetractingGroups(ChangeOperator):
    """An ordered operator: the groups of the rows that a table has.

    inputs: changes of the table.
    keys:   the columns of the rows that are the keys, which come out.
    calls:  the columns that come out beside them, and the aggregates of a column that they are.
    spoken: the aggregates as SQL.
    """

    timed = False

    name: str
    inputs: tuple[Node, ...]
    keys: tuple[ColumnDefinition, ...]
    calls: tuple[tuple[ColumnDefinition, GroupCall], ...]
    spoken: tuple[str, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        return self._changing((*self.keys, *(column for column, _ in self.calls)))

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return {
            "groups of": [
                [column.name, call.function, call.column, call.distinct]
                + ([call.fraction] if call.fraction is not None else [])
                for column, call in self.calls
            ],
            "aggregates": list(self.spoken),
            "group by": [column.name for column in self.keys],
            **({} if self.keys else {"begins": True}),
        }

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        return [
            "Groups of a table",
            f"  group by: {', '.join(column.name for column in self.keys) or 'nothing (one group)'}",
            *(f"  {column.name}: {call}" for (column, _), call in zip(self.calls, self.spoken, strict=True)),
            "  state: of every group what each aggregate needs to go on; "
            "the different values for DISTINCT, sums of DOUBLE, and others than COUNT, SUM and AVG",
        ]

    def placed_layout(self) -> tuple[RowLayout, dict[str, str]]:
        """Return the layout of the rows, and which of its columns each aggregated column is."""
        places = {name: f"v{i}" for i, name in enumerate(dict.fromkeys(call.column for _, call in self.calls))}
        layout = RowLayout(
            tuple(Column(f"k{i}", quoted(key.name)) for i, key in enumerate(self.keys)),
            AT_ONCE,
            values=(*(Column(place, quoted(name)) for name, place in places.items()), KIND),
        )
        return layout, places

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel. Raises Unlike."""
        if any(map(takes_rows_away, self.inputs)):
            return super().layout()
        return self.placed_layout()[0]
