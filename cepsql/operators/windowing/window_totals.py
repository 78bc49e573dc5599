"""Windows of event time whose aggregates go on from row to row, so that no row of a window is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepsql.operators.one_relation import OneRelation
from cepsql.operators.running import Remembered, RunningCall
from cepsql.operators.windowing.distinct_values import DistinctValues
from cepsql.operators.windowing.partial_totals import (
    PANE,
    distinct_columns,
    joined_totals,
    total_values,
    totals_of,
    value_totals,
)
from cepsql.operators.windowing.window_kinds import Gaps, Places, Windows
from cepsql.operators.windowing.windows import END, START
from cepsql.ordered.keys import find_keys
from cepsql.ordered.operator import OrderedRows, Step
from cepsql.ordered.plain_columns import compact, integers, one_chunk, take_rows
from cepsql.ordered.row_layout import ROWS, RowLayout
from cepsql.ordered.sorting import stable_order

_OPEN, _LAST, _OVER = "open", "last", "over"


@dataclass(frozen=True)
class WindowTotals(OneRelation):
    """Gives out the aggregates of the rows of a key and a window as soon as no row to come can belong to it.

    It remembers for each key and window that is not over what each aggregate needs to go on, and the values of those
    that are distinct. A row may come until the last of its windows is over; those that are over already go on without.

    layout: the rows, with the arguments of aggregates as values, or what `PartialTotals` makes of them.
    calls:  aggregates as of `RunningOperator`.
    types:  of their values.
    wraps:  a sum of integers that outgrows BIGINT begins anew at the other end, in place of an error.
    Output columns: the keys of the layout, START, END, and one for each call.
    Raises OperationalError where a sum outgrows its type.
    """

    layout: RowLayout
    windows: Windows
    calls: tuple[RunningCall, ...]
    types: tuple[pa.DataType, ...]
    wraps: bool = False

    hold = 0

    @property
    def sections(self) -> Mapping[str, int]:
        return {_OPEN: 2} | {_once(column): 1 for column in distinct_columns(self.calls)}

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,), stored = rows, sections.get(_OPEN)
        names = [*self.layout.key_names, START]
        values = {column: DistinctValues(sections.get(_once(column)), names) for column in distinct_columns(self.calls)}
        parts = []
        places = None if ordered is None else self._places(ordered, old)
        # Between windows that are shorter than the time from one to the next there are rows of none.
        if ordered is not None and places is not None and len(places.place):
            taken = self._grouped(ordered, places, stored)
            remembered = Remembered(stored, names, taken.keys, len(taken.end))
            parts.append(self._totals(taken, None if stored is None else remembered, names, values))
            stored = remembered.others()
        if stored is not None and stored.num_rows:
            parts.append(stored)
        if not parts:
            return Step(pa.table({}), [None])
        every = pa.concat_tables(parts)
        over = integers(every[_OVER])
        closed = np.flatnonzero(over <= new)
        left = every.filter(pa.array(over > new))
        sections = {_OPEN: compact(left)} if left.num_rows else {}
        ended = [one_chunk(every[name]).take(pa.array(closed)) for name in names] if values and len(closed) else []
        for column, distinct in values.items():
            if ended:
                distinct.forget(ended)
            if distinct.rows is not None and distinct.rows.num_rows:
                sections[_once(column)] = compact(distinct.rows)
        return Step(self._output(every, closed, over), [None], sections, deadlines=over[over > new])

    def _places(self, ordered: OrderedRows, old: int) -> Places:
        """Return the windows of rows that have not come out yet."""
        if PANE in ordered.rows.column_names:
            place = ordered.rows.schema.get_field_index("t")
            ordered = replace(ordered, rows=ordered.rows.set_column(place, "t", ordered.rows[PANE]))
        places = self.windows.of(ordered, np.arange(ordered.rows.num_rows))
        return places.where(places.over > old)

    def _grouped(self, ordered: OrderedRows, in_windows: Places, stored: pa.Table | None) -> "_Grouped":
        """Lay the rows of each key and window together."""
        partition = np.searchsorted(ordered.starts, in_windows.place, "right") - 1
        order = np.lexsort((in_windows.place, in_windows.begin, partition))
        partition, begin = partition[order], in_windows.begin[order]
        first = np.concatenate([[True], (np.diff(partition) != 0) | (np.diff(begin) != 0)])
        heads = np.flatnonzero(first)
        starts = np.append(heads, len(order))
        places = in_windows.place[order]
        values = take_rows(ordered.rows.drop_columns(self.layout.key_names), places)
        owners = pa.array(ordered.starts[:-1][partition[heads]])
        keys = [ordered.rows[name].chunk(0).take(owners) for name in self.layout.key_names]
        last = integers(values["t"])[starts[1:] - 1]
        begins, ends, over = begin[heads], in_windows.end[order][heads], in_windows.over[order][heads]
        if isinstance(self.windows, Gaps) and stored is not None and stored.num_rows:
            begins = self._continued(self.windows.gap, keys, begins, partition[heads], stored)
        return _Grouped(values, starts, [*keys, pa.array(begins)], ends, over, last)

    def _continued(
        self, gap: int, keys: list[pa.Array], begins: np.ndarray, partition: np.ndarray, stored: pa.Table
    ) -> np.ndarray:
        """Return the beginnings of sessions, of which the first one of a key may be one that is open already."""
        names = self.layout.key_names
        count = len(begins)
        opening = np.flatnonzero(np.concatenate([[True], np.diff(partition) != 0]))
        held = [one_chunk(stored[name]) for name in names]
        chosen = pa.array(opening)
        right = [key.take(chosen) for key in keys]
        place = find_keys(held, stored.num_rows, right, len(opening)) if names else np.zeros(stored.num_rows, np.int64)
        last, first = integers(stored[_LAST]), integers(stored[START])
        goes_on = np.flatnonzero(place >= 0)
        goes_on = goes_on[begins[opening[place[goes_on]]] - last[goes_on] <= gap]
        continued = np.full(count, -1, np.int64)
        continued[opening[place[goes_on]]] = goes_on
        return np.where(continued < 0, begins, first[continued])

    def _totals(
        self, taken: "_Grouped", before: Remembered | None, names: list[str], values: Mapping[str, DistinctValues]
    ) -> pa.Table:
        """Return what to remember of the groups; their distinct values are added to `values`."""
        rows = taken.values
        if ROWS in rows.column_names:
            mine = [name for name in rows.column_names if name == ROWS or name.startswith("c")]
            totals = {name: one_chunk(rows[name]) for name in mine}
        else:
            totals = totals_of(rows, self.calls, [column.name for column in self.layout.values])
        for column, distinct in values.items():
            once = distinct.take(one_chunk(rows[column]), taken.starts, taken.keys)
            for number, call in enumerate(self.calls):
                if call.distinct and call.column == column:
                    totals |= {f"c{number}_{name}": part for name, part in value_totals(call, once).items()}
        group = np.repeat(np.arange(len(taken.end)), np.diff(taken.starts))
        if before is not None:
            # Groups that are new have NULL before their rows.
            totals = {name: pa.concat_arrays([before.column(name, part.type), part]) for name, part in totals.items()}
            group = np.concatenate([np.arange(len(taken.end)), group])
        order = stable_order(group)
        starts = np.searchsorted(group[order], np.arange(len(taken.end) + 1))
        sorted_totals = {name: part.take(pa.array(order)) for name, part in totals.items()}
        columns = dict(zip(names, taken.keys, strict=True))
        columns |= {END: pa.array(taken.end), _OVER: pa.array(taken.over), _LAST: pa.array(taken.last)}
        return pa.table({**columns, **joined_totals(sorted_totals, starts, self.calls)})

    def _output(self, groups: pa.Table, closed: np.ndarray, over: np.ndarray) -> pa.Table:
        """Return the values of the groups that are over, in the order in which they are."""
        if not len(closed):
            return pa.table({})
        chosen = compact(groups.take(pa.array(closed[stable_order(over[closed])])))
        columns = {name: chosen[name] for name in (*self.layout.key_names, START, END)}
        return pa.table(columns | total_values(self.calls, self.types, chosen, self.wraps))


def _once(column: str | None) -> str:
    """Return the name of a column without the values that its group had before, and of the section of its values."""
    return f"once_{column}"


@dataclass(frozen=True)
class _Grouped:
    """Rows of groups, one group after another.

    values: the rows without their keys.
    starts: where the rows of each group begin, and the number of rows at the end.
    keys:   of each group: the keys of its rows, and the beginning of its window.
    end, over, last: of each group the end of its window, the bound at which it is over, and the time of its last row.
    """

    values: pa.Table
    starts: np.ndarray
    keys: list[pa.Array]
    end: np.ndarray
    over: np.ndarray
    last: np.ndarray
