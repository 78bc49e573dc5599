"""What each attempt to match a row pattern did: how far it came, and what stopped it there."""

from bisect import bisect_left
from dataclasses import dataclass, field, replace

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.budget import Budget
from cepsql.pattern.found import FoundBuilder
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.rows import Partitions
from cepsql.pattern.search import UNKNOWN, Outcome
from cepsql.pattern.search_plan import search_plan
from cepsql.pattern.steps import UnknownRow
from cepsql.pattern.vector import test_rows
from cepsql.scalar.columns import plain_values


@dataclass(frozen=True)
class Trial:
    """A variable that could take the row after a path; `holds` is None if its condition reads a row to come."""

    variable: int
    holds: bool | None


@dataclass(frozen=True)
class Attempt:
    """One attempt to match, from the row `start` of `Partitions.rows` on.

    number:   what MATCH_NUMBER() was.
    outcome:  how it ended.
    labels:   the variable of each row: of the match; of the partial match that timed out; else of the path that came
              furthest, the most preferred of those. An undecided attempt's path is the one that waits.
    stop:     why that path ended: "row" (no variable takes the next row), "within" (the next row is past the deadline),
              "end" (the partition has no further row), "future" (rows to come decide), "^" or "$" (the anchor does not
              hold); "steps" if the attempt was given up; None for a match.
    trials:   the variables that could come next on that path, with the verdict on the next row if that was read.
    fallback: the labels of the less preferred match that an undecided attempt gives if nothing better comes, or None.
    jumped:   AFTER MATCH SKIP passed over its start, so that it was not made: this is how it would have ended.
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
    match so far was tried in those that were made, and how often it held."""

    attempts: tuple[Attempt, ...]
    tried: tuple[int, ...]
    held: tuple[int, ...]


def trace(program: MatchProgram, partition: Partitions) -> Trace:
    """Search one partition as `find_matches` does, and tell what every attempt did.

    The attempts that matched are the matches of `find_matches`. What has failed once is not explored again, so that of
    the attempts that fail only those that came furthest are told in full; see `trace_attempt`. An attempt is given up
    when it takes too many steps, of which fewer are needed here than where nothing is remembered.
    """
    tracer = _Tracer(program, partition)
    builder = FoundBuilder(partition)
    attempts: list[Attempt] = []
    start, number = int(partition.scan[0]), int(partition.numbers[0]) + 1
    while start < tracer.high:
        attempt = tracer.attempt(start, number)
        attempts.append(attempt)
        if attempt.outcome is Outcome.UNDECIDED:
            break
        after = start + 1
        if attempt.outcome not in (Outcome.NONE, Outcome.GIVEN_UP):
            number += 1
        if attempt.outcome is Outcome.MATCH and attempt.labels:
            after = start + builder.skipped(program, list(attempt.labels))
        for row in range(start + 1, after):
            if tracer.jumped_steps < program.step_budget:
                attempts.append(tracer.attempt(row, number, jumped=True))
        if after > start + 1:
            tracer.failed.clear()
        start = after
    return Trace(tuple(attempts), tuple(tracer.tried), tuple(tracer.held))


def trace_attempt(program: MatchProgram, partition: Partitions, start: int, number: int) -> Attempt:
    """Tell in full what the attempt from one row of a partition does."""
    return _Tracer(program, partition).attempt(start, number)


class _Tracer:
    """The search of one partition; see `cepsql.pattern.search.Search`, whose paths these are."""

    def __init__(self, program: MatchProgram, partition: Partitions):
        rows = partition.rows
        self.plan = plan = search_plan(program, rows)
        self.program, self.budget = program, Budget(program.step_budget)
        self.low, self.high = int(partition.starts[0]), int(partition.ends[0])
        self.bound = partition.bound
        tests = test_rows(program, partition)
        self.verdicts = tests.holds.astype(int)
        if tests.unknown is not None:
            self.verdicts[tests.unknown] = UNKNOWN
        self.verdicts = self.verdicts.tolist()
        columns = plain_values(rows, plan.steps.columns)
        self.functions = plan.steps.bind(columns, self.low, self.high, self.bound != END_OF_TIME)
        self.times = plain_values(rows, ("t",))["t"] if program.within is not None else []
        self.labels = [0] * rows.num_rows
        self.tried, self.held = [0] * len(program.variables), [0] * len(program.variables)
        self.failed: set[tuple] = set()
        self.jumped_steps, self.counting = 0, True

    def attempt(self, start: int, number: int, jumped: bool = False) -> Attempt:
        """Try to match from a row."""
        run, self.counting = _Run(self, start), not jumped
        attempt = run.search(number)
        self.jumped_steps += run.steps if jumped else 0
        if attempt.outcome is not Outcome.NONE or run.cut:
            # The states on the path of a match did not fail, and those cut off by a deadline may not fail elsewhere.
            self.failed.clear()
        return replace(attempt, jumped=jumped)

    def reach(self, start: int) -> tuple[int, bool]:
        """Return one past the last row that an attempt may read, and whether no row can ever be added there."""
        within = self.program.within
        if within is None:
            return self.high, self.bound == END_OF_TIME
        deadline = self.times[start] + within
        limit = bisect_left(self.times, deadline, start, self.high)
        return limit, limit < self.high or self.bound == END_OF_TIME or self.bound >= deadline - 1

    def test(self, variable: int, registers: tuple, row: int) -> tuple[bool | None, tuple]:
        """Return whether a row can be mapped to a variable (None: rows to come decide), and the registers then."""
        verdict, function = self.verdicts[variable][row], self.functions[variable]
        if not verdict:
            return False, registers
        if function is not None:
            self.tried[variable] += self.counting
            try:
                changed = function(registers, row)
            except UnknownRow:
                return None, registers
            if changed is None:
                return False, registers
            registers = changed
            self.held[variable] += self.counting
        return (None if verdict == UNKNOWN else True), registers


