"""The matching of row patterns as a function on ordered rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cepsql.operators.matching.lookahead import given_up_before, hold_for_next, without_matches
from cepsql.pattern.backtracking.match_arrays import ScanResultBuilder
from cepsql.pattern.matcher import find_matches
from cepsql.pattern.measures import measure_table
from cepsql.pattern.ordered_rows import Partitions, ScanResult
from cepsql.pattern.output import (
    JUMPED,
    asks_for_unmatched,
    covered_rows,
    gives_each_row,
    rows_without_match,
    unmatched_rows,
)
from cepsql.pattern.program import MatchProgram


@dataclass(frozen=True)
class Scanned:
    """The result of a function on ordered rows.

    output:   the output rows.
    scan:     for each partition the first row that the function must see again.
    numbers:  for each partition the number of matches so far.
    matches:  the number of matches in the output.
    timeouts: the number of timed-out partial matches in the output.
    misplaced: the number of skips to a variable that led nowhere.
    given_up: the number of attempts that took too many steps.
    covered:  for each row whether a match covers it, if the program emits unmatched rows; otherwise None.
    jumped:   for each of several windows and each row, whether an emitted match of the window jumps over the row.
    """

    output: pa.Table
    scan: np.ndarray
    numbers: np.ndarray
    matches: int
    timeouts: int
    misplaced: int = 0
    given_up: int = 0
    covered: np.ndarray | None = None
    jumped: tuple[np.ndarray, ...] = ()


OrderedFunction = Callable[[MatchProgram, Partitions], Scanned]


SLICE_ROWS = 2**20
"""How many rows are matched at a time, to limit the memory of values computed for each row."""


def match_rows(program: MatchProgram, partitions: Partitions, slice_rows: int = SLICE_ROWS) -> Scanned:
    """Find and measure the matches of the program's row pattern."""
    if partitions.rows.num_rows <= slice_rows:
        return _match(program, partitions)
    begins = _slices(partitions.starts, slice_rows)
    slices = [_match(program, _slice(partitions, *pair)) for pair in pairwise(begins)]
    return _joined(slices, partitions.starts[begins[:-1]])


def jumped_names(program: MatchProgram) -> tuple[str, ...]:
    """Return for each of several windows the column that marks the rows over which its matches jump."""
    return tuple(f"{JUMPED}{i}" for i in range(len(program.programs))) if program.beside else ()


def _match_beside(program: MatchProgram, partitions: Partitions) -> Scanned:
    """Find the matches of several windows, and emit the rows that all of them have decided.

    Matches that one window decides before the others are found again with the next rows, so that the state needs only
    the rows over which its last match jumps.
    """
    before = [partitions.rows[name].to_numpy() for name in jumped_names(program)]
    results: list[ScanResult] = []
    for each, jumped in zip(program.programs, before, strict=True):
        begun = replace(partitions, scan=_first_free(jumped, partitions))
        results.append(hold_for_next(each, begun, find_matches(each, begun)))
    scan = np.minimum.reduce([of_each.scan for of_each in results])
    columns: dict[str, pa.ChunkedArray] = {}
    decided_results: list[ScanResult] = []
    for each, of_each in zip(program.programs, results, strict=True):
        waits = of_each.matches.start >= scan[of_each.matches.partition]
        decided = without_matches(each, partitions, of_each, waits)
        decided_results.append(replace(decided, scan=scan, given_up=given_up_before(partitions, decided, scan)))
        table = measure_table(each, partitions, decided.matches, rows_without_match(partitions, decided_results[-1]))
        columns |= dict(zip(table.column_names, table.columns, strict=True))
    return Scanned(
        output=pa.table(columns),
        scan=scan,
        numbers=partitions.numbers,
        matches=sum(len(of_each.matches.start) for of_each in decided_results),
        timeouts=0,
        misplaced=sum(of_each.misplaced for of_each in decided_results),
        given_up=sum(len(of_each.given_up) for of_each in decided_results),
        jumped=tuple(
            _jumped(each, partitions, of_each, jumped)
            for each, of_each, jumped in zip(program.programs, decided_results, before, strict=True)
        ),
    )


def _first_free(jumped: np.ndarray, partitions: Partitions) -> np.ndarray:
    """Return for each partition the first undecided row over which no match jumps."""
    free = np.append(np.flatnonzero(~jumped), len(jumped))
    return np.minimum(free[np.searchsorted(free, partitions.scan)], partitions.ends)


def _jumped(program: MatchProgram, partitions: Partitions, result: ScanResult, before: np.ndarray) -> np.ndarray:
    """Return for each row whether an emitted match jumps over it; `before` is the same for earlier scans."""
    matches, jumped, builder = result.matches, before.copy(), ScanResultBuilder(partitions)
    ends = np.cumsum(matches.length)
    last = np.flatnonzero(np.append(matches.partition[1:] != matches.partition[:-1], [True] * bool(len(ends))))
    for i in last.tolist():
        labels = matches.labels[ends[i] - matches.length[i] : ends[i]].tolist()
        begin, start = int(result.scan[matches.partition[i]]), int(matches.start[i])
        jumped[begin : start + (builder.skipped(program, labels) if labels else 1)] = True
    return jumped


def _match(program: MatchProgram, partitions: Partitions) -> Scanned:
    if program.beside:
        return _match_beside(program, partitions)
    result = hold_for_next(program, partitions, find_matches(program, partitions))
    covered = covered_rows(partitions, result.matches) if asks_for_unmatched(program) else None
    unmatched = None if covered is None else unmatched_rows(partitions, result, covered)
    if gives_each_row(program):
        unmatched = rows_without_match(partitions, result)
    matches = int(np.count_nonzero(result.matches.complete))
    return Scanned(
        output=measure_table(program, partitions, result.matches, unmatched),
        scan=result.scan,
        numbers=result.numbers,
        matches=matches,
        timeouts=len(result.matches.complete) - matches,
        misplaced=result.misplaced,
        given_up=len(result.given_up),
        covered=covered,
    )


def _slices(starts: np.ndarray, rows: int) -> list[int]:
    """Return the first partitions of slices of at least `rows` rows, and the number of partitions."""
    last = len(starts) - 1
    begins = [0]
    while begins[-1] < last:
        begins.append(min(int(np.searchsorted(starts, starts[begins[-1]] + rows)), last))
    return begins


def _slice(partitions: Partitions, begin: int, end: int) -> Partitions:
    """Return the partitions from `begin` to `end`."""
    first, past = partitions.starts[[begin, end]].tolist()
    chosen = slice(begin, end)
    return replace(
        partitions,
        rows=partitions.rows.slice(first, past - first),
        starts=partitions.starts[begin : end + 1] - first,
        scan=partitions.scan[chosen] - first,
        ends=partitions.ends[chosen] - first,
        numbers=partitions.numbers[chosen],
    )


def _joined(slices: list[Scanned], begins: np.ndarray) -> Scanned:
    """Merge the results of slices that begin at these rows."""
    return Scanned(
        output=pa.concat_tables([one.output for one in slices]),
        scan=np.concatenate([one.scan + begin for one, begin in zip(slices, begins, strict=True)]),
        numbers=np.concatenate([one.numbers for one in slices]),
        matches=sum(one.matches for one in slices),
        timeouts=sum(one.timeouts for one in slices),
        misplaced=sum(one.misplaced for one in slices),
        given_up=sum(one.given_up for one in slices),
        covered=None if slices[0].covered is None else np.concatenate([one.covered for one in slices]),
        jumped=tuple(np.concatenate(parts) for parts in zip(*(one.jumped for one in slices), strict=True)),
    )
