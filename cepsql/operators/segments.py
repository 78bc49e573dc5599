"""Running values along segments of a column: each segment begins anew."""

import numpy as np

_LONG = 256


class Segments:
    """Segments of consecutive places.

    starts: where they begin, and the number of places at the end (int64); none is empty.
    number: the number of each place's segment.
    """

    def __init__(self, starts: np.ndarray):
        self.starts = starts
        self.number = np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of each segment up to each place; integers wrap, Python's do not, floats are added in order.

        Floating-point sums are those of a plain loop to the last bit.
        """
        if values.dtype.kind == "f":
            return self._sequential(values)
        total = np.cumsum(values)
        before = np.concatenate([total[:1] - total[:1], total])[self.starts[:-1]]
        return total - before[self.number]

    def last(self, chosen: np.ndarray) -> np.ndarray:
        """Return the last chosen place in the segment up to each place, -1 where there is none."""
        last = np.maximum.accumulate(np.where(chosen, np.arange(len(chosen)), -1))
        return np.where(last >= self.starts[self.number], last, -1)

    def first(self, chosen: np.ndarray) -> np.ndarray:
        """Return the first chosen place in the segment up to each place, -1 where there is none."""
        places = np.flatnonzero(chosen)
        following = np.searchsorted(places, self.starts[:-1])
        first = np.append(places, len(chosen))[following][self.number]
        return np.where(first <= np.arange(len(chosen)), first, -1)

    def greatest(self, values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return the place of the greatest chosen value (int64) in the segment up to each place, of equal ones the
        first; -1 where there is none."""
        distinct, rank = np.unique(values, return_inverse=True)
        # Any value of a segment is greater than all of the segments before it, and than what is not chosen in its own.
        level = self.number * (len(distinct) + 1) + np.where(chosen, rank + 1, 0)
        best = np.maximum.accumulate(level)
        rises = np.concatenate([[True], best[1:] > best[:-1]]) & chosen
        return self.last(rises)

    def _sequential(self, values: np.ndarray) -> np.ndarray:
        """Add floats in order: place by place in many short segments at once, segment by segment in long ones."""
        result, sizes = values.copy(), np.diff(self.starts)
        for segment in np.flatnonzero(sizes > _LONG):
            piece = slice(self.starts[segment], self.starts[segment + 1])
            result[piece] = np.cumsum(values[piece])
        short = np.flatnonzero(sizes <= _LONG)
        begins, left = self.starts[:-1][short], sizes[short]
        for place in range(1, int(left.max(initial=0))):
            there = begins[left > place] + place
            result[there] += result[there - 1]
        return result
