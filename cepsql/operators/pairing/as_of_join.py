"""Each row of a stream with the nearest row of another one before it, or after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.pairing.null_keys import null_keys
from cepsql.operators.pairing.pair_condition import PairCondition, chosen_pairs
from cepsql.operators.pairing.pair_rows import LEFT, alone, in_order, pairs
from cepsql.operators.time_ranges import TimeRanges
from cepsql.ordered.operator import NEVER, Keep, OrderedRows, Step, WholeSections
from cepsql.ordered.plain_columns import count_flags, integers, one_chunk, take_rows
from cepsql.ordered.row_layout import END_OF_TIME, RowLayout
from cepsql.ordered.sorting import stable_order


@dataclass(frozen=True)
class AsOfJoinOperator(WholeSections):
    """Gives out each row of the left with the last row of the right, of equal keys, at or before its time.

    Of rows of the right with the same key and time the last one, in the order of their further columns, is taken. A key
    with NULL meets nobody. A row comes out as soon as it is released. Of each key one row of the right is kept, and
    none if that is a deletion. The output has the columns of `IntervalJoinOperator`.

    left, right: the layouts of the two sides.
    forward:     take the first row of the right at or after the time. Rows of the left wait for it, however long; in
                 the end those that found none come out, if `outer`. Rows of the right are not kept.
    strict:      not a row of the right with an equal time.
    outer:       a row of the left without a partner comes out, too, with NULL for the right.
    columns:     those of the right beside the keys.
    deletion:    a BOOLEAN column of the right that is true where a row says that from its time on there is none.
    filter:      pairs for which this does not hold meet, and do not come out; not with `outer`. None: all do.
    tolerance:   how many microseconds the times of a pair may lie apart; None for any.
    condition:   what must hold of a pair; the nearest row is taken among those for which it holds. None for nothing.
    versions:    the nearest row alone is asked for the condition. Else a join without `forward` needs a tolerance, for
                 which rows of the right are kept.
    null_safe:   the places of the keys of which NULL equals NULL.
    """

    left: RowLayout
    right: RowLayout
    forward: bool
    strict: bool
    outer: bool
    columns: pa.Schema
    deletion: str | None = None
    filter: PairCondition | None = None
    tolerance: int | None = None
    condition: PairCondition | None = None
    versions: bool = False
    null_safe: tuple[int, ...] = ()

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
        """Waiting rows of the left are seen again when none of the right can meet them, without tolerance in the end;
        kept rows of the right when they are too old for all rows of the left."""
        if self.tolerance is None:
            return np.full(len(held.pending), NEVER if side else END_OF_TIME)
        times = integers(held.rows["t"])
        return np.minimum(times[held.pending] + max(self.tolerance, 0), END_OF_TIME)

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        left, right = rows
        asked = [name for i, name in enumerate(self.left.key_names) if i not in self.null_safe]
        null = np.any([null_keys(side, asked) for side in rows if side is not None], axis=0)
        keep = None if right is None or self.forward else Keep(self._first_to_keep(right, null, new))
        if left is None:
            return Step(pa.table({}), [None, keep])
        partition = np.repeat(np.arange(len(left.starts) - 1), np.diff(left.starts))
        nearest = self._nearest(left, right, partition, null)
        waits = (nearest < 0) & ~null[partition] & self.forward & (new != END_OF_TIME)
        if self.tolerance is not None:
            waits &= integers(left.rows["t"]) + self.tolerance > new
        met, lonely = np.flatnonzero(nearest >= 0), np.flatnonzero((nearest < 0) & ~waits)
        tables = []
        if len(met) and right is not None:
            one, other = chosen_pairs(self.filter, left.rows, met, right.rows, nearest[met])
            # Wide rows are laid in order as they are put together, and not once more.
            order = stable_order(integers(left.rows["t"])[one])
            tables.append(pairs(self.sides, left.rows, one[order], right.rows, other[order]))
        if len(lonely) and self.outer:
            tables.append(alone(self.left, take_rows(left.rows, lonely), LEFT, self.columns))
        output = in_order(tables, LEFT + "t")
        counts = {"pairs": len(met), "unmatched": len(lonely)}
        return Step(output, [self._waiting(left, waits), keep], counts=counts)

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
        there = self._within(left, right, partition, place) & ~null[partition]
        if self.deletion is not None:
            gone = one_chunk(right.rows[self.deletion]).fill_null(False).to_numpy(zero_copy_only=False)
            there &= ~gone[np.clip(place, 0, len(gone) - 1)]
        if self.condition is None:
            return np.where(there, place, -1)
        return self._fulfilled(left, right, partition, place, there)

    def _within(self, left: OrderedRows, right: OrderedRows, partition: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Tell whether there is a row of the right at a place, near enough to the time of the left."""
        there = (place >= right.starts[partition]) & (place < right.starts[partition + 1])
        if self.tolerance is None:
            return there
        other = integers(right.rows["t"])[np.clip(place, 0, right.rows.num_rows - 1)]
        return there & (np.abs(other - integers(left.rows["t"])) <= self.tolerance)

    def _fulfilled(
        self, left: OrderedRows, right: OrderedRows, partition: np.ndarray, place: np.ndarray, there: np.ndarray
    ) -> np.ndarray:
        """Return the nearest places, from these on, at which the condition holds, -1 for none."""
        assert self.condition is not None
        holding, place = np.full(len(place), -1), place.copy()
        asked = np.flatnonzero(there)
        while len(asked):
            holds = self.condition.holds(left.rows, asked, right.rows, place[asked])
            holding[asked[holds]] = place[asked[holds]]
            if self.versions:
                break
            asked = asked[~holds]
            place[asked] += 1 if self.forward else -1
            asked = asked[self._within(left, right, partition, place)[asked]]
        return holding

    def _first_to_keep(self, right: OrderedRows, null: np.ndarray, new: int) -> np.ndarray:
        """Return the first row of the right that is kept of each partition."""
        last = self._last(right, null)
        if self.tolerance is None:
            return last
        # Rows of the left that come are later than `new`.
        old = integers(right.rows["t"]) <= new - self.tolerance
        first = right.starts[:-1] + count_flags(old, right.starts)
        if self.condition is None or self.versions:
            return np.maximum(first, last)
        return np.where(null, right.starts[1:], first)

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
        """Return the rows of the left that wait; without a condition they are the last ones of their partitions."""
        if not waits.any():
            return None
        if self.condition is None:
            return Keep(left.starts[1:] - count_flags(waits, left.starts))
        return Keep(left.starts[:-1], among=waits)
