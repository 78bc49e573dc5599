"""Find matches of any row pattern by backtracking."""

import numpy as np

from cepsql.errors import OperationalError
from cepsql.pattern import ir
from cepsql.pattern.compile import Code, first_variables, nullable
from cepsql.pattern.conditions import RowTests
from cepsql.pattern.found import FoundBuilder
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.rows import Found, Partitions
from cepsql.pattern.search import Outcome, Search


def find_backtracking(program: MatchProgram, partitions: Partitions, tests: RowTests) -> Found:
    """Find the matches of all partitions that are decided, in order.

    tests: the row-only parts of the conditions, tested.
    An attempt that takes too many steps counts as no match at its row. If the program is strict, OperationalError is
    raised for it, as for a skip that leads nowhere.
    """
    search = Search(program, partitions, tests)
    found = FoundBuilder(partitions)
    candidates = _candidates(search.code, partitions, tests)
    begins = np.searchsorted(candidates, partitions.scan).tolist()
    stops = np.searchsorted(candidates, partitions.ends).tolist()
    rows = candidates.tolist()
    for p in np.flatnonzero(np.less(begins, stops)).tolist():
        search.enter(p)
        place, stop, next_row, number = begins[p], stops[p], 0, int(partitions.numbers[p]) + 1
        while place < stop:
            start = rows[place]
            place += 1
            if start < next_row:
                continue
            outcome = search.attempt(start, number)
            if outcome is Outcome.NONE:
                continue
            if outcome is Outcome.GIVEN_UP:
                if program.strict:
                    raise _too_long(program)
                found.give_up()
                continue
            if outcome is Outcome.UNDECIDED:
                found.stop(p, start, number - 1)
                break
            complete = outcome is Outcome.MATCH
            found.add(p, start, number, complete, search.match)
            number += 1
            next_row = start + (found.skipped(program, search.match) if complete and search.match else 1)
        else:
            found.stop(p, int(partitions.ends[p]), number - 1)
    return found.build()


def _too_long(program: MatchProgram) -> OperationalError:
    return OperationalError(
        f"the pattern {ir.dump(program.pattern)} took more than {program.step_budget} steps from one row",
        hint="limit the match with WITHIN, use fewer nested quantifiers, read less of the match in DEFINE, "
        "or SET cepsql.step_budget higher",
    )


def _candidates(code: Code, partitions: Partitions, tests: RowTests) -> np.ndarray:
    """Return the rows at which a match may start, ascending."""
    if nullable(code):
        return np.arange(partitions.rows.num_rows)
    possible = np.zeros(partitions.rows.num_rows, bool)
    for variable in first_variables(code):
        possible |= tests.holds[variable]
        if tests.unknown is not None:
            possible |= tests.unknown[variable]
    return np.flatnonzero(possible)
