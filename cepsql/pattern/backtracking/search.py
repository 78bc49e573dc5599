"""Try to match a row pattern at one row after another, never exploring the same state twice."""

import enum
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.backtracking.budget import Budget
from cepsql.pattern.backtracking.search_plan import (
    ACCEPT,
    BEGIN,
    END,
    FAIL,
    JUMP,
    LEAP,
    ROW,
    SPLIT,
    START_ANCHOR,
    search_plan,
)
from cepsql.pattern.backtracking.steps import UnknownRow
from cepsql.pattern.conditions import RowTests
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import MatchProgram
from cepsql.scalar.arrow.column_values import plain_values

Watch: TypeAlias = Callable[[int, str], None]
"""Takes before which row an anchor ends a path, and why, as `Attempt.stop` of `cepsql.pattern.backtracking.trace`."""

UNKNOWN = 2
"""The verdict on a row whose condition reads a row that is not known yet."""


class Outcome(enum.Enum):
    """How an attempt to match at one row ends."""

    MATCH = "match"
    NONE = "no match"
    TIMEOUT = "a partial match timed out"
    UNDECIDED = "rows to come may decide otherwise"
    GIVEN_UP = "it takes too many steps to tell"


class Search:
    """Attempts to match on one set of partitions; `steps` counts what all of them took.

    A path is (instruction, row, loops, registers): `loops` has a bit for every loop whose present iteration has
    consumed nothing; `registers` hold what conditions ahead may read. Paths are tried depth first in the order of
    preference, so the first that is accepted is the match.

    1. Two paths that agree in instruction, row, loops and live registers have the same future (see
       `registers.live`). Depth first, the second comes when the first has failed: it is dropped.
       Only instructions with two ways in need to be watched.
    2. That holds from start to start too, as long as failures do not depend on the start. They do where a path was
       cut off by WITHIN: then all is forgotten, unless the next attempt is cut off at the same row.
    3. After a match the states on its own path did not fail. Those are at the rows of the match and the row after it,
       so what is known of these rows is forgotten. After an attempt that was given up the states on its path are not
       known to fail either: all that it has seen is forgotten.
    """

    def __init__(self, program: MatchProgram, partitions: Partitions, tests: RowTests):
        plan = search_plan(program, partitions.rows)
        self.code, self.program, self.partitions = plan.code, program, partitions
        self._budget = Budget(program.step_budget)
        self.steps = 0
        self.match: list[int] = []
        self._plan = plan
        self._tests = _verdicts(tests)
        self._leaping = tests.unknown is None
        self._columns = plain_values(partitions.rows, plan.steps.columns)
        self._times = plain_values(partitions.rows, ("t",))["t"] if program.within is not None else []
        self._labels = [0] * partitions.rows.num_rows
        self._timeouts = program.timeouts and program.within is not None
        self._functions: list = []
        self._watch: Watch | None = None
        size = partitions.rows.num_rows + 1
        # None where nothing is remembered: lists of Any, since a test for None in the search would cost time.
        self._flat: list[Any] = [bytearray(size) if flat else None for flat in plan.flat]
        self._deep: list[Any] = [{} if deep else None for deep in plan.deep]
        self._flat_tables: list[bytearray] = [table for table in self._flat if table is not None]
        self._deep_tables: list[dict[int, set]] = [table for table in self._deep if table is not None]

    def enter(self, partition: int) -> None:
        """Go to a partition."""
        bounds = self.partitions
        self._budget.enter()
        self._low, self._high = int(bounds.starts[partition]), int(bounds.ends[partition])
        self._cut, self._furthest, self._behind = False, self._low, self._low
        self._cut_at: tuple[int, bool] | None = None
        if not self._functions or self._plan.steps.physical:
            open = bounds.bound != END_OF_TIME
            self._functions = self._plan.steps.bind(self._columns, self._low, self._high, open)
        for flat in self._flat_tables:
            flat[self._low] = 0
        for table in self._deep_tables:
            table.clear()

    def attempt(self, start: int, number: int) -> Outcome:
        """Try to match from a row; after MATCH and TIMEOUT, `match` has the labels of the rows."""
        limit, closed = self._reach(start)
        self._leave_behind(start)
        if self._cut and (self._timeouts or self._cut_at != (limit, closed)):
            self._forget(start, self._furthest)
            self._cut = False
        self._cut_at = limit, closed
        try:
            outcome, end = self._search(start, limit, closed, number)
        except UnknownRow:
            outcome, end = Outcome.UNDECIDED, start
        if outcome is Outcome.MATCH:
            self.match = self._labels[start:end]
            self._forget(start, end)
        elif outcome is Outcome.TIMEOUT:
            self.match = self._partial or []
        elif outcome is Outcome.GIVEN_UP:
            self._forget_all(start)
        return outcome

    def _reach(self, start: int) -> tuple[int, bool]:
        """Return one past the last row that the attempt may take, and whether no row can ever be added there."""
        within, frame, bound = self.program.within, self.program.frame, self.partitions.bound
        high = self._high if frame is None else min(self._high, start + frame + 1)
        closed = bound == END_OF_TIME or (frame is not None and start + frame < self._high)
        if within is None:
            return high, closed
        deadline = self._times[start] + within
        limit = bisect_left(self._times, deadline, start, high)
        return limit, closed or limit < high or bound >= deadline - 1

    def _leave_behind(self, start: int) -> None:
        """Free what is known of the rows that no attempt reads any more: many small sets make Python slow."""
        for row in range(self._behind, min(start, self._furthest + 1)):
            for table in self._deep_tables:
                table.pop(row, None)
        self._behind = start

    def _forget(self, first: int, last: int) -> None:
        """Forget what failed at the rows from `first` to `last`."""
        if last < first:
            return
        for flat in self._flat_tables:
            flat[first : last + 1] = bytes(last + 1 - first)
        for table in self._deep_tables:
            for row in range(first, last + 1):
                table.pop(row, None)

    def _forget_all(self, start: int) -> None:
        """Forget what failed at all rows from `start` on."""
        for flat in self._flat_tables:
            flat[start : self._furthest + 1] = bytes(max(0, self._furthest + 1 - start))
        for table in self._deep_tables:
            table.clear()
        self._cut = False

    def _search(self, start: int, limit: int, closed: bool, number: int) -> tuple[Outcome, int]:
        """Run the program from a row and return the outcome and one past the last row of a match."""
        plan = self._plan
        operations, xs, ys, pickers, fail = plan.operations, plan.xs, plan.ys, plan.pickers, len(plan.operations) - 1
        flat, deep, tests, functions, labels = self._flat, self._deep, self._tests, self._functions, self._labels
        marks, leaps, leaping = plan.marks, plan.leaps, self._leaping
        low, high, at_end = self._low, self._high, self.partitions.bound == END_OF_TIME
        registers = plan.steps.begin(start, number)
        pc, row, loops, stack = 0, start, 0, []
        furthest, partial = self._furthest, None
        left = allowed = self._budget.allowed(len(operations) * (limit - start + 1))
        try:
            while True:
                left -= 1
                if left < 0:
                    self._budget.give_up(allowed)
                    return Outcome.GIVEN_UP, row
                if flat[pc] is not None:
                    if flat[pc][row]:
                        pc = fail
                    else:
                        flat[pc][row] = 1
                elif deep[pc] is not None:
                    key = loops if pickers[pc] is None else (loops, pickers[pc](registers))
                    failed = deep[pc].setdefault(row, set())
                    if key in failed:
                        pc = fail
                    else:
                        failed.add(key)
                operation = operations[pc]
                if operation == ROW:
                    if row < limit:
                        variable = xs[pc]
                        verdict = tests[variable][row]
                        if not verdict:
                            pc = fail
                            continue
                        if functions[variable] is not None:
                            changed = functions[variable](registers, row)
                            if changed is None:
                                pc = fail
                                continue
                            registers = changed
                        if verdict == UNKNOWN:
                            return Outcome.UNDECIDED, row
                        labels[row] = marks[pc]
                        pc += 1
                        row += 1
                        loops = 0
                        if row > furthest:
                            furthest = row
                    elif closed:
                        self._cut = True
                        if self._timeouts and partial is None and row > start:
                            partial = labels[start:row]
                        pc = fail
                    else:
                        return Outcome.UNDECIDED, row
                elif operation == SPLIT:
                    stack.append((ys[pc], row, loops, registers))
                    pc = xs[pc]
                elif operation == LEAP:
                    if leaping:
                        wanted, mark = leaps[pc]
                        place = tests[wanted].find(1, row, limit)
                        if place < 0:
                            place = limit
                        if place > row:
                            labels[row:place] = [mark] * (place - row)
                            row = place
                            loops = 0
                            if row > furthest:
                                furthest = row
                    stack.append((ys[pc], row, loops, registers))
                    pc = xs[pc]
                elif operation == FAIL:
                    if not stack:
                        break
                    pc, row, loops, registers = stack.pop()
                elif operation == JUMP:
                    pc = xs[pc]
                elif operation == ACCEPT:
                    return Outcome.MATCH, row
                elif operation == BEGIN:
                    loops |= xs[pc]
                    pc += 1
                elif operation == END:
                    empty = loops & xs[pc]
                    loops ^= empty
                    pc = ys[pc] if empty else pc + 1
                elif row == (low if operation == START_ANCHOR else high):
                    if operation == START_ANCHOR or at_end:
                        pc += 1
                    elif self._watch is None:
                        return Outcome.UNDECIDED, row
                    else:
                        self._watch(row, "future")
                        pc = fail
                else:
                    if self._watch is not None:
                        self._watch(row, "^" if operation == START_ANCHOR else "$")
                    pc = fail
        finally:
            self.steps += allowed - left
            self._furthest = furthest
        self._partial = partial
        return (Outcome.NONE if partial is None else Outcome.TIMEOUT), row


def _verdicts(tests: RowTests) -> list[bytes]:
    """Return for each variable one byte a row: 0 fails, 1 holds, 2 is not known yet."""
    verdicts = tests.holds.astype(np.uint8)
    if tests.unknown is not None:
        verdicts[tests.unknown] = UNKNOWN
    return [verdict.tobytes() for verdict in verdicts]
