"""The rows of the frames of window functions: each row with those before and after it that its frame reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.time_ranges import TimeRanges
from cepsql.ordered.operator import NEVER, Keep, OrderedRows, Step, WholeSections
from cepsql.ordered.plain_columns import integers, take_rows
from cepsql.ordered.row_layout import END_OF_TIME, RowLayout

FRESH = "fresh"
"""The BOOLEAN column that is true in newly emitted rows, false in rows that are there for their frames."""

PLACE = "place"
"""The BIGINT column with the place of a row among those of its partition that are emitted together."""

EMITTED = "given"
"""The BOOLEAN mark of emitted rows; stored states have its name."""


@dataclass(frozen=True)
class FrameRows(WholeSections):
    """Emits each row once as fresh, when its frame is complete, together with the rows of its frame.

    A frame has the rows of the partition up to `before` rows, `micros_before` or `groups_before` before the row, and
    up to `after` rows, `micros_after` or `groups_after` after it; the output has all of these, and may have more. A row
    whose frame reads further rows after it waits for them, or for the end of the input. Rows that no later frame reads
    are removed.

    Output columns: those of the layout, FRESH and PLACE.

    layout: the rows.
    before, after: rows.
    micros_before, micros_after: microseconds.
    groups_before, groups_after: groups of rows that are equal in the order.
    """

    layout: RowLayout
    before: int = 0
    after: int = 0
    micros_before: int = 0
    micros_after: int = 0
    groups_before: int = 0
    groups_after: int = 0

    sections: ClassVar[dict[str, int]] = {}
    counters: ClassVar[tuple[str, ...]] = ()
    changing = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.layout,)

    @property
    def marks(self) -> tuple[Mapping[str, pa.DataType], ...]:
        return ({EMITTED: pa.bool_()},)

    @property
    def hold(self) -> int | None:
        return None if self.after or self.groups_after else self.micros_after

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        """Waiting rows are due when their frame is complete, other rows when no later frame can read them."""
        times, ends = integers(held.rows["t"]), held.starts[1:]
        first = held.starts[:-1] + self._emitted_counts(held)
        waiting = first < ends
        due = np.full(len(ends), END_OF_TIME)
        if not self.after and not self.groups_after:
            due[waiting] = times[first[waiting]] + self.micros_after
        gone = NEVER if self.before or self.groups_before else times[ends - 1] + self.micros_before
        return np.where(waiting, due, gone)

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None:
            return Step(pa.table({}), [None])
        ranges = TimeRanges(ordered, [column.name for column in self.layout.order])
        begins, ends = ordered.starts[:-1], ordered.starts[1:]
        partitions = np.arange(len(begins))
        first = begins + self._emitted_counts(ordered)
        decided = ends
        if new != END_OF_TIME:
            decided = ranges.first_after(partitions, np.full(len(begins), new - self.micros_after))
            decided = np.minimum(decided, ends - self.after)
            if self.groups_after:
                decided = np.minimum(decided, ranges.group_starts(ends, -self.groups_after))
            decided = np.maximum(decided, first)
        output = self._output(ordered, ranges, first, decided)
        following = np.where(decided < ends, np.append(ranges.times, 0)[decided], new + 1)
        keep = self._from(ranges, partitions, begins, decided, following)
        is_emitted = np.arange(ordered.rows.num_rows) < np.repeat(decided, np.diff(ordered.starts))
        return Step(output, [Keep(keep, marks={EMITTED: pa.array(is_emitted)})])

    def _emitted_counts(self, ordered: OrderedRows) -> np.ndarray:
        """Return how many rows of each partition were emitted before: its first ones."""
        is_emitted = ordered.rows[EMITTED].fill_null(False).to_numpy()
        total = np.concatenate([[0], np.cumsum(is_emitted)])
        return total[ordered.starts[1:]] - total[ordered.starts[:-1]]

    def _from(
        self, ranges: TimeRanges, partitions: np.ndarray, begins: np.ndarray, rows: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """Return the first row of the frame of one row in each partition, with these places and times."""
        early = ranges.first_from(partitions, times - self.micros_before)
        if self.groups_before:
            early = np.minimum(early, ranges.group_starts(rows, -self.groups_before))
        return np.maximum(np.minimum(early, rows - self.before), begins)

    def _output(self, ordered: OrderedRows, ranges: TimeRanges, first: np.ndarray, decided: np.ndarray) -> pa.Table:
        """Return the rows from `first` until `decided` of each partition with the rows of their frames."""
        chosen = np.flatnonzero(first < decided)
        if len(chosen) == 0:
            return pa.table({})
        first, decided = first[chosen], decided[chosen]
        begin = self._from(ranges, chosen, ordered.starts[chosen], first, ranges.times[first])
        late = ranges.first_after(chosen, ranges.times[decided - 1] + self.micros_after)
        if self.groups_after:
            late = np.maximum(late, ranges.group_starts(decided - 1, self.groups_after + 1))
        end = np.minimum(np.maximum(late, decided + self.after), ordered.starts[chosen + 1])
        sizes = end - begin
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = place + np.repeat(begin, sizes)
        fresh = (rows >= np.repeat(first, sizes)) & (rows < np.repeat(decided, sizes))
        output = take_rows(ordered.rows.drop_columns([EMITTED]), rows)
        return output.append_column(FRESH, pa.array(fresh)).append_column(PLACE, pa.array(place))
