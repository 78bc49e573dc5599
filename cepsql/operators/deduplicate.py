"""The first row of each key within a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.one_relation import OneRelation
from cepsql.operators.time_ranges import TimeRanges
from cepsql.ordered.operator import KeyedSections, OrderedRows, Step
from cepsql.ordered.per_key import NUMBER, read_numbers, write_numbers
from cepsql.ordered.plain_columns import integers, take_rows
from cepsql.ordered.row_layout import BEGINNING, RowLayout
from cepsql.ordered.sorting import stable_order

_KEPT = "kept"


@dataclass(frozen=True)
class DeduplicateOperator(KeyedSections, OneRelation):
    """Gives out the first row of each key, and leaves out the rows of the key less than `within` after it.

    The first row of a key that comes `within` or more after the last one given out is given out again. First means: in
    the order of event time, then of the order columns, then of arrival, then of the others; so the output does not
    depend on micro-batches. NULL is a key like others.

    It remembers the time of the last row given out for each key until `within` has passed. With keys that are all
    columns of a row and `within` = 1 it is SELECT DISTINCT over rows with an event time, and remembers nothing.

    layout: the rows, which are given out with the columns that they have.
    within: microseconds, at least 1; None: for ever.
    """

    layout: RowLayout
    within: int | None

    sections: ClassVar = {_KEPT: 1}
    counters: ClassVar[tuple[str, ...]] = ("duplicates",)
    hold = 0

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,), stored, names = rows, sections.get(_KEPT), self.layout.key_names
        if ordered is None:
            return Step(pa.table({}), [None], self._remembered(stored, new))
        keys = [ordered.rows[name].chunk(0).take(pa.array(ordered.starts[:-1])) for name in names]
        count, times = len(ordered.pending), integers(ordered.rows["t"])
        last = read_numbers(stored, names, keys, count, BEGINNING)
        chosen = self._chosen(ordered, last)
        chosen = chosen[stable_order(times[chosen])]
        partition = np.searchsorted(ordered.starts, chosen, "right") - 1
        last[partition] = times[chosen]
        stored = write_numbers(stored, names, keys, last, np.ones(count, bool))
        counts = {"duplicates": ordered.rows.num_rows - len(chosen)}
        return Step(take_rows(ordered.rows, chosen), [None], self._remembered(stored, new), counts)

    def _chosen(self, ordered: OrderedRows, last: np.ndarray) -> np.ndarray:
        """Return the positions of the rows to give out; `last` is when a row of the key was given out before."""
        starts, size = ordered.starts, ordered.rows.num_rows
        if self.within is None:
            return starts[:-1][last == BEGINNING]
        ranges = TimeRanges(ordered)
        first = np.where(last == BEGINNING, starts[:-1], ranges.first_from(np.arange(len(last)), last + self.within))
        # The row given out after each row, if that one is; the number of rows stands for none.
        following = ranges.first_from(ranges.partition, ranges.times + self.within)
        following = np.append(np.where(following < starts[ranges.partition + 1], following, size), size)
        chosen = np.zeros(size + 1, bool)
        chosen[first[first < starts[1:]]] = True
        chosen[size] = True
        # After n rounds all rows are found that come up to 2**n rows after the first of their key.
        while True:
            further = following[np.flatnonzero(chosen)]
            if chosen[further].all():
                return np.flatnonzero(chosen[:-1])
            chosen[further] = True
            following = following[following]

    def forgets(self, section: str, rows: pa.Table, bound: int) -> np.ndarray | None:
        # The next row comes at the bound + 1 or later.
        return None if self.within is None else integers(rows[NUMBER]) <= bound + 1 - self.within

    def _remembered(self, stored: pa.Table | None, bound: int) -> Mapping[str, pa.Table]:
        """Return the section without the keys of which every row to come is given out."""
        return {} if stored is None else {_KEPT: self.lasting(_KEPT, stored, bound)}
