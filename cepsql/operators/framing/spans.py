"""Ranges of places in columns, and what can be told of the values in each."""

from collections.abc import Callable

import numpy as np

_EXACT = 2**53
_BEGIN_COST = 1000
"""What a call of NumPy costs, in numbers added."""


class Spans:
    """The rows of frames, each a range of places.

    begins, ends: of each frame; an empty one ends where it begins.
    """

    def __init__(self, begins: np.ndarray, ends: np.ndarray):
        self.begins, self.ends = begins, np.maximum(begins, ends)
        self.sizes = self.ends - self.begins

    def counts(self, valid: np.ndarray) -> np.ndarray:
        """Return how many places of each frame are valid."""
        return self.sizes if valid.all() else self.differences(valid.astype(np.int64))

    def differences(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of each frame, by those of all places before its ends."""
        total = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values)])
        return total[self.ends] - total[self.begins]

    def sums(self, values: np.ndarray, whole: bool) -> np.ndarray:
        """Return the sum of floats of each frame, added in order; `whole`: they are whole numbers."""
        if whole and np.abs(values).sum() < _EXACT:
            return self.differences(values)
        series = self._series(values)
        if series is not None:
            return series
        sums = np.zeros(len(self.begins))

        def add(frames: np.ndarray, places: np.ndarray) -> None:
            sums[frames] += values[places]

        self._in_order(add)
        return sums

    def greatest_sum(self, values: np.ndarray) -> int:
        """Return how great the sum of some first places of a frame gets, below zero or above."""
        sums, most = np.zeros(len(self.begins), object), [0]

        def add(frames: np.ndarray, places: np.ndarray) -> None:
            sums[frames] += values[places]
            most.append(max(sums.max(), -1 - sums.min()))

        self._in_order(add)
        return max(most)

    def moments(self, values: np.ndarray, valid: np.ndarray) -> np.ndarray:
        """Return the sum of the squares of the differences from the mean of each frame, as Spark adds them up."""
        count, mean, squares = (np.zeros(len(self.begins)) for _ in range(3))

        def add(frames: np.ndarray, places: np.ndarray) -> None:
            there = valid[places]
            frames, places = frames[there], places[there]
            count[frames] += 1.0
            away = values[places] - mean[frames]
            step = away / count[frames]
            mean[frames] += step
            squares[frames] += away * (away - step)

        with np.errstate(invalid="ignore"):
            self._in_order(add)
        return squares

    def end(self, chosen: np.ndarray | None, last: bool) -> np.ndarray:
        """Return the first place of each frame, or the last one, among those chosen; -1 where there is none."""
        if chosen is None:
            return np.where(self.sizes > 0, self.ends - 1 if last else self.begins, -1)
        places = np.flatnonzero(chosen)
        if last:
            place = np.append(-1, places)[np.searchsorted(places, self.ends)]
            return np.where(place >= self.begins, place, -1)
        place = np.append(places, len(chosen))[np.searchsorted(places, self.begins)]
        return np.where(place < self.ends, place, -1)

    def least(self, values: np.ndarray, valid: np.ndarray) -> np.ndarray:
        """Return the place of the least valid value of each frame, of equal ones the first; -1 where there is none.

        Least places of ranges that double in size are found first; two that overlap make up each frame.
        """
        places = np.where(valid, np.arange(len(values)), -1)
        least = np.full(len(self.begins), -1)
        size = 1
        level = np.where(self.sizes > 0, np.log2(np.maximum(self.sizes, 1)).astype(np.int64), -1)
        for step in range(int(level.max(initial=-1)) + 1):
            chosen = np.flatnonzero(level == step)
            least[chosen] = lesser(values, places[self.begins[chosen]], places[self.ends[chosen] - size])
            places = lesser(values, places[:-size], places[size:])
            size *= 2
        return least

    def nth(self, number: int | np.ndarray, chosen: np.ndarray | None) -> np.ndarray:
        """Return a place of each frame by its number, from 1 on, among those chosen; -1 where there is none."""
        place = self.begins + number - 1
        if chosen is not None:
            places = np.flatnonzero(chosen)
            at = np.searchsorted(places, self.begins) + number - 1
            place = np.append(places, len(chosen))[np.minimum(at, len(places))]
        return np.where(place < self.ends, place, -1)

    def places(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Return of the frames from one to before another the number of a frame, from 0 on, and a place, of each."""
        sizes = self.sizes[begin:end]
        owner = np.repeat(np.arange(end - begin), sizes)
        return owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes - self.begins[begin:end], sizes)

    def _series(self, values: np.ndarray) -> np.ndarray | None:
        """Return the sums of frames that begin together as the first places of one series each; None where that takes
        longer than to add them up."""
        begins, frame = np.unique(self.begins, return_inverse=True)
        ends = np.zeros(len(begins), np.int64)
        np.maximum.at(ends, frame, self.ends)
        alone = self.sizes.sum() + _BEGIN_COST * self.sizes.max(initial=0)
        if _BEGIN_COST * len(begins) + (ends - begins).sum() >= alone:
            return None
        sums, of_begin = np.zeros(len(self.begins)), np.argsort(frame, kind="stable")
        first = np.searchsorted(frame[of_begin], np.arange(len(begins) + 1))
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            own = of_begin[first[number] : first[number + 1]]
            total = np.concatenate([[0.0], np.cumsum(values[begin:end])]) + 0.0
            sums[own] = total[self.sizes[own]]
        return sums

    def _in_order(self, add: Callable[[np.ndarray, np.ndarray], None]) -> None:
        """Call `add` with frames and a place of each: with all first places, then all second ones, and so on."""
        by_size = np.argsort(-self.sizes, kind="stable")
        begins, shorter = self.begins[by_size], -self.sizes[by_size]
        for offset in range(int(self.sizes.max(initial=0))):
            longer = np.searchsorted(shorter, -offset)
            add(by_size[:longer], begins[:longer] + offset)


def lesser(values: np.ndarray, some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return of each two places that with the lesser value, the first if they are equal; -1 is none."""
    other = (some < 0) | ((others >= 0) & (values[others] < values[some]))
    return np.where(other, others, some)
