"""Rows that each set or delete what stands under a key, as changes of the table that they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.changing.change_rows import IDENTITY, equal_values, identities, labelled
from cepsql.operators.one_relation import OneRelation
from cepsql.operators.running import Remembered
from cepsql.ordered.operator import NEVER, KeyedSections, OrderedRows, Step
from cepsql.ordered.plain_columns import flags, integers, take_rows
from cepsql.ordered.row_layout import RowLayout

GONE = "gone"
"""The BOOLEAN column of rows that delete."""

_ROWS = "rows"


@dataclass(frozen=True)
class UpsertsOperator(KeyedSections, OneRelation):
    """Gives out how each key's row changes: what it was before a micro-batch, and what it is after it.

    Of the rows of a key the last one counts, in the order of the layout, whatever order they come in: a row that is
    older than the one that counted before is outdated and changes nothing. Its stage has to let rows come at once. The
    row of each key is remembered; a deletion is until the bound has passed it, and from then on a row of an unknown key
    that is older than the bound is outdated, for it may be older than a deletion.

    layout: the rows, with GONE among the values.
    timed:  `t` is an event time. Else rows come in their order, and no row is outdated.
    Output columns: the keys and values of the layout but GONE, and IDENTITY.
    """

    layout: RowLayout
    timed: bool

    sections: ClassVar[dict[str, int]] = {_ROWS: 1}
    counters: ClassVar[tuple[str, ...]] = ("outdated",)
    hold = None
    changing: ClassVar[bool] = True

    @property
    def values(self) -> list[str]:
        """The columns that are set."""
        return [column.name for column in self.layout.values if column.name != GONE]

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,), stored = rows, sections.get(_ROWS)
        if ordered is None or ordered.rows.num_rows == 0:
            return Step(pa.table({}), [None], sections)
        names, count = self.layout.key_names, len(ordered.starts) - 1
        last = take_rows(ordered.rows, ordered.starts[1:] - 1)
        keys = [last[name].chunk(0) for name in names]
        before = Remembered(None if stored is None else self.lasting(_ROWS, stored, old), names, keys, count)
        times = before.column("t", pa.int64())
        there = times.is_valid().to_numpy(zero_copy_only=False)
        # Until the bound has passed a time nothing of that time is forgotten.
        least = np.where(there, integers(times.fill_null(0)), old if self.timed else -NEVER)
        outdated = integers(ordered.rows["t"]) < np.repeat(least, np.diff(ordered.starts))
        applied = integers(last["t"]) >= least
        gone = flags(last[GONE])
        was_gone = flags(before.column(GONE, pa.bool_()))
        had, has = there & ~was_gone, ~gone
        differs = np.zeros(count, bool)
        earlier = {}
        for name in self.values:
            column = last[name].chunk(0)
            earlier[name] = before.column(name, column.type)
            differs |= ~equal_values(earlier[name], column)
        leaves, comes = applied & had & (~has | differs), applied & has & (~had | differs)
        output, changes = self._output(keys, earlier, last, leaves, comes)
        table = last.select([*names, "t", GONE, *self.values])
        table = table.set_column(len(names) + 1, GONE, pa.array(gone))
        remembered = before.replaced_by(table.filter(pa.array(applied)), applied)
        counts = {"outdated": int(np.count_nonzero(outdated))}
        return Step(output, [None], {_ROWS: self.lasting(_ROWS, remembered, new)}, counts, changes)

    def forgets(self, section: str, rows: pa.Table, bound: int) -> np.ndarray:
        # A deletion that the bound has passed is undone by no row.
        gone = flags(rows[GONE])
        return gone & (integers(rows["t"]) < bound) if self.timed else gone

    def _output(
        self,
        keys: list[pa.Array],
        earlier: Mapping[str, pa.Array],
        last: pa.Table,
        leaves: np.ndarray,
        comes: np.ndarray,
    ) -> tuple[pa.Table, pa.Array]:
        out, into = np.flatnonzero(leaves), np.flatnonzero(comes)
        owners = np.concatenate([out, into])
        places, changes = labelled(owners, np.repeat([-1, 1], [len(out), len(into)]))
        chosen, from_out, from_in = pa.array(places), pa.array(out), pa.array(into)
        columns = {}
        for name, key in zip(self.layout.key_names, keys, strict=True):
            columns[name] = key.take(pa.array(owners[places]))
        for name in self.values:
            both = pa.concat_arrays([earlier[name].take(from_out), last[name].chunk(0).take(from_in)])
            columns[name] = both.take(chosen)
        columns[IDENTITY] = identities([columns[name] for name in self.layout.key_names], len(places))
        return pa.table(columns), changes
