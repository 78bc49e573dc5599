"""Where times lie among the rows of partitions."""

import numpy as np

from cepsql.cached_property import cached_property
from cepsql.ordered.columns import integers
from cepsql.ordered.operator import OrderedRows

_MOST = 2**62


class TimeRanges:
    """Finds rows by partition and event time, many at once.

    times:     the event time of each row.
    partition: the number of each row's partition.
    """

    def __init__(self, ordered: OrderedRows):
        self.times = integers(ordered.rows["t"])
        self.partition = np.repeat(np.arange(len(ordered.starts) - 1), np.diff(ordered.starts))
        self._low, self._high = (int(self.times.min()), int(self.times.max())) if len(self.times) else (0, 0)
        self._distinct, self._width = None, self._high - self._low + 2
        if self._width * len(ordered.starts) >= _MOST:
            self._distinct = np.unique(self.times)
            self._width = len(self._distinct) + 1
        self._places = self._place(self.partition, self.times)

    def first_from(self, partition: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the first row at or after each time in its partition, the partition's end where there is none."""
        return np.searchsorted(self._places, self._place(partition, times))

    def first_after(self, partition: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the first row after each time in its partition, the partition's end where there is none."""
        return self.first_from(partition, times + 1)

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

    def _place(self, partition: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return numbers that ascend with partition and time, as far as rows can tell times apart."""
        if self._distinct is not None:
            return partition * self._width + np.searchsorted(self._distinct, times)
        return partition * self._width + (np.clip(times, self._low, self._high + 1) - self._low)
