"""Functions on ordered rows: what they return, and the one that matches row patterns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.matching.lookahead import hold_for_next
from cepsql.pattern.matcher import find_matches
from cepsql.pattern.measures import measure_table
from cepsql.pattern.output import asks_for_unmatched, covered_rows, unmatched_rows
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


def match_rows(program: MatchProgram, partitions: Partitions) -> Scanned:
    """Find and measure the matches of the program's row pattern."""
    found = hold_for_next(program, partitions, find_matches(program, partitions))
    covered = covered_rows(partitions, found.matches) if asks_for_unmatched(program) else None
    unmatched = None if covered is None else unmatched_rows(partitions, found, covered)
    matches = int(np.count_nonzero(found.matches.complete))
    return Scanned(
        output=measure_table(program, partitions, found.matches, unmatched),
        scan=found.scan,
        numbers=found.numbers,
        matches=matches,
        timeouts=len(found.matches.complete) - matches,
        misplaced=found.misplaced,
        given_up=found.given_up,
        covered=covered,
    )
