"""Where times lie among the rows of partitions."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.cached_property import cached_property
from cepsql.base.calendar import DAY
from cepsql.ordered.keys import key_codes
from cepsql.ordered.operator import OrderedRows
from cepsql.ordered.plain_columns import integers, one_chunk

_MOST = 2**62


class TimeRanges:
    """Finds rows by partition and event time, many at once.

    times:     the event time of each row.
    partition: the number of each row's partition.
    order:     columns behind the time by which rows are in order; rows that are equal in both make a group.
    """

    def __init__(self, ordered: OrderedRows, order: Sequence[str] = ()):
        self.times = integers(ordered.rows["t"])
        self.partition = np.repeat(np.arange(len(ordered.starts) - 1), np.diff(ordered.starts))
        self._low, self._high = (int(self.times.min()), int(self.times.max())) if len(self.times) else (0, 0)
        self._distinct, self._width = None, self._high - self._low + 2
        if self._width * len(ordered.starts) >= _MOST:
            self._distinct = np.unique(self.times)
            self._width = len(self._distinct) + 1
        self._places = self._place(self.partition, self.times)
        self._ordered, self._order = ordered, order

    def first_from(self, partition: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the first row at or after each time in its partition, the partition's end where there is none."""
        return np.searchsorted(self._places, self._place(partition, times))

    def first_after(self, partition: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the first row after each time in its partition, the partition's end where there is none."""
        return self.first_from(partition, times + 1)

    def group_starts(self, rows: np.ndarray, groups: int) -> np.ndarray:
        """Return where the groups begin that are so many after those of these rows, the end of all rows if
        there is none.

        The place after the last row of a partition is in the next group.
        """
        own = np.searchsorted(self._groups, rows, side="right") - 1
        return self._groups[np.clip(own + groups, 0, len(self._groups) - 1)]

    @cached_property
    def first_alike(self) -> np.ndarray:
        """Of each row, the first one of its partition and time."""
        begins = self._begins_alike
        return np.repeat(begins[:-1], np.diff(begins))

    @cached_property
    def end_alike(self) -> np.ndarray:
        """Of each row, the place after the last one of its partition and time."""
        begins = self._begins_alike
        return np.repeat(begins[1:], np.diff(begins))

    @cached_property
    def _begins_alike(self) -> np.ndarray:
        return np.concatenate([[0], np.flatnonzero(np.diff(self._places)) + 1, [len(self._places)]])

    @cached_property
    def _groups(self) -> np.ndarray:
        """Where groups of equal rows begin, and the end of all rows."""
        size = self._ordered.rows.num_rows
        if not size:
            return np.zeros(1, np.int64)
        codes, _ = key_codes([one_chunk(self._ordered.rows[name]) for name in ["t", *self._order]], size)
        differs = np.concatenate([[True], np.diff(codes) != 0])
        differs[self._ordered.starts[:-1]] = True
        return np.append(np.flatnonzero(differs), size)

    def _place(self, partition: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return numbers that ascend with partition and time, as far as rows can tell times apart."""
        if self._distinct is not None:
            return partition * self._width + np.searchsorted(self._distinct, times)
        return partition * self._width + (np.clip(times, self._low, self._high + 1) - self._low)


def micros(bounds: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return bounds of windows, times or dates without NULL, in microseconds."""
    if pa.types.is_date32(bounds.type):
        return integers(pc.cast(bounds, pa.int32())).astype(np.int64) * DAY
    return integers(pc.cast(bounds, pa.int64()))
