"""A trace of each attempt to match a row pattern: how far it came, and what stopped it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.backtracking.budget import Budget
from cepsql.pattern.backtracking.match_arrays import ScanResultBuilder
from cepsql.pattern.backtracking.search import UNKNOWN, Outcome, Search
from cepsql.pattern.backtracking.steps import UnknownRow
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.vector import test_rows


@dataclass(frozen=True)
class Trial:
    """A variable that could take the row after a path; `holds` is None if its condition reads a later row."""

    variable: int
    holds: bool | None


@dataclass(frozen=True)
class Attempt:
    """One attempt to match, from the row `start` of `Partitions.rows` on.

    number:   the value of MATCH_NUMBER().
    outcome:  how it ended.
    labels:   the variable of each row: of the match; of the partial match that timed out; otherwise of the preferred
              one of the longest paths. For an undecided attempt, of the path that waits.
    stop:     why that path ended: "row" (no variable takes the next row), "within" (the next row is past the deadline),
              "end" (the partition has no further row), "future" (later rows decide), "^" or "$" (the anchor does not
              hold); "steps" if the attempt was given up; None for a match.
    trials:   the variables that could come next on that path, with the verdict on the next row if that was read.
    fallback: the labels of the less preferred match that an undecided attempt falls back to, or None.
    jumped:   AFTER MATCH SKIP jumped over its start: the search did not make it, and would have ended like this.
    """

    start: int
    number: int
    outcome: Outcome
    labels: tuple[int, ...]
    stop: str | None
    trials: tuple[Trial, ...]
    fallback: tuple[int, ...] | None = None
    jumped: bool = False


@dataclass(frozen=True)
class Trace:
    """All attempts in order of their starts, and for each variable how often the part of its condition that reads the
    match so far was tried, and how often it held, without the jumped attempts."""

    attempts: tuple[Attempt, ...]
    tried: tuple[int, ...]
    held: tuple[int, ...]


def trace(program: MatchProgram, partition: Partitions) -> Trace:
    """Search one partition as `find_matches` does, and trace every attempt.

    The attempts that matched are the matches of `find_matches`. A state that failed once is not explored again, so that
    later attempts through it are not traced in full; see `trace_attempt`. An attempt is given up when it takes too many
    steps; memory of failed states saves steps.
    """
    search = _WatchedSearch(program, partition)
    builder = ScanResultBuilder(partition)
    attempts: list[Attempt] = []
    start, end, number = int(partition.scan[0]), int(partition.ends[0]), int(partition.numbers[0]) + 1
    while start < end:
        attempt = search.describe(start, number)
        attempts.append(attempt)
        if attempt.outcome is Outcome.UNDECIDED:
            break
        after = start + 1
        if attempt.outcome not in (Outcome.NONE, Outcome.GIVEN_UP):
            number += 1
        if attempt.outcome is Outcome.MATCH and attempt.labels:
            after = start + builder.skipped(program, list(attempt.labels))
        for row in range(start + 1, after):
            if search.jumped_steps < program.step_budget:
                attempts.append(search.describe(row, number, jumped=True))
        if after > start + 1:
            search.forget(start)
        start = after
    return Trace(tuple(attempts), tuple(search.tried), tuple(search.held))


def trace_attempt(program: MatchProgram, partition: Partitions, start: int, number: int) -> Attempt:
    """Trace the attempt from one row of a partition in full."""
    return _WatchedSearch(program, partition).describe(start, number)


@dataclass
class _Path:
    """A path that ended before a row, with the variables tried there."""

    labels: tuple[int, ...]
    stop: str
    trials: list[Trial] = field(default_factory=list)


class _BudgetOfOneRowLess(Budget):
    """The budget of a search that also tests the row at its limit."""

    def __init__(self, steps: int, of_row: int):
        super().__init__(steps)
        self._of_row = of_row

    def allowed(self, needed: int) -> int:
        """Return the number of steps of the next attempt; `needed` counts one row too many."""
        return super().allowed(needed - self._of_row)


class _WatchedSearch(Search):
    """The search of one partition, which records where paths end. If later rows may decide, it continues to find the
    match without them.

    tried, held: as in `Trace`.
    jumped_steps: the number of steps from rows that AFTER MATCH SKIP jumped over.
    """

    def __init__(self, program: MatchProgram, partition: Partitions):
        tests = test_rows(program, partition)
        super().__init__(program, partition, tests)
        self.tried, self.held = [0] * len(program.variables), [0] * len(program.variables)
        self.jumped_steps = 0
        self._verdicts = self._tests
        self._budget = _BudgetOfOneRowLess(program.step_budget, len(self._plan.operations))
        self.enter(0)
        # `_test` is called for each row, and for the one at the limit, too.
        self._tests = [b"\1" * (partition.rows.num_rows + 1)] * len(program.variables)
        self._functions = [partial(self._test, v, function) for v, function in enumerate(self._functions)]
        self._leaping = False
        self._watch = self._note

    def describe(self, start: int, number: int, jumped: bool = False) -> Attempt:
        """Try to match from a row, and trace the attempt."""
        self._begin(start, counting=not jumped)
        steps = self.steps
        attempt = self._attempt(number, self.attempt(start, number))
        self.jumped_steps += self.steps - steps if jumped else 0
        if attempt.outcome is not Outcome.NONE or self._cut_off:
            # States on the path of a match did not fail; those cut off by a deadline may succeed from another start.
            self.forget(start)
        return replace(attempt, jumped=jumped)

    def forget(self, start: int) -> None:
        """Forget which states have failed, from the rows of an attempt on."""
        self._forget_all(start)

    def _begin(self, start: int, counting: bool) -> None:
        """Reset the record of an attempt.

        _deepest: the preferred one of the longest paths; once a path waits for later rows, that one.
        _partial_path: the first path that the deadline or the end of the partition cut off after a row.
        _cut_off: whether WITHIN cut off a path.
        """
        self._start, self._counting, self._waits, self._cut_off = start, counting, False, False
        self._limit, self._closed = super()._reach(start)
        self._deepest: _Path | None = None
        self._partial_path: _Path | None = None

    def _test(self, variable: int, function: Callable | None, registers: tuple, row: int) -> tuple | None:
        """Return the registers if a row can be mapped to a variable, otherwise None."""
        if row == self._limit:
            self._note(row, self._reason_of_limit(), Trial(variable, None))
            return None
        verdict = self._verdicts[variable][row]
        changed: tuple | None = registers
        try:
            if not verdict:
                changed = None
            elif function is not None:
                self.tried[variable] += self._counting
                changed = function(registers, row)
                self.held[variable] += self._counting and changed is not None
        except UnknownRow:
            verdict = UNKNOWN
        if changed is None:
            self._note(row, "row", Trial(variable, False))
        elif verdict == UNKNOWN:
            self._note(row, "future", Trial(variable, None))
            return None
        return changed

    def _reach(self, start: int) -> tuple[int, bool]:
        # No path goes beyond the limit.
        return self._limit + 1, True

    def _reason_of_limit(self) -> str:
        """Return why no row at the limit may be read."""
        if not self._closed:
            return "future"
        self._cut_off |= self.program.within is not None
        return "within" if self._limit < self._high or self.partitions.bound != END_OF_TIME else "end"

    def _note(self, row: int, stop: str, trial: Trial | None = None) -> None:
        """Record that the path ends before a row."""
        depth, waits = row - self._start, stop == "future" and not self._waits
        if waits or self._deepest is None or (depth > len(self._deepest.labels) and not self._waits):
            self._deepest = _Path(self._path(row), stop)
            self._waits |= waits
        if self._partial_path is None and depth and stop in ("within", "end"):
            self._partial_path = _Path(self._path(row), stop)
        for path in filter(None, (self._deepest, self._partial_path)):
            if len(path.labels) == depth and path.labels == self._path(row):
                path.stop = stop if path.stop in ("^", "$") else path.stop
                if trial is not None and trial not in path.trials:
                    path.trials.append(trial)

    def _path(self, row: int) -> tuple[int, ...]:
        """Return the variables of the rows of the current path, which ends before `row`."""
        # A row in an exclusion has another label.
        return tuple(label % len(self.program.variables) for label in self._labels[self._start : row])

    def _attempt(self, number: int, outcome: Outcome) -> Attempt:
        """Return the attempt whose search had this outcome."""
        path, program = self._deepest or _Path((), "row"), self.program
        if outcome is Outcome.GIVEN_UP:
            return self._along(number, outcome, replace(path, stop="steps"))
        labels = self._path(self._start + len(self.match)) if outcome is Outcome.MATCH else None
        if self._waits:
            return self._along(number, Outcome.UNDECIDED, path, labels)
        if labels is not None:
            return Attempt(self._start, number, outcome, labels, None, ())
        if program.timeouts and program.within is not None and self._partial_path:
            return self._along(number, Outcome.TIMEOUT, self._partial_path)
        return self._along(number, Outcome.NONE, path)

    def _along(self, number: int, outcome: Outcome, path: _Path, fallback: tuple[int, ...] | None = None) -> Attempt:
        return Attempt(self._start, number, outcome, path.labels, path.stop, tuple(path.trials), fallback)
