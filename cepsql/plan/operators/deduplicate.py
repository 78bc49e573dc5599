"""The first row of each key within a time, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.clauses.deduplication import FirstRows
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import Watermark
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import Node, Ordered
from cepsql.plan.tree.spoken_times import spoken_delays, spoken_length


@dataclass(frozen=True)
class Deduplicate(Ordered):
    """An ordered operator: the first row of each key within a time. `inputs` and `markers` as of `Match`."""

    once = True
    hosts = True
    keeps_order = True
    arrival = True
    row_words = "the first rows of a stream"

    rows: FirstRows
    inputs: tuple[Node, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: they come out as soon as they are released."""
        rows, streaming = self.rows, any(node.properties.streaming for node in self.inputs)
        columns = self.with_bound(rows.columns)
        return Properties(rows.name, columns, streaming, Watermark(rows.time, 0) if streaming else None, streaming)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        rows = self.rows
        asked = {"keys": list(rows.keys), "order by": list(rows.order), "within": rows.within}
        return {"deduplicate": asked}

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        rows = self.rows
        within = (
            "for ever" if rows.within is None else "1 microsecond" if rows.within == 1 else spoken_length(rows.within)
        )
        lines = [f"Deduplicate {rows.name}"]
        lines.append(f"  the first row of each: {', '.join(rows.keys) or 'stream'}, within: {within}")
        lines.append(f"  order by: {', '.join(rows.order)}")
        if self.properties.streaming:
            lines.append(f"  watermark: {rows.time} - {spoken_delays(self.inputs)}")
            lines.append(f"  state: {_deduplicate_state(rows.within)}")
        return lines

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel."""
        return self.rows.layout


def _deduplicate_state(within: int | None) -> str:
    waiting = "rows not yet released by the watermark"
    if within == 1:
        return waiting
    keys = "every key seen" if within is None else f"the keys of the last {spoken_length(within)}"
    return f"{waiting}; the time of the last row given out for {keys}"
