"""Pairs of rows of two streams with equal keys whose event times lie close to each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.time_ranges import TimeRanges
from cepsql.ordered.columns import integers
from cepsql.ordered.operator import Keep, OrderedRows, Step
from cepsql.ordered.row_layout import RowLayout

LEFT, RIGHT = "l_", "r_"
"""What the names of the columns of either side begin with in the output."""

_MATCHED = "matched"


@dataclass(frozen=True)
class IntervalJoin:
    """Gives out the pairs of rows with equal keys and low <= right time - left time <= high.

    A pair comes out as soon as both rows are released, so in the order of the later one of the two times. A key with
    NULL meets nobody. Rows that no row to come can meet are forgotten.

    Output columns: the keys k*, `t`, which is the later time, and the columns of each side after LEFT and RIGHT, the
    times l_t and r_t among them.

    left, right: the layouts of the two sides.
    low, high:   microseconds, low <= high.
    outer:       the columns of the right side for a LEFT JOIN, else None. Then a left row that met nobody comes out as
                 soon as no row to come can meet it, with NULL for the right side. No further condition may be asked of
                 its pairs afterwards: a row whose pairs all fail it would be missing.
    """

    left: RowLayout
    right: RowLayout
    low: int
    high: int
    outer: pa.Schema | None = None

    sections: ClassVar[dict[str, int]] = {}
    counters = ("pairs", "unmatched")
    changing = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.left, self.right)

    @property
    def marks(self) -> tuple[Mapping[str, pa.DataType], ...]:
        return ({} if self.outer is None else {_MATCHED: pa.bool_()}, {})

    @property
    def hold(self) -> int:
        return 0 if self.outer is None else self.holds[0]

    @property
    def holds(self) -> tuple[int, int]:
        """How many microseconds the left and the right time of an output row may lie behind the bound."""
        return time_holds(self.low, self.high)

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        """Rows go when no row to come can meet them."""
        return integers(held.rows["t"])[held.pending] + self._reach(side)

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        left, right = rows
        null = np.any([_null_keys(side, self.left.key_names) for side in rows if side is not None], axis=0)
        one, other = self._pairs(left, right, null, old)
        tables, keep = [], [self._keep(side, number, null, new) for number, side in enumerate(rows)]
        if left is not None and right is not None and len(one):
            tables.append(self._output(left.rows, one, right.rows.take(pa.array(other))))
        if left is not None and self.outer is not None:
            matched = left.rows[_MATCHED].fill_null(False).to_numpy().copy()
            matched[one] = True
            kept = keep[0]
            assert kept is not None
            alone = ~matched & self._gone(left, kept)
            keep[0] = Keep(kept.pending, marks={_MATCHED: pa.array(matched)})
            places = np.flatnonzero(alone)
            if len(places):
                nothing = pa.table({f.name: pa.nulls(len(places), f.type) for f in self.outer})
                tables.append(self._output(left.rows, places, nothing))
        output = pa.concat_tables(tables) if tables else pa.table({})
        if tables:
            output = output.take(pa.array(np.argsort(integers(output["t"]), kind="stable")))
        return Step(output, keep, counts={"pairs": len(one), "unmatched": output.num_rows - len(one)})

    def _reach(self, side: int) -> int:
        """Return for how long after its time a row of a side can meet rows that are released."""
        return -self.low if side else self.high

    def _pairs(
        self, left: OrderedRows | None, right: OrderedRows | None, null: np.ndarray, old: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the pairs of which at least one row is new."""
        if left is None or right is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        times = integers(left.rows["t"])
        partition = np.repeat(np.arange(len(left.starts) - 1), np.diff(left.starts))
        ranges = TimeRanges(right)
        begins = ranges.first_from(partition, times + self.low)
        ends = ranges.first_after(partition, times + self.high)
        # Two rows that were both there before have met.
        begins = np.where(times > old, begins, np.maximum(begins, ranges.first_after(partition, np.array(old))))
        sizes = np.where(null[partition], 0, np.maximum(ends - begins, 0))
        one = np.repeat(np.arange(len(times)), sizes)
        return one, np.arange(len(one)) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)

    def _keep(self, ordered: OrderedRows | None, side: int, null: np.ndarray, bound: int) -> Keep | None:
        """Keep the rows that rows to come can meet: those come at the bound + 1 or later."""
        if ordered is None:
            return None
        over = np.concatenate([[0], np.cumsum(integers(ordered.rows["t"]) <= bound - self._reach(side))])
        first = ordered.starts[:-1] + over[ordered.starts[1:]] - over[ordered.starts[:-1]]
        return Keep(np.where(null, ordered.starts[1:], first))

    def _gone(self, ordered: OrderedRows, keep: Keep) -> np.ndarray:
        """Tell which rows are not kept."""
        return np.arange(ordered.rows.num_rows) < np.repeat(keep.pending, np.diff(ordered.starts))

    def _output(self, left: pa.Table, places: np.ndarray, right: pa.Table) -> pa.Table:
        """Return pairs as rows; `right` has as many rows as there are places in `left`."""
        keys = self.left.key_names
        mine = left.take(pa.array(places))
        columns = {name: mine[name] for name in keys}
        columns["t"] = mine["t"]
        if not right["t"].null_count:
            columns["t"] = pa.array(np.maximum(integers(mine["t"]), integers(right["t"])))
        columns |= {LEFT + name: mine[name] for name in _own(self.left, mine)}
        columns |= {RIGHT + name: right[name] for name in _own(self.right, right)}
        return pa.table(columns)


def time_holds(low: int, high: int) -> tuple[int, int]:
    """Return how many microseconds the left and the right time of a pair may lie behind the bound at which it comes."""
    return max(high, 0), max(-low, 0)


def _own(layout: RowLayout, table: pa.Table) -> list[str]:
    """Return the columns of a side that are neither keys nor marks."""
    names = ["t", *(column.name for column in (*layout.order, *layout.values))]
    return [*names, "m"] if "m" in table.column_names and layout.predicates else names


def _null_keys(ordered: OrderedRows, names: Sequence[str]) -> np.ndarray:
    """Tell which partitions have a key with NULL."""
    null = np.zeros(len(ordered.starts) - 1, bool)
    filled = np.flatnonzero(np.diff(ordered.starts))
    for name in names:
        column = ordered.rows[name].chunk(0)
        if column.null_count:
            null[filled] |= column.take(pa.array(ordered.starts[filled])).is_null().to_numpy(zero_copy_only=False)
    return null
