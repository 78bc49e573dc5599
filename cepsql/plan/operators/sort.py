"""All rows of a stream in the order of event time, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.clauses.order_by import RowOrder
from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import Watermark
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import Node, Ordered
from cepsql.plan.tree.spoken_times import spoken_delays


@dataclass(frozen=True)
class Sort(Ordered):
    """An ordered operator: all rows in the order of event time. `inputs` and `markers` as of `Match`; it stands over
    streams only."""

    arrival = True
    sorts = True

    rows: RowOrder
    inputs: tuple[Node, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: they come out as soon as they are released."""
        rows = self.rows
        columns = self.with_bound(rows.columns)
        return Properties(rows.name, columns, True, Watermark(rows.time, 0), True)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return {"sort": [self.rows.time.lower(), *(canonical_sql(item) for item in self.rows.order)]}

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        rows = self.rows
        return [
            f"Sort  {', '.join([rows.time, *map(sql_of, rows.order)])}",
            f"  watermark: {rows.time} - {spoken_delays(self.inputs)}",
            "  state: rows not yet released by the watermark",
        ]

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel."""
        return self.rows.layout
