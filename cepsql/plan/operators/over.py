"""Window functions over frames of rows, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.operators.frames import EVERY_ROW
from cepsql.analysis.operators.over import Frames
from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import Properties
from cepsql.cached_property import cached_property
from cepsql.catalog import Watermark
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import Node, Ordered
from cepsql.plan.tree.spoken_times import spoken_delays, spoken_hold, spoken_length


@dataclass(frozen=True)
class Over(Ordered):
    """An ordered operator: window functions, each over a frame of the rows around a row. `inputs` and `markers` as of
    `Match`."""

    hosts = True
    keeps_order = True
    arrival = True
    row_words = "window functions of a stream"

    frames: Frames
    inputs: tuple[Node, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: they come out when the rows after them that their frames read are there."""
        frames, reach = self.frames, self.frames.reach
        columns = self.with_bound((*frames.columns, *(call.column for call in frames.calls)))
        streaming = any(node.properties.streaming for node in self.inputs)
        time = None if reach.waits or not streaming else Watermark(frames.time, reach.micros_after)
        return Properties(frames.name, columns, streaming, time, streaming)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return describe_frames(self.frames)

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        frames, reach, time = self.frames, self.frames.reach, self.properties.watermark
        head = [f"Over {frames.name}", *(f"  {call.column.name}: {sql_of(call.call)}" for call in frames.calls)]
        if not self.properties.streaming:
            return head
        kept = (
            [f"the last {'row' if reach.before == 1 else f'{reach.before} rows'} of every key"] if reach.before else []
        )
        if reach.groups_before:
            kept = [f"the rows of the last {reach.groups_before} times of every key", *kept]
        if reach.before == EVERY_ROW:
            kept = ["all rows of every key, for ever"]
        if frames.running:
            kept = ["for every key how many rows it had, and what each function needs to go on"]
        kept += [f"rows of the last {spoken_length(reach.micros_before)}"] if reach.micros_before else []
        return [
            *head,
            f"  watermark: {frames.time} - {spoken_delays(self.inputs)}",
            f"  state: {'; '.join(['rows not yet released by the watermark', *kept])}",
            f"  event time: {time.column}, {spoken_hold(time.delay)}"
            if time
            else "  event time: none, as rows wait for rows",
        ]

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel."""
        return self.frames.layout

    def missing_time(self, follower: str, place: Span | None) -> Error:
        """Return why `follower` cannot stand over window functions without event time."""
        if self.frames.reach.waits:
            return NotSupportedError(
                f"{follower} over window functions of a stream needs to know how late their rows come out",
                place,
                "a row can wait for ever for the rows after it: RANGE BETWEEN ... AND INTERVAL '1' MINUTE FOLLOWING "
                "waits for a time",
            )
        hint = "keep the event time of the stream, unchanged, in the subquery"
        return ProgrammingError(f"{follower} over window functions of a stream needs their event time", place, hint)


def describe_frames(frames: Frames) -> dict:
    """Return what decides which rows frames hold, and what is made of them, as data that JSON can hold."""
    return {
        "over": [[call.column.name, canonical_sql(call.call)] for call in frames.calls],
        "columns": [column.name for column in frames.columns],
    }
