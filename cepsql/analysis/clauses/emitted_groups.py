"""What is asked of groups without a window over a stream, which come out whenever they change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.catalog import ColumnDefinition
from cepsql.language.tokens import quoted
from cepsql.operators.running import RunningCall
from cepsql.ordered.row_layout import AT_ONCE, Column, RowLayout


@dataclass(frozen=True)
class GroupChanges:
    """Groups of all rows with equal keys so far.

    name:    the placeholder table in the query around it.
    keys:    the columns of the rows that are the keys, which come out.
    calls:   the columns that come out beside keys and OPERATION, and the aggregates of a column that they are.
    aggregates: those as SQL.
    layout:  the columns that travel: keys, and arguments of aggregates as values.
    """

    name: str
    keys: tuple[ColumnDefinition, ...]
    calls: tuple[tuple[ColumnDefinition, RunningCall], ...]
    aggregates: tuple[str, ...]
    layout: RowLayout

    @property
    def output(self) -> tuple[ColumnDefinition, ...]:
        """The columns that come out."""
        return (*self.keys, *(column for column, _ in self.calls), ColumnDefinition(OPERATION, "string"))


def plan_group_changes(
    name: str,
    columns: Sequence[ColumnDefinition],
    keys: Sequence[str],
    calls: Sequence[tuple[ColumnDefinition, RunningCall]],
    aggregates: Sequence[str],
) -> GroupChanges:
    """Plan groups of rows with these columns.

    calls: aggregates of `columns` by their names.
    """
    types = {column.name: column for column in columns}
    values = list(dict.fromkeys(call.column for _, call in calls if call.column is not None))
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(key)) for i, key in enumerate(keys)),
        AT_ONCE,
        values=tuple(Column(f"v{i}", quoted(value)) for i, value in enumerate(values)),
        by_arrival=any(call.function in ("first", "last") for _, call in calls),
    )
    places = {value: f"v{i}" for i, value in enumerate(values)}
    taken = tuple((column, replace(call, name=column.name, column=places[call.column or ""])) for column, call in calls)
    return GroupChanges(name, tuple(types[key] for key in keys), taken, tuple(aggregates), layout)
