"""Functions on ordered rows: what they return, and the one that matches row patterns."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cepsql.matching.lookahead import hold_for_next
from cepsql.pattern.matcher import find_matches
from cepsql.pattern.measures import measure_table
from cepsql.pattern.output import (
    asks_for_unmatched,
    covered_rows,
    gives_each_row,
    rows_without_match,
    unmatched_rows,
)
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.rows import Partitions


@dataclass(frozen=True)
class Scanned:
    """What a function made of ordered rows.

    output:   rows to give out.
    scan:     for each partition the first row that the function must see again.
    numbers:  for each partition the number of matches so far.
    matches:  how many matches are in the output.
    timeouts: how many timed-out partial matches are.
    misplaced: how many skips to a variable led nowhere.
    given_up: how many attempts took too many steps.
    covered:  whether a match covers each row, if the program gives out rows that none covers; else None.
    """

    output: pa.Table
    scan: np.ndarray
    numbers: np.ndarray
    matches: int
    timeouts: int
    misplaced: int = 0
    given_up: int = 0
    covered: np.ndarray | None = None


OrderedFunction = Callable[[MatchProgram, Partitions], Scanned]


SLICE_ROWS = 2**20
"""So many rows are matched at a time: what is computed of each row is not there for all rows at once."""


def match_rows(program: MatchProgram, partitions: Partitions, slice_rows: int = SLICE_ROWS) -> Scanned:
    """Find and measure the matches of the program's row pattern."""
    if partitions.rows.num_rows <= slice_rows:
        return _match(program, partitions)
    begins = _slices(partitions.starts, slice_rows)
    slices = [_match(program, _slice(partitions, *pair)) for pair in pairwise(begins)]
    return _joined(slices, partitions.starts[begins[:-1]])


def _match(program: MatchProgram, partitions: Partitions) -> Scanned:
    found = hold_for_next(program, partitions, find_matches(program, partitions))
    covered = covered_rows(partitions, found.matches) if asks_for_unmatched(program) else None
    unmatched = None if covered is None else unmatched_rows(partitions, found, covered)
    if gives_each_row(program):
        unmatched = rows_without_match(partitions, found)
    matches = int(np.count_nonzero(found.matches.complete))
    return Scanned(
        output=measure_table(program, partitions, found.matches, unmatched),
        scan=found.scan,
        numbers=found.numbers,
        matches=matches,
        timeouts=len(found.matches.complete) - matches,
        misplaced=found.misplaced,
        given_up=len(found.given_up),
        covered=covered,
    )


def _slices(starts: np.ndarray, rows: int) -> list[int]:
    """Return the partitions that begin slices of at least so many rows, and the number of partitions."""
    last = len(starts) - 1
    begins = [0]
    while begins[-1] < last:
        begins.append(min(int(np.searchsorted(starts, starts[begins[-1]] + rows)), last))
    return begins


def _slice(partitions: Partitions, begin: int, end: int) -> Partitions:
    """Return some of the partitions as if they were all."""
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
    """Return what was made of slices that begin at these rows, as if it were of all rows at once."""
    return Scanned(
        output=pa.concat_tables([one.output for one in slices]),
        scan=np.concatenate([one.scan + begin for one, begin in zip(slices, begins, strict=True)]),
        numbers=np.concatenate([one.numbers for one in slices]),
        matches=sum(one.matches for one in slices),
        timeouts=sum(one.timeouts for one in slices),
        misplaced=sum(one.misplaced for one in slices),
        given_up=sum(one.given_up for one in slices),
        covered=None if slices[0].covered is None else np.concatenate([one.covered for one in slices]),
    )
