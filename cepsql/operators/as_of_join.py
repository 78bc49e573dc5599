"""Each row of a stream with the nearest row of another one before it, or after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.null_keys import null_keys
from cepsql.operators.pair_condition import PairCondition, chosen_pairs
from cepsql.operators.pair_rows import LEFT, alone, in_order, pairs
from cepsql.operators.time_ranges import TimeRanges
from cepsql.ordered.columns import count_flags, integers, one_chunk, take_rows
from cepsql.ordered.operator import NEVER, Keep, OrderedRows, Step
from cepsql.ordered.row_layout import END_OF_TIME, RowLayout
from cepsql.ordered.sort import stable_order


@dataclass(frozen=True)
class AsOfJoin:
    """Gives out each row of the left with the last row of the right, of equal keys, at or before its time.

    Of rows of the right with the same key and time the last one, in the order of their further columns, is taken. A key
    with NULL meets nobody. A row comes out as soon as it is released. Of each key one row of the right is kept, and
    none if that is a deletion. The output has the columns of `cepsql.operators.interval_join.IntervalJoin`.

    left, right: the layouts of the two sides.
    forward:     take the first row of the right at or after the time. Rows of the left wait for it, however long; in
                 the end those that found none come out, if `outer`. Rows of the right are not kept.
    strict:      not a row of the right with an equal time.
    outer:       a row of the left without a partner comes out, too, with NULL for the right.
    columns:     those of the right beside the keys.
    deletion:    a BOOLEAN column of the right that is true where a row says that from its time on there is none.
    filter:      pairs for which this does not hold meet, and do not come out; not with `outer`. None: all do.
    """

    left: RowLayout
    right: RowLayout
    forward: bool
    strict: bool
    outer: bool
    columns: pa.Schema
    deletion: str | None = None
    filter: PairCondition | None = None

    sections: ClassVar[dict[str, int]] = {}
    marks: ClassVar[tuple[dict[str, pa.DataType], ...]] = ({}, {})
    counters = ("pairs", "unmatched")
    changing = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.left, self.right)

    @property
    def hold(self) -> int | None:
        return None if self.forward else 0

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        """Waiting rows of the left are seen again in the end."""
        return np.full(len(held.pending), NEVER if side else END_OF_TIME)

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        left, right = rows
        null = np.any([null_keys(side, self.left.key_names) for side in rows if side is not None], axis=0)
        kept = None if right is None or self.forward else Keep(self._last(right, null))
        if left is None:
            return Step(pa.table({}), [None, kept])
        partition = np.repeat(np.arange(len(left.starts) - 1), np.diff(left.starts))
        found = self._nearest(left, right, partition, null)
        waits = (found < 0) & ~null[partition] & self.forward & (new != END_OF_TIME)
        met, lonely = np.flatnonzero(found >= 0), np.flatnonzero((found < 0) & ~waits)
        tables = []
        if len(met) and right is not None:
            one, other = chosen_pairs(self.filter, left.rows, met, right.rows, found[met])
            # Wide rows are laid in order as they are put together, and not once more.
            order = stable_order(integers(left.rows["t"])[one])
            tables.append(pairs(self.sides, left.rows, one[order], right.rows, other[order]))
        if len(lonely) and self.outer:
            tables.append(alone(self.left, take_rows(left.rows, lonely), LEFT, self.columns))
        output = in_order(tables, LEFT + "t")
        counts = {"pairs": len(met), "unmatched": len(lonely)}
        return Step(output, [self._waiting(left, waits), kept], counts=counts)

    def _nearest(
        self, left: OrderedRows, right: OrderedRows | None, partition: np.ndarray, null: np.ndarray
    ) -> np.ndarray:
        """Return the row of the right that each row of the left meets, -1 for none."""
        if right is None or right.rows.num_rows == 0:
            return np.full(len(partition), -1)
        times, ranges = integers(left.rows["t"]), TimeRanges(right)
        place = (ranges.first_after if self.forward == self.strict else ranges.first_from)(partition, times)
        if not self.forward:
            place = place - 1
        there = (place >= right.starts[partition]) & (place < right.starts[partition + 1]) & ~null[partition]
        if self.deletion is not None:
            gone = one_chunk(right.rows[self.deletion]).fill_null(False).to_numpy(zero_copy_only=False)
            there &= ~gone[np.clip(place, 0, len(gone) - 1)]
        return np.where(there, place, -1)

    def _last(self, right: OrderedRows, null: np.ndarray) -> np.ndarray:
        """Return which row of the right is kept of each partition: those of the left that come are later than all."""
        ends = right.starts[1:]
        last = np.maximum(right.starts[:-1], ends - 1)
        drop = null.copy()
        if self.deletion is not None and right.rows.num_rows:
            gone = one_chunk(right.rows[self.deletion]).fill_null(False).to_numpy(zero_copy_only=False)
            drop |= gone[np.clip(ends - 1, 0, len(gone) - 1)]
        return np.where(drop, ends, last)

    def _waiting(self, left: OrderedRows, waits: np.ndarray) -> Keep | None:
        """Return the rows of the left that wait; they are the last ones of their partitions."""
        if not waits.any():
            return None
        return Keep(left.starts[1:] - count_flags(waits, left.starts))
