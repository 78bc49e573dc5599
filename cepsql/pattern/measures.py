"""The measures of matches, one value an output row."""

import hashlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.pattern.aggregates import aggregate
from cepsql.pattern.ordered_rows import Matches, Partitions
from cepsql.pattern.output import OutputRows, gives_each_row, output_rows
from cepsql.pattern.program import (
    Aggregate,
    ByVariable,
    Classifier,
    Complete,
    MatchId,
    MatchNumber,
    MatchProgram,
    Navigation,
    RowValue,
)
from cepsql.pattern.scanning.labels import ranges

_MAX_GATHERED = 16_000_000
"""The most values that running aggregates read at a time: each row of a match reads all rows before it."""


def measure_table(
    program: MatchProgram, partitions: Partitions, matches: Matches, unmatched: np.ndarray | None = None
) -> pa.Table:
    """Return the partition key columns k0, k1, ... and the program's measures, one row an output row.

    unmatched: unmatched rows to emit with NULL measures; see `unmatched_rows`.
    With one row a match measures are evaluated at the last row, where RUNNING and FINAL agree. Variables without rows,
    and rows outside the readable ones of the partition, give NULL.
    Raises NotSupportedError for an aggregate of an unsupported type.
    """
    rows = output_rows(program, partitions, matches, np.zeros(0, np.int64) if unmatched is None else unmatched)
    places = pa.array(rows.row)
    if len(partitions.starts) > 1 and not program.all_rows:
        # An empty match at the end of its partition has no row of its own.
        places = pa.array(partitions.starts[matches.partition])
    columns = {f"k{i}": _one_chunk(partitions.rows.column(f"k{i}")).take(places) for i in range(len(program.keys))}
    view = _View(program, partitions, matches, rows)
    for measure in program.measures:
        columns[measure.name] = view.evaluate(measure.source)
    return pa.table(columns)


@dataclass(frozen=True)
class _Selection:
    """The rows of certain variables among the rows of all matches laid end to end.

    places: their places, ascending.
    before: for each place and the end, the number of selected rows before it.
    """

    places: np.ndarray
    before: np.ndarray


