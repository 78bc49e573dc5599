"""What the measures of matches read, one row a match."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.pattern.aggregates import aggregate
from cepsql.pattern.program import Aggregate, Classifier, Complete, MatchNumber, MatchProgram, Navigation
from cepsql.pattern.rows import Matches, Partitions


def measure_table(program: MatchProgram, partitions: Partitions, matches: Matches) -> pa.Table:
    """Return the partition key columns k0, k1, ... and the program's measures, one row a match.

    Measures are evaluated at the last row of the match, where RUNNING and FINAL agree. Variables without rows, and
    rows outside the readable ones of the partition, give NULL.
    Raises NotSupportedError for an aggregate of a type that it does not take.
    """
    partition_starts = pa.array(partitions.starts[matches.partition])
    columns = {
        f"k{i}": _one_chunk(partitions.rows.column(f"k{i}")).take(partition_starts) for i in range(len(program.keys))
    }
    view = _View(program, partitions, matches)
    for measure in program.measures:
        columns[measure.name] = view.evaluate(measure.source)
    return pa.table(columns)


@dataclass(frozen=True)
class _Selection:
    """The rows of certain variables among the rows of all matches laid end to end.

    places: where they are, ascending.
    low:    for each match the index in `places` of its first one.
    high:   one past its last one.
    """

    places: np.ndarray
    low: np.ndarray
    high: np.ndarray


class _View:
    """The rows of all matches laid end to end, with what was selected from them kept for the next measure."""

    def __init__(self, program: MatchProgram, partitions: Partitions, matches: Matches):
        self.variables, self.rows, self.matches = program.variables, partitions.rows, matches
        self._first = partitions.starts[matches.partition]
        self._stop = partitions.ends[matches.partition]
        self._end = np.cumsum(matches.length)
        self._begin = self._end - matches.length
        self._selections: dict[frozenset[int] | None, _Selection] = {}

    def evaluate(self, source: Navigation | Aggregate | Classifier | MatchNumber | Complete) -> pa.Array:
        """Return one value a match."""
        match source:
            case MatchNumber():
                return pa.array(self.matches.number, pa.int64())
            case Complete():
                return pa.array(self.matches.complete, pa.bool_())
            case Navigation():
                return self._navigate(source)
            case Classifier():
                return self._classify(source)
            case Aggregate():
                return self._aggregate(source)

    def _navigate(self, source: Navigation) -> pa.Array:
        place, exists = self._find(source)
        row = self.matches.start + place - self._begin
        exists &= (row >= self._first) & (row < self._stop)
        return self._column(source.column).take(pa.array(row, mask=~exists))

    def _classify(self, source: Classifier) -> pa.Array:
        place, exists = self._find(source)
        exists &= (place >= self._begin) & (place < self._end)
        labels = np.zeros(len(place), np.int64)
        labels[exists] = self.matches.labels[place[exists]]
        return pa.array(self.variables, pa.string()).take(pa.array(labels, mask=~exists))

    def _aggregate(self, source: Aggregate) -> pa.Array:
        selection = self._select(source.variables)
        counts = selection.high - selection.low
        if source.column is None:
            return pa.array(counts, pa.int64())
        groups = np.repeat(np.arange(len(counts)), counts)
        rows = (self.matches.start - self._begin)[groups] + selection.places
        values = self._column(source.column).take(pa.array(rows))
        return aggregate(source.function, values, groups, len(counts), source.distinct)

    def _find(self, source: Navigation | Classifier) -> tuple[np.ndarray, np.ndarray]:
        """Return the place that is meant (after the shift), and whether there is such a row before the shift."""
        selection = self._select(source.variables)
        index = selection.low + source.offset if source.first else selection.high - 1 - source.offset
        exists = (index >= selection.low) & (index < selection.high)
        place = np.zeros(len(index), np.int64)
        place[exists] = selection.places[index[exists]]
        return place + source.shift, exists

    def _select(self, variables: frozenset[int] | None) -> _Selection:
        if variables not in self._selections:
            if variables is None:
                selection = _Selection(np.arange(len(self.matches.labels)), self._begin, self._end)
            else:
                chosen = np.zeros(len(self.variables), bool)
                chosen[list(variables)] = True
                seen = np.concatenate([[0], np.cumsum(chosen[self.matches.labels])])
                places = np.flatnonzero(chosen[self.matches.labels])
                selection = _Selection(places, seen[self._begin], seen[self._end])
            self._selections[variables] = selection
        return self._selections[variables]

    def _column(self, name: str) -> pa.Array:
        return _one_chunk(self.rows.column(name))


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
