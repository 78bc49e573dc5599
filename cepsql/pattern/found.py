"""Collect matches one by one into the arrays of `Found`."""

from array import array

import numpy as np

from cepsql.pattern.rows import Found, Matches, Partitions


class FoundBuilder:
    """What a scan has found so far; partitions that it does not stop in count as decided, without matches."""

    def __init__(self, partitions: Partitions):
        self._scan, self._numbers = partitions.ends.copy(), partitions.numbers.copy()
        self._heads = array("q")
        self._labels = array("q")

    def add(self, partition: int, start: int, number: int, complete: bool, labels: list[int]) -> None:
        """Add the next match: its first row, MATCH_NUMBER(), and the variable of every row."""
        self._heads.extend((partition, start, len(labels), number, complete))
        self._labels.extend(labels)

    def stop(self, partition: int, row: int, numbers: int) -> None:
        """Note where the next scan of a partition begins and how many matches it has had."""
        self._scan[partition], self._numbers[partition] = row, numbers

    def build(self) -> Found:
        """Return everything as arrays."""
        heads = np.array(self._heads, np.int64).reshape(-1, 5)
        partition, start, length, number, complete = (np.ascontiguousarray(column) for column in heads.T)
        labels = np.array(self._labels, np.int64)
        matches = Matches(partition, start, length, number, complete.astype(bool), labels)
        return Found(matches, self._scan, self._numbers)
