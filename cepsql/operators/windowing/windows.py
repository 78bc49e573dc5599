"""Windows of event time over the rows of each key: whose rows come out together when a window is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from cepsql.operators.time_ranges import micros
from cepsql.ordered.operator import NEVER, Keep, OrderedRows, Step, WholeSections
from cepsql.ordered.plain_columns import count_flags, integers, take_rows
from cepsql.ordered.row_layout import RowLayout

START, END = "window_start", "window_end"
"""The BIGINT columns with the bounds of a row's window, microseconds; the end is no part of it."""

TIME = "window_time"
"""What SQL calls the last millisecond of a window, the event time of what is made of its rows for a next window."""

REPEATED = "__repeated"
"""A BOOLEAN column of rows of a stream, one for each window of a row, that is true in all of these but one."""

FIRST, PLACE = "first", "place"
"""A BOOLEAN column that is true in one row of each key and window, and a BIGINT one with the place of a row there."""

_DUE = "due"


@dataclass(frozen=True)
class FixedWindows(WholeSections):
    """Gives out all rows of a key and a window as soon as no row to come can belong to it.

    Windows begin every `slide` microseconds, `offset` after the epoch, and last `size`; a row comes out with each
    window that it lies in, if any. Rows whose windows are all over are forgotten.

    Output columns: those of the layout, START, END, FIRST and PLACE.
    """

    layout: RowLayout
    size: int
    slide: int
    offset: int = 0

    sections: ClassVar[dict[str, int]] = {}
    counters: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[Mapping[str, pa.DataType], ...]] = ({_DUE: pa.int64()},)
    hold = 0
    changing = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.layout,)

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        return np.minimum.reduceat(integers(held.rows[_DUE]), held.starts[:-1])

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None:
            return Step(pa.table({}), [None])
        times = integers(ordered.rows["t"])
        latest = times - np.mod(times - self.offset, self.slide)
        places, begins = [], []
        for number in range(-(-self.size // self.slide)):
            begin = latest - number * self.slide
            last = begin + self.size - 1
            closed = np.flatnonzero((last >= times) & (last > old) & (last <= new))
            places.append(closed)
            begins.append(begin[closed])
        place, begin = np.concatenate(places), np.concatenate(begins)
        output = windowed_rows(ordered, _DUE, place, begin, begin + self.size)
        due = self._due(times, latest, new)
        first = ordered.starts[:-1] + count_flags(due == NEVER, ordered.starts)
        return Step(output, [Keep(first, marks={_DUE: pa.array(due)})])

    def _due(self, times: np.ndarray, latest: np.ndarray, bound: int) -> np.ndarray:
        """Return the bound at which the next window of each row is over, NEVER if all are."""
        # The last moment of a window whose rows have not come out lies above the bound, and not before its row.
        earliest = np.maximum(times, bound + 1)
        last = latest + self.size - 1
        further = np.minimum(np.floor_divide(last - earliest, self.slide), -(-self.size // self.slide) - 1)
        return np.where(further < 0, NEVER, last - further * self.slide)


@dataclass(frozen=True)
class Sessions(WholeSections):
    """Gives out all rows of a session of a key as soon as no row to come can belong to it.

    A row at most `gap` microseconds, at least 1, after the one before it belongs to the same session. A session begins
    at its first row and ends `gap` after its last one. Output columns as of `FixedWindows`.
    """

    layout: RowLayout
    gap: int

    sections: ClassVar[dict[str, int]] = {}
    counters: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[Mapping[str, pa.DataType], ...]] = ({},)
    hold = 0
    changing = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.layout,)

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        return integers(held.rows["t"])[held.starts[1:] - 1] + self.gap

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None:
            return Step(pa.table({}), [None])
        times, starts = integers(ordered.rows["t"]), ordered.starts
        begins = np.concatenate([[True], np.diff(times) > self.gap])
        begins[starts[:-1][starts[:-1] < len(times)]] = True
        first = np.flatnonzero(begins)
        session = np.cumsum(begins) - 1
        end = times[np.append(first[1:], len(times)) - 1] + self.gap
        closed = end <= new
        place = np.flatnonzero(closed[session])
        output = windowed_rows(ordered, None, place, times[first][session[place]], end[session[place]])
        return Step(output, [Keep(starts[:-1] + count_flags(closed[session], starts))])


@dataclass(frozen=True)
class GivenWindows(WholeSections):
    """Gives out all rows of a partition, which lie in the same window, as soon as no row to come can belong to it.

    bounds: the columns of the layout, timestamps, with the bounds of each row's window.
    Output columns as of `FixedWindows`.
    """

    layout: RowLayout
    bounds: tuple[str, str]

    sections: ClassVar[dict[str, int]] = {}
    counters: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[Mapping[str, pa.DataType], ...]] = ({},)
    hold = 0
    changing = False

    @property
    def sides(self) -> tuple[RowLayout, ...]:
        return (self.layout,)

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        return self._bound(held, 1)[held.starts[:-1]] - 1

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None:
            return Step(pa.table({}), [None])
        starts, end = ordered.starts, self._bound(ordered, 1)
        closed = end <= new + 1
        places = np.flatnonzero(closed)
        output = windowed_rows(ordered, None, places, self._bound(ordered, 0)[places], end[places])
        return Step(output, [Keep(starts[:-1] + count_flags(closed, starts))])

    def _bound(self, ordered: OrderedRows, number: int) -> np.ndarray:
        return micros(ordered.rows[self.bounds[number]])


def windowed_rows(
    ordered: OrderedRows, mark: str | None, places: np.ndarray, begins: np.ndarray, ends: np.ndarray
) -> pa.Table:
    """Return the rows at these places with their windows, key by key, window by window, in the order of the rows."""
    if len(places) == 0:
        return pa.table({})
    partition = np.searchsorted(ordered.starts, places, "right") - 1
    order = np.lexsort((places, begins, partition))
    places, begins, ends, partition = places[order], begins[order], ends[order], partition[order]
    first = np.concatenate([[True], (np.diff(partition) != 0) | (np.diff(begins) != 0)])
    group = np.flatnonzero(first)
    place = np.arange(len(places)) - np.repeat(group, np.diff(np.append(group, len(places))))
    rows = ordered.rows if mark is None else ordered.rows.drop_columns([mark])
    output = take_rows(rows, places)
    for name, column in ((START, begins), (END, ends), (FIRST, first), (PLACE, place)):
        output = output.append_column(name, pa.array(column))
    return output
