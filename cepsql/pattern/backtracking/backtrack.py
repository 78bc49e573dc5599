"""Find matches of any row pattern by backtracking."""

from bisect import bisect_left

import numpy as np

from cepsql.errors import OperationalError
from cepsql.pattern import ir
from cepsql.pattern.backtracking.candidates import Candidates
from cepsql.pattern.backtracking.match_arrays import ScanResultBuilder
from cepsql.pattern.backtracking.search import Outcome, Search
from cepsql.pattern.compile import Code, first_variables, nullable
from cepsql.pattern.conditions import RowTests
from cepsql.pattern.ordered_rows import Partitions, ScanResult
from cepsql.pattern.program import MatchProgram

DEAR_STEPS = 200
"""Number of steps that cost more than a search for the next row at which a match may begin."""


def find_backtracking(
    program: MatchProgram, partitions: Partitions, tests: RowTests, dear_steps: int = DEAR_STEPS
) -> ScanResult:
    """Find the decided matches of all partitions, in order.

    tests:      the results of the row-only parts of the conditions.
    dear_steps: after a failed attempt of more steps, the next row that may begin a match is looked up.
    An attempt that takes too many steps counts as no match at its row. If the program is strict, it raises
    OperationalError, like a skip that leads nowhere.
    """
    search = Search(program, partitions, tests)
    builder = ScanResultBuilder(partitions)
    starts = _possible_starts(search.code, partitions, tests)
    begins = np.searchsorted(starts, partitions.scan).tolist()
    stops = np.searchsorted(starts, partitions.ends).tolist()
    rows = starts.tolist()
    candidates = Candidates(program, partitions, tests)
    for p in np.flatnonzero(np.less(begins, stops)).tolist():
        search.enter(p)
        place, stop, next_row, number = begins[p], stops[p], 0, int(partitions.numbers[p]) + 1
        while place < stop:
            start = rows[place]
            place += 1
            if start < next_row:
                continue
            steps = search.steps
            outcome = search.attempt(start, number)
            if outcome is Outcome.GIVEN_UP:
                if program.strict:
                    raise _too_long(program)
                builder.give_up(start)
            if outcome in (Outcome.NONE, Outcome.GIVEN_UP):
                if search.steps - steps > dear_steps:
                    next_row = candidates.next_start(p, start + 1)
                    place = bisect_left(rows, next_row, place, stop)
                continue
            if outcome is Outcome.UNDECIDED:
                builder.stop(p, start, number - 1)
                break
            complete = outcome is Outcome.MATCH
            builder.add(p, start, number, complete, search.match)
            number += 1
            next_row = start + (builder.skipped(program, search.match) if complete and search.match else 1)
        else:
            builder.stop(p, int(partitions.ends[p]), number - 1)
    return builder.build()


def _too_long(program: MatchProgram) -> OperationalError:
    return OperationalError(
        f"the pattern {ir.dump(program.pattern)} took more than {program.step_budget} steps from one row",
        hint="limit the match with WITHIN, use fewer nested quantifiers, read less of the match in DEFINE, "
        "or SET cepsql.step_budget higher",
    )


def _possible_starts(code: Code, partitions: Partitions, tests: RowTests) -> np.ndarray:
    """Return the rows at which a match may start, ascending."""
    if nullable(code):
        return np.arange(partitions.rows.num_rows)
    possible = np.zeros(partitions.rows.num_rows, bool)
    for variable in first_variables(code):
        possible |= tests.holds[variable]
        if tests.unknown is not None:
            possible |= tests.unknown[variable]
    return np.flatnonzero(possible)
