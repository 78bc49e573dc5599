"""The rows of a table while their time lasts: they come and go as the clock passes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.operators.changing.change_rows import IDENTITY, KIND, labelled, net_rows, signs
from cepsql.operators.one_relation import OneRelation
from cepsql.ordered.keys import find_keys, key_codes
from cepsql.ordered.operator import NEVER, OrderedRows, Step
from cepsql.ordered.plain_columns import integers, one_chunk, stack, take_rows
from cepsql.ordered.row_layout import BEGINNING, IDLE, RowLayout

ENTER, LEAVE = "enter", "leave"
"""BIGINT columns of rows: from when on a row is there, and when it is gone, in microseconds of the clock."""

EXPIRED = "expired"
"""The counter of rows that left because their time was over."""

_ROWS, _KEY = "rows", "k0"
_THERE, _SHOWN = "there", "shown"
"""How often a row is in the table, and how often it has been given out."""


@dataclass(frozen=True)
class TemporalFilterOperator(OneRelation):
    """Gives out the rows of a table from their ENTER on until their LEAVE; the clock is the bound of its stage.

    Its stage has to let rows come at once. Of each row it remembers what is to be given out later. A micro-batch takes
    the changes of the rows that it brings, and of others at most `limit` that come or go because of the time, those
    first whose time was first; more follow in the next micro-batch.

    layout:     the rows; the only key is their identity. ENTER, LEAVE and KIND are among the values, or not: rows
                without ENTER are there from the beginning, those without LEAVE for ever.
    retracting: rows are taken away, too; then the layout has KIND.
    limit:      None: without limit.
    Output columns: the values of the layout but these, and IDENTITY.
    """

    layout: RowLayout
    retracting: bool
    limit: int | None = None

    sections: ClassVar[dict[str, int]] = {_ROWS: 1}
    counters: ClassVar[tuple[str, ...]] = (EXPIRED,)
    hold = None
    changing: ClassVar[bool] = True

    @property
    def columns(self) -> list[str]:
        """The columns that are remembered of rows, the identity first."""
        return [_KEY, *(column.name for column in self.layout.values if column.name != KIND)]

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        whole, came = self._whole(self._came(rows[0]), sections.get(_ROWS))
        if whole is None:
            return Step(pa.table({}), [None])
        now = new if new > IDLE else BEGINNING
        there, shown = integers(whole[_THERE]), integers(whole[_SHOWN])
        enter, leave = self._times(whole, ENTER, BEGINNING), self._times(whole, LEAVE, NEVER)
        over = leave <= now
        target = np.where((enter <= now) & ~over, there, 0)
        by_time = ~came & (target != shown)
        moved = came | self._first(by_time, np.where(over, leave, enter))
        weights = np.where(moved, target - shown, 0)
        shown = np.where(moved, target, shown)
        # A row that is gone, or there for ever, need not be remembered.
        done = (shown == target) & (over | ((enter <= now) & (leave == NEVER)) | (there == 0))
        remaining = np.flatnonzero(~done)
        output, changes = self._output(whole, weights)
        expired = int(np.abs(weights[by_time & over]).sum())
        if not len(remaining):
            return Step(output, [None], {}, {EXPIRED: expired}, changes)
        stays = take_rows(whole.select([*self.columns, _THERE]), remaining)
        stays = stays.append_column(_SHOWN, pa.array(shown[remaining]))
        deadlines = np.where(enter[remaining] > now, enter[remaining], leave[remaining])
        return Step(output, [None], {_ROWS: stays}, {EXPIRED: expired}, changes, deadlines)

    def _came(self, ordered: OrderedRows | None) -> pa.Table | None:
        """Return the rows that came, with how often each is added."""
        if ordered is None or ordered.rows.num_rows == 0:
            return None
        rows = ordered.rows
        change = signs(one_chunk(rows[KIND])) if self.retracting else np.ones(rows.num_rows, np.int64)
        nothing = pa.array(np.zeros(rows.num_rows, np.int64))
        return rows.select(self.columns).append_column(_THERE, pa.array(change)).append_column(_SHOWN, nothing)

    def _whole(self, came: pa.Table | None, stored: pa.Table | None) -> tuple[pa.Table | None, np.ndarray]:
        """Return the rows that are remembered and those that came, equal ones once, and which of them have an identity
        of which rows came."""
        if came is None:
            return stored, np.zeros(0 if stored is None else stored.num_rows, bool)
        others = None
        if self.retracting:
            if stored is not None:
                keys = [one_chunk(stored[_KEY])], stored.num_rows, [one_chunk(came[_KEY])], came.num_rows
                mine = pa.array(find_keys(*keys) >= 0)
                others = stored.filter(pc.invert(mine))
                came = stack([stored.filter(mine), came])
            came = self._netted(came)
        else:
            others = stored
        if others is None:
            return came, np.ones(came.num_rows, bool)
        whole = stack([others, came])
        return whole, np.arange(whole.num_rows) >= others.num_rows

    def _netted(self, rows: pa.Table) -> pa.Table:
        """Return different rows, each with the sums of how often it is there, and was given out."""
        columns = [one_chunk(rows[name]) for name in self.columns]
        first, there, codes = net_rows(columns, integers(rows[_THERE]))
        shown = np.zeros(len(first), np.int64)
        np.add.at(shown, codes, integers(rows[_SHOWN]))
        netted = take_rows(rows.select(self.columns), first)
        return netted.append_column(_THERE, pa.array(there)).append_column(_SHOWN, pa.array(shown))

    def _times(self, rows: pa.Table, name: str, default: int) -> np.ndarray:
        if name not in rows.column_names:
            return np.full(rows.num_rows, default)
        return np.clip(integers(rows[name]), BEGINNING, NEVER - 1)

    def _first(self, due: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return which of the rows that are due this micro-batch takes: the first ones by their times."""
        places = np.flatnonzero(due)
        if self.limit is None or len(places) <= self.limit:
            return due
        taken = np.zeros(len(due), bool)
        taken[places[np.argsort(times[places], kind="stable")[: self.limit]]] = True
        return taken

    def _output(self, rows: pa.Table, weights: np.ndarray) -> tuple[pa.Table, pa.Array | None]:
        chosen = np.flatnonzero(weights)
        if not len(chosen):
            return pa.table({}), None
        chosen_rows = take_rows(rows.select(self.columns), chosen)
        owners, _ = key_codes([one_chunk(chosen_rows[_KEY])], chosen_rows.num_rows)
        places, changes = labelled(owners.astype(np.int64), weights[chosen])
        output = chosen_rows.drop_columns([name for name in (_KEY, ENTER, LEAVE) if name in chosen_rows.column_names])
        return take_rows(output.append_column(IDENTITY, chosen_rows[_KEY]), places), changes