class _View:
    """The rows of all matches end to end, seen from each output row; selections are cached for the next measure."""

    def __init__(self, program: MatchProgram, partitions: Partitions, matches: Matches, rows: OutputRows):
        self._program, self._partitions = program, partitions
        self._each_row = gives_each_row(program)
        self.variables, self.rows = program.variables, partitions.rows
        self.labels = matches.labels % len(program.variables) if len(program.variables) else matches.labels
        self.output, self.matches = rows, matches
        ends = np.cumsum(matches.length)
        of = rows.match
        self._missing = of < 0
        if self._missing.all():
            self._begin = self._end = self._start = self._first = self._stop = np.zeros(len(of), np.int64)
        else:
            self._begin, self._end = (ends - matches.length)[of], ends[of]
            self._start, partition = matches.start[of], matches.partition[of]
            self._first, self._stop = partitions.starts[partition], partitions.ends[partition]
        self._reached = self._begin + rows.seen
        self._selections: dict[frozenset[int] | None, _Selection] = {}

    def evaluate(self, source: object) -> pa.Array:
        """Return one value an output row; NULL for unmatched rows unless it is a value of the row itself.

        If the program emits each row, the aggregate of a row without match is that of no rows.
        """
        if isinstance(source, RowValue):
            return self._column(source.column).take(pa.array(self.output.row))
        values = self._of_match(source)
        if self._each_row and isinstance(source, Aggregate):
            return values
        return pc.if_else(pa.array(self._missing), None, values) if self._missing.any() else values

    def _of_match(self, source: object) -> pa.Array:
        match source:
            case MatchNumber():
                return self._per_match(self.matches.number, pa.int64())
            case MatchId():
                return self._ids()
            case Complete():
                return self._per_match(self.matches.complete, pa.bool_())
            case Navigation():
                return self._navigate(source)
            case Classifier():
                return self._classify(source)
            case Aggregate():
                return self._aggregate(source)
        raise TypeError(source)

    def _ids(self) -> pa.Array:
        if self._missing.all():
            return pa.nulls(len(self.output.row), pa.string())
        ids = _match_ids(self._program.pattern_id, self._partitions, self.matches)
        return ids.take(pa.array(self.output.match, mask=self._missing))

    def _per_match(self, values: np.ndarray, kind: pa.DataType) -> pa.Array:
        if self._missing.all():
            return pa.nulls(len(self.output.row), kind)
        return pa.array(values[self.output.match], kind)

    def _navigate(self, source: Navigation) -> pa.Array:
        place, exists = self._find(source)
        row = self._start + place - self._begin
        exists &= (row >= self._first) & (row < self._stop)
        if source.frame is not None:
            exists &= (row >= self._start) & (row <= self._start + source.frame)
        return self._column(source.column).take(pa.array(row, mask=~exists))

    def _classify(self, source: Classifier) -> pa.Array:
        place, exists = self._find(source)
        exists &= (place >= self._begin) & (place < self._end)
        labels = np.zeros(len(place), np.int64)
        labels[exists] = self.labels[place[exists]]
        return pa.array(self.variables, pa.string()).take(pa.array(labels, mask=~exists))

    def _aggregate(self, source: Aggregate) -> pa.Array:
        selection = self._select(source.variables)
        low, high = self._bounds(selection, source.final)
        counts = high - low
        if source.column is None:
            return pa.array(counts, pa.int64())
        pieces = []
        for begin, stop in _pieces(counts):
            group = np.repeat(np.arange(stop - begin), counts[begin:stop])
            places = selection.places[ranges(low[begin:stop], counts[begin:stop])]
            rows = (self._start - self._begin)[begin:stop][group] + places
            values = self._aggregated(source.column, rows, self.labels[places], self.output.match[begin:stop][group])
            if source.function == "list":
                offsets = np.concatenate([[0], np.cumsum(counts[begin:stop])])
                pieces.append(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values))
            else:
                ansi = self._program.session.ansi
                pieces.append(aggregate(source.function, values, group, stop - begin, source.distinct, ansi))
        return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)

    def _aggregated(
        self, column: str | ByVariable | MatchNumber, rows: np.ndarray, labels: np.ndarray, matches: np.ndarray
    ) -> pa.Array:
        """Return the values of rows with these variables and matches."""
        if isinstance(column, MatchNumber):
            return pa.array(self.matches.number[matches] if len(matches) else [], pa.int64())
        if not isinstance(column, ByVariable):
            return self._column(column).take(pa.array(rows))
        if column.column is None:
            constants = [value.value for value in column.values if not isinstance(value, str)]
            return pa.array(constants, pa.string()).take(pa.array(labels))
        names = [name for name in column.values if isinstance(name, str)]
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(len(column.values) + 1))
        pieces = [
            self._column(name).take(pa.array(rows[order[begin:end]]))
            for name, (begin, end) in zip(names, pairwise(ends.tolist()), strict=True)
        ]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_arrays(pieces).take(pa.array(back))

    def _find(self, source: Navigation | Classifier) -> tuple[np.ndarray, np.ndarray]:
        """Return the place after the shift, and whether the row before the shift exists."""
        selection = self._select(source.variables)
        low, high = self._bounds(selection, source.final)
        index = low + source.offset if source.first else high - 1 - source.offset
        exists = (index >= low) & (index < high)
        place = np.zeros(len(index), np.int64)
        place[exists] = selection.places[index[exists]]
        return place + source.shift, exists

    def _bounds(self, selection: _Selection, final: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the begin and end in a selection of the rows that each output row sees."""
        return selection.before[self._begin], selection.before[self._end if final else self._reached]

    def _select(self, variables: frozenset[int] | None) -> _Selection:
        if variables not in self._selections:
            count = len(self.labels)
            if variables is None:
                selection = _Selection(np.arange(count), np.arange(count + 1))
            else:
                chosen = np.zeros(len(self.variables), bool)
                chosen[list(variables)] = True
                taken = chosen[self.labels]
                selection = _Selection(np.flatnonzero(taken), np.concatenate([[0], np.cumsum(taken)]))
            self._selections[variables] = selection
        return self._selections[variables]

    def _column(self, name: str) -> pa.Array:
        return _one_chunk(self.rows.column(name))


def _pieces(counts: np.ndarray) -> list[tuple[int, int]]:
    """Split output rows into pieces that do not read too many values at a time; at least one piece."""
    total = int(counts.sum())
    if total <= _MAX_GATHERED:
        return [(0, len(counts))]
    cuts = np.searchsorted(np.cumsum(counts), np.arange(_MAX_GATHERED, total, _MAX_GATHERED))
    edges = np.unique(np.concatenate([[0], cuts, [len(counts)]])).tolist()
    return list(pairwise(edges))


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _match_ids(identity: str, partitions: Partitions, matches: Matches) -> pa.Array:
    """Return the id of each match, 32 hexadecimal digits: a hash of the query's identity and of the first row's id.

    An empty match after the last row of its partition is identified by that row.
    """
    row_ids = partitions.rows.column("i").combine_chunks()
    ids = []
    for partition, start in zip(matches.partition.tolist(), matches.start.tolist(), strict=True):
        behind = start >= partitions.starts[partition + 1]
        row = row_ids[start - 1 if behind else start].as_py()
        text = identity.encode() + (b"|" if behind else b":") + row
        ids.append(hashlib.blake2b(text, digest_size=16).hexdigest())
    return pa.array(ids, pa.string())
