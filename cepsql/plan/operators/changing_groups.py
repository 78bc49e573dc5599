"""Groups of all rows so far, whenever they change, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.clauses.emitted_groups import GroupChanges
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import Node, Ordered


@dataclass(frozen=True)
class ChangingGroups(Ordered):
    """An ordered operator: groups of all rows with equal keys so far, whenever they change. `inputs` as of `Match`; it
    stands over streams only, and nothing but plain SQL stands over it."""

    counts_at_once = True

    groups: GroupChanges
    inputs: tuple[Node, ...]
    markers: bool = False

    @property
    def chained(self) -> bool:
        """Whether it waits for the markers of ordered operators; rows are taken whenever they come."""
        return False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        return Properties(self.groups.name, self.groups.output, True, None, True)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return describe_group_changes(self.groups)

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        groups = self.groups
        return [
            f"ChangingGroups {groups.name}",
            f"  group by: {', '.join(column.name for column in groups.keys) or 'nothing (one group)'}",
            *(f"  {column.name}: {call}" for (column, _), call in zip(groups.calls, groups.aggregates, strict=True)),
            "  state: for every key what each aggregate needs to go on, for ever",
            *(["  first and last: in the order in which rows come"] if groups.layout.by_arrival else []),
            f"  emit: groups whenever they change, with what each row does in {OPERATION}",
        ]

    def by_arrival(self, number: int) -> bool:
        """Tell whether rows of one time of an input come in the order in which their source has them."""
        return self.groups.layout.by_arrival

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel."""
        return self.groups.layout

    @property
    def identity_columns(self) -> tuple[str, ...]:
        """The columns that tell one group from another."""
        return tuple(column.name for column in self.groups.keys)


def describe_group_changes(groups: GroupChanges) -> dict:
    """Return what decides which rows make a changing group, and what is made of them, as data that JSON can hold."""
    return {
        "changes of": [[column.name, call.function, call.column] for column, call in groups.calls],
        "aggregates": list(groups.aggregates),
        "group by": [column.name for column in groups.keys],
        **({} if groups.keys else {"begins": True}),
    }
