"""The rows of a stream with the watermark at which each came, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.clauses.watermarked_rows import WatermarkedRows
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import Node, Ordered
from cepsql.plan.tree.spoken_times import spoken_delays


@dataclass(frozen=True)
class CurrentWatermark(Ordered):
    """An ordered operator: all rows as soon as they come, late ones too, with the watermark at which each came.
    `inputs` and `markers` as of `Match`; it stands over streams only."""

    rows: WatermarkedRows
    inputs: tuple[Node, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: for who reads them, too, those behind the watermark are late."""
        rows = self.rows
        kind = self.inputs[0].properties.event_time_type
        columns = self.with_bound((*rows.columns, ColumnDefinition(rows.hidden, kind)))
        return Properties(rows.name, columns, True, Watermark(rows.time, 0), True)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return {"current watermark": self.rows.time.lower()}

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        return [
            f"Current watermark  of {self.rows.time}",
            f"  watermark: {self.rows.time} - {spoken_delays(self.inputs)}",
            "  state: the watermark; rows are given out as they come, late ones, too",
        ]

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel."""
        return self.rows.layout
