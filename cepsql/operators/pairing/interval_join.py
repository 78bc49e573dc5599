"""Interval joins: pairs of rows with equal keys and close event times, and unmatched rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.pairing.null_keys import null_keys
from cepsql.operators.pairing.pair_condition import PairCondition, chosen_pairs
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT, alone, in_order, pairs
from cepsql.operators.time_ranges import TimeRanges
from cepsql.ordered.operator import Keep, OrderedRows, Step, WholeSections
from cepsql.ordered.plain_columns import count_flags, integers, one_chunk, take_rows
from cepsql.ordered.row_layout import BEGINNING, RowLayout
from cepsql.ordered.sorting import stable_order

UNBOUNDED = 2**58
"""The `high`, or negated the `low`, of a join whose rows have time limits of their own; microseconds."""

_MATCHED = "matched"


class JoinKind(StrEnum):
    """The output of a join: pairs, pairs and unmatched rows, or the left rows with or without a match."""

    INNER = "INNER"
    LEFT = "LEFT"
    FULL = "FULL"
    SEMI = "SEMI"
    ANTI = "ANTI"


@dataclass(frozen=True)
class IntervalJoinOperator(WholeSections):
    """Joins rows with equal keys and low <= right time - left time <= high, within time limits of either side's rows.

    A pair is emitted as soon as both rows are released, and thus in the order of the later one of the two times; so is
    the left row of a SEMI join, once. An unmatched row is emitted, if the kind includes it, as soon as no later row can
    match it. A key with NULL matches nothing. Rows that no later row can match are removed.

    Output columns: the keys k*, `t`, which is the later time, and the columns of each side with the prefixes LEFT and
    RIGHT, among them the times l_t and r_t; NULL for a missing side. SEMI and ANTI have those of the left only.

    left, right: the layouts of the two sides.
    low, high:   microseconds, low <= high.
    kind:        the output.
    columns:     the columns of the left and of the right beside the keys; LEFT needs those of the right, FULL both.
    condition:   a further condition of a match, or None.
    limits:      for each side the BIGINT column with the time up to which rows of the other side match a row, beside
                 `low` and `high`; NULL: none match. None for a side without such a column.
    filter:      pairs that do not fulfil it match, but are not emitted; INNER only. None: all are.
    """

    left: RowLayout
    right: RowLayout
    low: int
    high: int
    kind: JoinKind = JoinKind.INNER
    columns: tuple[pa.Schema | None, pa.Schema | None] = (None, None)
    condition: PairCondition | None = None
    limits: tuple[str | None, str | None] = (None, None)
    filter: PairCondition | None = None

    sections: ClassVar[dict[str, int]] = {}
    counters = ("pairs", "unmatched")
    changing = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.left, self.right)

    @property
    def marks(self) -> tuple[Mapping[str, pa.DataType], ...]:
        return ({_MATCHED: pa.bool_()} if self._marked(0) else {}, {_MATCHED: pa.bool_()} if self._marked(1) else {})

    @property
    def hold(self) -> int | None:
        return time_hold(self.kind, self.low, self.high)

    @property
    def holds(self) -> tuple[int | None, int | None]:
        """How many microseconds the left and right time of an output row may lie behind the bound; None: no limit."""
        return time_holds(self.low, self.high)

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        """Return when no later row can match a row."""
        ends = self._ends(held.rows, side)
        if self.limits[side] is None:
            return ends[held.pending]
        return np.minimum.reduceat(ends, held.pending) if len(ends) else ends

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        null = np.any([null_keys(side, self.left.key_names) for side in rows if side is not None], axis=0)
        met = self._pairs(rows[0], rows[1], null, old)
        tables, keep = [], []
        if self.kind not in (JoinKind.SEMI, JoinKind.ANTI) and len(met[0]):
            left, right = rows
            assert left is not None and right is not None
            one, other = chosen_pairs(self.filter, left.rows, met[0], right.rows, met[1])
            # Order pairs before wide rows are joined, to copy them only once.
            order = stable_order(np.maximum(integers(left.rows["t"])[one], integers(right.rows["t"])[other]))
            tables.append(pairs(self.sides, left.rows, one[order], right.rows, other[order]))
        for side, ordered in enumerate(rows):
            side_keep, single = self._settled(ordered, side, null, met[side], new)
            keep.append(side_keep)
            if ordered is not None and len(single):
                tables.append(self._single(ordered.rows, single, side))
        output = in_order(tables, "t")
        paired = len(met[0]) if self.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL) else 0
        if self.kind == JoinKind.SEMI:
            paired = output.num_rows
        return Step(output, keep, counts={"pairs": paired, "unmatched": output.num_rows - paired})

    def _marked(self, side: int) -> bool:
        """Tell whether the state marks matched rows of a side."""
        return self.kind == JoinKind.FULL or (side == 0 and self.kind != JoinKind.INNER)

    def _reach(self, side: int) -> int:
        """Return how long after its time a row of a side can match rows of the other side."""
        return -self.low if side else self.high

    def _ends(self, rows: pa.Table, side: int) -> np.ndarray:
        """Return the time up to which each row of a side can match rows of the other one."""
        ends, name = integers(rows["t"]) + self._reach(side), self.limits[side]
        return ends if name is None else np.minimum(ends, integers(one_chunk(rows[name]).fill_null(BEGINNING)))

    def _pairs(
        self, left: OrderedRows | None, right: OrderedRows | None, null: np.ndarray, old: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs with at least one new row."""
        if left is None or right is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        times = integers(left.rows["t"])
        partition = np.repeat(np.arange(len(left.starts) - 1), np.diff(left.starts))
        ranges = TimeRanges(right)
        begins = ranges.first_from(partition, times + self.low)
        ends = ranges.first_after(partition, self._ends(left.rows, 0))
        # Two old rows were paired before.
        begins = np.where(times > old, begins, np.maximum(begins, ranges.first_after(partition, np.array(old))))
        sizes = np.where(null[partition], 0, np.maximum(ends - begins, 0))
        one = np.repeat(np.arange(len(times)), sizes)
        other = np.arange(len(one)) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
        if self.limits[1] is not None:
            meets = times[one] <= self._ends(right.rows, 1)[other]
            one, other = one[meets], other[meets]
        return chosen_pairs(self.condition, left.rows, one, right.rows, other)

    def _settled(
        self, ordered: OrderedRows | None, side: int, null: np.ndarray, met: np.ndarray, bound: int
    ) -> tuple[Keep | None, np.ndarray]:
        """Return the rows of a side to keep, and those to emit without a partner."""
        nothing = np.zeros(0, np.int64)
        if ordered is None:
            return None, nothing
        over = self._ends(ordered.rows, side) <= bound
        # Rows with time limits of their own expire in another order than that of their times.
        first = ordered.starts[:-1] + (0 if self.limits[side] else count_flags(over, ordered.starts))
        pending = np.where(null, ordered.starts[1:], first)
        gone = over | np.repeat(null, np.diff(ordered.starts))
        among = ~gone if self.limits[side] else None
        if not self._marked(side):
            return Keep(pending, among=among), nothing
        before = ordered.rows[_MATCHED].fill_null(False).to_numpy()
        matched = before.copy()
        matched[met] = True
        keep = Keep(pending, marks={_MATCHED: pa.array(matched)}, among=among)
        if self.kind == JoinKind.SEMI:
            return keep, np.flatnonzero(matched & ~before)
        return keep, np.flatnonzero(gone & ~matched)

    def _single(self, rows: pa.Table, places: np.ndarray, side: int) -> pa.Table:
        """Return output rows of one side without a partner."""
        other = None if self.kind in (JoinKind.SEMI, JoinKind.ANTI) else self.columns[1 - side]
        return alone(self.sides[side], take_rows(rows, places), (LEFT, RIGHT)[side], other)


def time_holds(low: int, high: int) -> tuple[int | None, int | None]:
    """Return how many microseconds the left and the right time of a row may lie behind the bound at which it is
    emitted; None without a limit."""
    return _hold(high), _hold(-low)


def time_hold(kind: JoinKind, low: int, high: int) -> int | None:
    """Return how many microseconds the later time of a row may lie behind the bound at which it is emitted; None
    without a limit."""
    left, right = time_holds(low, high)
    match kind:
        case JoinKind.INNER:
            return 0
        case JoinKind.FULL:
            return None if left is None or right is None else max(left, right)
    return left


def _hold(reach: int) -> int | None:
    return None if reach >= UNBOUNDED else max(reach, 0)
