"""In which windows of event time rows lie, and until when a row can still take part in one."""

from dataclasses import dataclass
from math import gcd
from typing import Protocol

import numpy as np
import pyarrow as pa

from cepsql.operators.time_ranges import micros
from cepsql.ordered.operator import OrderedRows
from cepsql.ordered.plain_columns import integers


@dataclass(frozen=True)
class Places:
    """Rows in their windows: the place of a row, the bounds of a window, and the bound at which it is over."""

    place: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    over: np.ndarray

    def where(self, chosen: np.ndarray) -> "Places":
        """Return some of them."""
        return Places(self.place[chosen], self.begin[chosen], self.end[chosen], self.over[chosen])


class Windows(Protocol):
    """Tells in which windows rows lie."""

    def of(self, ordered: OrderedRows, places: np.ndarray) -> Places:
        """Return the windows of the rows at these places, ascending, as if there were no others."""
        ...


class OwnWindows(Windows, Protocol):
    """Windows in which a row lies whatever the other rows are."""

    def until(self, rows: pa.Table | pa.RecordBatch) -> np.ndarray:
        """Return the last moment of the last window of each row (int64): at this bound the row is late."""
        ...

    def panes(self, rows: pa.Table | pa.RecordBatch) -> np.ndarray:
        """Return an event time for each row (int64): rows of a partition with the same one lie in the same windows, and
        so does a row of that time."""
        ...


@dataclass(frozen=True)
class Fixed:
    """Windows that begin every `slide` microseconds, `offset` after the epoch, and last `size`."""

    size: int
    slide: int
    offset: int = 0

    def of(self, ordered: OrderedRows, places: np.ndarray) -> Places:
        times = integers(ordered.rows["t"])[places]
        latest = self._before(times, self.slide)
        begins = [latest - number * self.slide for number in range(-(-self.size // self.slide))]
        inside = [begin + self.size > times for begin in begins]
        begin = np.concatenate([one[there] for one, there in zip(begins, inside, strict=True)])
        place = np.concatenate([places[there] for there in inside])
        return Places(place, begin, begin + self.size, begin + self.size - 1)

    def until(self, rows: pa.Table | pa.RecordBatch) -> np.ndarray:
        times, pane = integers(rows["t"]), self._pane
        # Between windows that are shorter than the time from one to the next there are rows of none.
        ends = np.maximum(self._before(times, self.slide) + self.size, self._before(times, pane) + pane)
        return ends - 1

    def panes(self, rows: pa.Table | pa.RecordBatch) -> np.ndarray:
        return self._before(integers(rows["t"]), self._pane)

    @property
    def _pane(self) -> int:
        return gcd(self.size, self.slide)

    def _before(self, times: np.ndarray, step: int) -> np.ndarray:
        return times - np.mod(times - self.offset, step)


@dataclass(frozen=True)
class Given:
    """Windows whose bounds are columns of the rows, the same in all rows of a partition."""

    bounds: tuple[str, str]

    def of(self, ordered: OrderedRows, places: np.ndarray) -> Places:
        begin, end = (self._bound(ordered.rows, number)[places] for number in (0, 1))
        return Places(places, begin, end, end - 1)

    def until(self, rows: pa.Table | pa.RecordBatch) -> np.ndarray:
        return self._bound(rows, 1) - 1

    def panes(self, rows: pa.Table | pa.RecordBatch) -> np.ndarray:
        return self.until(rows)

    def _bound(self, rows: pa.Table | pa.RecordBatch, number: int) -> np.ndarray:
        return micros(rows[self.bounds[number]])


@dataclass(frozen=True)
class Gaps:
    """Sessions: a row at most `gap` microseconds after the one before it belongs to the same one."""

    gap: int

    def of(self, ordered: OrderedRows, places: np.ndarray) -> Places:
        if len(places) == 0:
            return Places(places, places, places, places)
        times = integers(ordered.rows["t"])[places]
        partition = np.searchsorted(ordered.starts, places, "right")
        begins = np.concatenate([[True], (np.diff(times) > self.gap) | (np.diff(partition) != 0)])
        first = np.flatnonzero(begins)
        session = np.cumsum(begins) - 1
        end = (times[np.append(first[1:], len(times)) - 1] + self.gap)[session]
        return Places(places, times[first][session], end, end)
