"""Groups of the rows that a table has, in a plan."""

from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition
from cepsql.language.tokens import quoted
from cepsql.operators.changing.retracting_groups import GroupCall
from cepsql.ordered.row_layout import AT_ONCE, Column, RowLayout
from cepsql.plan.tree.change_layout import KIND
from cepsql.plan.tree.nodes import ChangeOperator, Node, takes_rows_away


@dataclass(frozen=True)
class ListedCall:
    """An aggregate that Spark computes.

    values: what the operator computes: the list of the arguments of each row, as structs.
    call:   the aggregate over the fields of one struct, whose name is ELEMENT of
            `cepsql.analysis.row_pattern.match_lists`.
    nulls:  IGNORE NULLS, RESPECT NULLS or nothing.
    """

    values: GroupCall
    call: exp.Expr
    nulls: str = ""

    @property
    def name(self) -> str:
        """Its column."""
        return f"__l{self.values.name}"


@dataclass(frozen=True)
class RetractingGroups(ChangeOperator):
    """An ordered operator: the groups of the rows that a table has.

    inputs: changes of the table.
    keys:   the columns of the rows that are the keys, which come out.
    calls:  the columns that come out beside them, and the aggregates of a column that they are.
    aggregates: those as SQL.
    listed: the columns that come out in place of lists among `calls`, and what Spark computes of these.
    """

    timed = False

    name: str
    inputs: tuple[Node, ...]
    keys: tuple[ColumnDefinition, ...]
    calls: tuple[tuple[ColumnDefinition, GroupCall], ...]
    aggregates: tuple[str, ...]
    markers: bool = False
    listed: tuple[tuple[ColumnDefinition, ListedCall], ...] = ()

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        lists = {call.values.name for _, call in self.listed}
        plain = (column for column, call in self.calls if call.name not in lists)
        return self._changing((*self.keys, *plain, *(column for column, _ in self.listed)))

    def asks_identities(self, asked: bool) -> bool:
        """Tell whether it reads the identities of its inputs: it knows rows by their keys."""
        return False

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return {
            "groups of": [
                [column.name, call.function, call.column, call.distinct]
                + ([call.fraction] if call.fraction is not None else [])
                for column, call in self.calls
            ],
            "aggregates": list(self.aggregates),
            "group by": [column.name for column in self.keys],
            **({} if self.keys else {"begins": True}),
            **({"of lists": [canonical_sql(call.call) for _, call in self.listed]} if self.listed else {}),
        }

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        return [
            "Groups of a table",
            f"  group by: {', '.join(column.name for column in self.keys) or 'nothing (one group)'}",
            *(f"  {column.name}: {call}" for (column, _), call in zip(self.calls, self.aggregates, strict=True)),
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
