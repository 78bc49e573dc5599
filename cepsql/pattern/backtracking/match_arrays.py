"""Collect matches one by one into the arrays of `ScanResult`."""

from array import array

import numpy as np

from cepsql.errors import OperationalError
from cepsql.pattern.ordered_rows import Matches, Partitions, ScanResult
from cepsql.pattern.program import MatchProgram


class ScanResultBuilder:
    """The matches of a scan so far; partitions without a stop count as decided, without matches."""

    def __init__(self, partitions: Partitions):
        self._scan, self._numbers = partitions.ends.copy(), partitions.numbers.copy()
        self._heads = array("q")
        self._labels, self._given_up = array("q"), array("q")
        self._misplaced = 0

    def add(self, partition: int, start: int, number: int, complete: bool, labels: list[int]) -> None:
        """Add the next match: its first row, MATCH_NUMBER(), and the variable of every row."""
        self._heads.extend((partition, start, len(labels), number, complete))
        self._labels.extend(labels)

    def skipped(self, program: MatchProgram, labels: list[int]) -> int:
        """Return how many rows after the start of a match with these labels the next attempt begins.

        A skip to a variable without rows, or to the first row of the match, leads nowhere: it is an error if the
        program is strict; otherwise matching resumes after the match or at its second row, and the skip is counted.
        """
        if program.skip == "past last row":
            return len(labels)
        if program.skip == "to next row":
            return 1
        place = skip_place(program, labels)
        if place:
            return place
        if program.strict:
            names = " or ".join(program.variables[v] for v in sorted(program.skip_to))
            raise OperationalError(
                f"AFTER MATCH SKIP {program.skip.upper()} {names}: "
                + ("the match has no such row" if place is None else "that is the first row of the match"),
                hint="skip to a variable that every match has after its first row",
            )
        self._misplaced += 1
        return len(labels) if place is None else 1

    def give_up(self, start: int) -> None:
        """Record that the attempt at a row was given up."""
        self._given_up.append(start)

    def stop(self, partition: int, row: int, numbers: int) -> None:
        """Record where the next scan of a partition begins, and the number of its matches so far."""
        self._scan[partition], self._numbers[partition] = row, numbers

    def build(self) -> ScanResult:
        """Return the result as arrays."""
        heads = np.array(self._heads, np.int64).reshape(-1, 5)
        partition, start, length, number, complete = (np.ascontiguousarray(column) for column in heads.T)
        labels = np.array(self._labels, np.int64)
        matches = Matches(partition, start, length, number, complete.astype(bool), labels)
        return ScanResult(matches, self._scan, self._numbers, self._misplaced, np.array(self._given_up, np.int64))


def skip_place(program: MatchProgram, labels: list[int]) -> int | None:
    """Return the row of a match with these labels that a skip to a variable leads to, None without such a row."""
    count = len(program.variables)
    places = [place for place, label in enumerate(labels) if label % count in program.skip_to]
    return places[0 if program.skip == "to first" else -1] if places else None