@dataclass
class _Path:
    """A path that ended before a row, with the variables tried there."""

    labels: tuple[int, ...]
    stop: str
    trials: list[Trial] = field(default_factory=list)


class _Run:
    """One attempt while it runs.

    furthest: the most preferred of the paths that came furthest; once one waits for rows to come, that one.
    partial:  the first path that the deadline or the end of the partition cut off after a row.
    """

    def __init__(self, tracer: _Tracer, start: int):
        self.tracer, self.start = tracer, start
        self.furthest: _Path | None = None
        self.partial: _Path | None = None
        self.undecided, self.cut = False, False
        self.steps = 0

    def search(self, number: int) -> Attempt:
        """Run the program."""
        tracer, plan, start = self.tracer, self.tracer.plan, self.start
        instructions, fail = plan.code.instructions, len(plan.code.instructions)
        limit, closed = tracer.reach(start)
        allowed = tracer.budget.allowed((fail + 1) * (limit - start + 1))
        pc, row, loops, registers = 0, start, 0, plan.steps.begin(start, number)
        stack: list[tuple] = []
        while True:
            self.steps += 1
            if self.steps > allowed:
                tracer.budget.give_up(allowed)
                return self.ended(number, Outcome.GIVEN_UP, replace(self.furthest or _Path((), ""), stop="steps"))
            if (plan.flat[pc] or plan.deep[pc]) and self.known_to_fail(pc, row, loops, registers):
                pc = fail
            if pc == fail:
                if not stack:
                    return self.failed(number)
                pc, row, loops, registers = stack.pop()
                continue
            operation, x, y = instructions[pc].operation, instructions[pc].x, instructions[pc].y
            if operation == "row":
                if row < limit:
                    holds, changed = tracer.test(x, registers, row)
                    if holds:
                        tracer.labels[row] = x
                        pc, row, loops, registers = pc + 1, row + 1, 0, changed
                        continue
                    self.note(row, "row" if holds is False else "future", Trial(x, holds))
                else:
                    self.note(row, self.limited(limit, closed), Trial(x, None))
                pc = fail
            elif operation == "split":
                stack.append((y, row, loops, registers))
                pc = x
            elif operation == "jump":
                pc = x
            elif operation == "accept":
                return self.accepted(number, row)
            elif operation == "begin":
                loops, pc = loops | 1 << x, pc + 1
            elif operation == "end":
                empty = loops & 1 << x
                loops, pc = loops ^ empty, y if empty else pc + 1
            else:
                pc = self.anchor(x == 0, pc, row, fail)

    def known_to_fail(self, pc: int, row: int, loops: int, registers: tuple) -> bool:
        """Tell whether a path with the same future has failed, and remember this one."""
        kept = self.tracer.plan.kept[pc]
        state = (pc, row, loops, None if kept is None else kept(registers))
        if state in self.tracer.failed:
            return True
        self.tracer.failed.add(state)
        return False

    def limited(self, limit: int, closed: bool) -> str:
        """Return why no row at the limit may be read."""
        if not closed:
            return "future"
        self.cut |= self.tracer.program.within is not None
        passed = limit < self.tracer.high or self.tracer.bound != END_OF_TIME
        return "within" if passed else "end"

    def anchor(self, begin: bool, pc: int, row: int, fail: int) -> int:
        """Return where to go on from an anchor."""
        if begin:
            holds = row == self.tracer.low
        elif row == self.tracer.high and self.tracer.bound != END_OF_TIME:
            self.note(row, "future", None)
            return fail
        else:
            holds = row == self.tracer.high
        if holds:
            return pc + 1
        self.note(row, "^" if begin else "$", None)
        return fail

    def note(self, row: int, stop: str, trial: Trial | None) -> None:
        """Note that the path ends before a row."""
        depth, waits = row - self.start, stop == "future" and not self.undecided
        if waits or self.furthest is None or (depth > len(self.furthest.labels) and not self.undecided):
            self.furthest = _Path(self.labels(row), stop)
            self.undecided |= waits
        if self.partial is None and depth and stop in ("within", "end"):
            self.partial = _Path(self.labels(row), stop)
        for path in filter(None, (self.furthest, self.partial)):
            if len(path.labels) == depth and path.labels == self.labels(row):
                path.stop = stop if path.stop in ("^", "$") else path.stop
                if trial is not None and trial not in path.trials:
                    path.trials.append(trial)

    def labels(self, row: int) -> tuple[int, ...]:
        """Return the variables of the rows of the present path, which ends before `row`."""
        return tuple(self.tracer.labels[self.start : row])

    def accepted(self, number: int, row: int) -> Attempt:
        labels = self.labels(row)
        if self.undecided and self.furthest is not None:
            return self.ended(number, Outcome.UNDECIDED, self.furthest, labels)
        return Attempt(self.start, number, Outcome.MATCH, labels, None, ())

    def failed(self, number: int) -> Attempt:
        if self.undecided and self.furthest is not None:
            return self.ended(number, Outcome.UNDECIDED, self.furthest)
        program = self.tracer.program
        if program.timeouts and program.within is not None and self.partial:
            return self.ended(number, Outcome.TIMEOUT, self.partial)
        return self.ended(number, Outcome.NONE, self.furthest or _Path((), "row"))

    def ended(self, number: int, outcome: Outcome, path: _Path, fallback: tuple[int, ...] | None = None) -> Attempt:
        return Attempt(self.start, number, outcome, path.labels, path.stop, tuple(path.trials), fallback)
