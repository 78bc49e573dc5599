"""Rows of a table with the first ranks of each key, in a plan."""

from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition
from cepsql.operators.changing.ranked_rows import Ranking
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.change_layout import ordered_layout
from cepsql.plan.tree.nodes import ChangeOperator, Node, takes_rows_away
from cepsql.plan.tree.scans import NESTED
from cepsql.readers.scan.row_expressions import Unlike


@dataclass(frozen=True)
class RankedRows(ChangeOperator):
    """An ordered operator: the rows of a table with the first ranks of each key.

    inputs:  changes of the table.
    keys:    PARTITION BY: names of columns.
    order:   ORDER BY: names of columns with their direction.
    limit:   the last rank that comes out; None: all do.
    rank:    the column with the rank, None if it does not come out.
    columns: the columns that come out.
    """

    timed = False

    name: str
    inputs: tuple[Node, ...]
    keys: tuple[str, ...]
    order: tuple[exp.Ordered, ...]
    ranking: Ranking
    limit: int | None
    rank: str | None
    columns: tuple[str, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        wanted = {name.lower() for name in self.columns}
        columns = [column for column in self.inputs[0].properties.columns if column.name.lower() in wanted]
        ranks = [] if self.rank is None else [ColumnDefinition(self.rank, "int")]
        return self._changing([*columns, *ranks])

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return {
            "ranks": self.ranking,
            "partition by": [name.lower() for name in self.keys],
            "order by": [canonical_sql(item) for item in self.order],
            "limit": self.limit,
            "numbered": self.rank is not None,
            "columns": [name.lower() for name in self.columns],
        }

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        return [
            f"Ranks  {self.ranking}{'' if self.limit is None else f' <= {self.limit}'}",
            f"  partition by: {', '.join(self.keys) or 'nothing (one partition)'}",
            f"  order by: {', '.join(map(sql_of, self.order))}",
            f"  state: {_ranked_rows(self)}",
        ]

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of the rows that come out."""
        return self.columns

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel. Raises Unlike."""
        if any(map(takes_rows_away, self.inputs)):
            return super().layout()
        return ordered_layout(self, self._is_plain_key)[0]

    def _is_plain_key(self, name: str) -> bool:
        """Tell whether equal values of a column that is ranked by are alike; raises Unlike where only Spark knows."""
        kinds = {column.name.lower(): column.type for column in self.inputs[0].properties.columns}
        if kinds[name.lower()] == "unknown":
            raise Unlike("only Spark knows the types of what is ranked")
        return not kinds[name.lower()].startswith((*NESTED, "float", "double"))


def _ranked_rows(node: RankedRows) -> str:
    if node.limit is None or takes_rows_away(node.inputs[0]):
        return "all rows"
    return f"of every key the rows with the ranks up to {node.limit}"
