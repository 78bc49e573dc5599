"""The rows of a table in the state of an operator, with the count of each, and how a micro-batch changes it."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.changing.change_rows import KIND, equal_values, net_rows
from cepsql.operators.one_relation import OneRelation
from cepsql.ordered.keys import find_keys
from cepsql.ordered.operator import KeyedSections
from cepsql.ordered.plain_columns import integers, one_chunk, stack, take_rows
from cepsql.ordered.sorting import partition_rows

ROWS = "rows"
"""The section with the rows."""

GROUP, WAS, CHANGE = "group", "was", "change"
"""Further columns of the rows: the number of the key in the batch, the count of a row, and the change of the count."""


class TableRows(KeyedSections, OneRelation):
    """A base class of operators whose state has the rows of each key.

    retracting: rows are also retracted.
    """

    retracting: bool

    sections: ClassVar[dict[str, int]] = {ROWS: 1}
    hold = None
    changing: ClassVar[bool] = True

    @property
    def order(self) -> list[str]:
        """The order columns of the rows of a key."""
        return [column.name for column in self.layout.order]

    @property
    def columns(self) -> list[str]:
        """The columns of rows beside their key."""
        return [*self.order, *(column.name for column in self.layout.values if column.name != KIND)]

    def keys_of(self, keys: list[pa.Array], group: np.ndarray) -> dict[str, pa.Array]:
        """Return the key columns of rows with these numbers of their keys."""
        return columns_of(take_rows(pa.table(keys, self.layout.key_names), group))

    def came(self, rows: pa.Table, group: np.ndarray, change: np.ndarray) -> pa.Table:
        """Return new rows with the numbers of their keys, and the change of each one's count."""
        nothing = pa.array(np.zeros(len(group), np.int64))
        return pa.table({**columns_of(rows), GROUP: group, WAS: nothing, CHANGE: pa.array(change, pa.int64())})

    def rows_of_keys(
        self, stored: pa.Table | None, keys: list[pa.Array], count: int
    ) -> tuple[pa.Table | None, pa.Table | None]:
        """Split the stored rows into those of these keys, with the keys' numbers, and the others; None without any."""
        if stored is None:
            return None, None
        names, size = self.layout.key_names, stored.num_rows
        held = [one_chunk(stored[name]) for name in names]
        group = find_keys(held, size, keys, count) if names else np.zeros(size, np.int64)
        mine = group >= 0
        rows = stored.select([*self.columns, WAS]).filter(pa.array(mine))
        nothing = pa.array(np.zeros(rows.num_rows, np.int64))
        table = pa.table({**columns_of(rows), GROUP: pa.array(group[mine]), CHANGE: nothing})
        rows_before = table.select([*self.columns, GROUP, WAS, CHANGE])
        return rows_before, None if mine.all() else stored.filter(pa.array(~mine))

    def in_order(self, rows: pa.Table) -> pa.Table:
        """Sort rows by key and order; rows that are equal in it by their values."""
        # Equal times let the order columns decide.
        timed = rows.append_column("t", pa.array(np.zeros(rows.num_rows, np.int64)))
        rest = [name for name in self.columns if name not in self.order]
        return partition_rows(timed, [GROUP], "t", self.layout.order, rest)[0]

    def remembered(
        self, keys: list[pa.Array], rows: pa.Table, numbers: np.ndarray, others: pa.Table | None
    ) -> dict[str, pa.Table]:
        """Return the section with the rows that have a count, and those of other keys."""
        there = np.flatnonzero(numbers)
        columns = columns_of(take_rows(rows.select(self.columns), there))
        keyed = self.keys_of(keys, integers(rows[GROUP])[there])
        table = pa.table({**keyed, **columns, WAS: pa.array(numbers[there])})
        whole = table if others is None else stack([others, table])
        return {ROWS: whole} if whole.num_rows else {}


def netted(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return distinct rows with the sums of their counts and of the changes of these."""
    equal = [one_chunk(rows[name]) for name in (GROUP, *names)]
    first, change, codes = net_rows(equal, integers(rows[CHANGE]))
    was = np.zeros(len(first), np.int64)
    np.add.at(was, codes, integers(rows[WAS]))
    netted_rows = rows.select([*names, GROUP]).take(pa.array(first))
    return netted_rows.append_column(WAS, pa.array(was)).append_column(CHANGE, pa.array(change))


def peers(rows: pa.Table, order: Sequence[str], group: np.ndarray) -> np.ndarray:
    """Number the rows in order, with one number for rows of a group that are equal in the order."""
    differs = np.diff(group) != 0
    for name in order:
        column = one_chunk(rows[name])
        differs |= ~equal_values(column[:-1], column[1:])
    return np.concatenate([[0], np.cumsum(differs)])[: len(group)]


def columns_of(table: pa.Table) -> dict[str, pa.Array]:
    """Return the columns of a table by their names, each in one chunk."""
    return {name: one_chunk(table[name]) for name in table.column_names}
