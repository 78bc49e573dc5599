"""The meaning of row patterns by brute force: every labelling in the order of preference, conditions read off it.

Slow and plain on purpose, for whole inputs only. Rows are dicts of one partition in order, with a time under "t".
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat, Variable
from cepsql.pattern.program import Aggregate, Bit, Classifier, MatchNumber, MatchProgram, Navigation
from cepsql.scalar.expressions import Call, Literal


@dataclass(frozen=True)
class Answer:
    """One match: its first row, number, labels (variable indexes), and whether it is complete."""

    start: int
    number: int
    labels: tuple[int, ...]
    complete: bool = True


class Partial(Exception):
    """The first labelling that wanted a row beyond the deadline."""


def answers(program: MatchProgram, rows: list[dict]) -> list[Answer]:
    """Return all matches of a partition that is whole."""
    matches, start = [], 0
    while start < len(rows):
        answer = attempt(program, rows, start, len(matches) + 1)
        if answer:
            matches.append(answer)
        if answer and answer.complete and answer.labels and program.skip == "past last row":
            start += len(answer.labels)
        else:
            start += 1
    return matches


def attempt(program: MatchProgram, rows: list[dict], start: int, number: int) -> Answer | None:
    """Return the preferred match that begins at a row."""
    timed_out: list[tuple[int, ...]] = []

    def accepts(labels: tuple[int, ...]) -> bool:
        row = start + len(labels) - 1
        late = program.within is not None and row < len(rows) and rows[row]["t"] - rows[start]["t"] >= program.within
        if row >= len(rows) or late:
            timed_out.append(labels[:-1])
            return False
        condition = program.conditions[labels[-1]]
        return condition is None or evaluate(condition, Context(program, rows, start, labels, number)) is True

    for labels in labellings(program.pattern, program.variables, (), start, len(rows), accepts):
        return Answer(start, number, labels)
    partial = next((labels for labels in timed_out if labels), None)
    if program.timeouts and program.within is not None and partial:
        return Answer(start, number, partial, complete=False)
    return None


def labellings(pattern: Pattern, names, labels, start: int, count: int, accepts) -> Iterator[tuple[int, ...]]:
    """Yield the labels of every way to go on from `labels` by the pattern, preferred ways first."""

    def go_on(part, labels):
        return labellings(part, names, labels, start, count, accepts)

    match pattern:
        case Variable(name):
            longer = (*labels, names.index(name))
            if accepts(longer):
                yield longer
        case Empty():
            yield labels
        case Anchor(end):
            if start + len(labels) == (count if end else 0):
                yield labels
        case Concat(parts):
            if not parts:
                yield labels
            else:
                for middle in go_on(parts[0], labels):
                    yield from go_on(Concat(parts[1:]), middle)
        case Alternate(parts):
            for part in parts:
                yield from go_on(part, labels)
        case Permute(parts):
            for order in permutations(parts):
                yield from go_on(Concat(order), labels)
        case Exclude(part):
            yield from go_on(part, labels)
        case Repeat(part, low, high, greedy):
            yield from _repeated(part, low, high, greedy, labels, go_on)


def _repeated(part, low, high, greedy, labels, go_on) -> Iterator[tuple[int, ...]]:
    if low > 0:
        for middle in go_on(part, labels):
            yield from _repeated(part, low - 1, None if high is None else high - 1, greedy, middle, go_on)
        return
    if not greedy:
        yield labels
    if high is None or high > 0:
        for middle in go_on(part, labels):
            if middle == labels:
                yield labels
            else:
                yield from _repeated(part, 0, None if high is None else high - 1, greedy, middle, go_on)
    if greedy:
        yield labels


@dataclass(frozen=True)
class Context:
    """Where a condition is evaluated: the candidate row is the last one in `labels`."""

    program: MatchProgram
    rows: list[dict]
    start: int
    labels: tuple[int, ...]
    number: int

    def mapped(self, variables) -> list[int]:
        return [self.start + i for i, label in enumerate(self.labels) if variables is None or label in variables]

    def find(self, leaf) -> int | None:
        mapped = self.mapped(leaf.variables)
        if leaf.offset >= len(mapped):
            return None
        return mapped[leaf.offset] if leaf.first else mapped[-1 - leaf.offset]


def evaluate(expression, context: Context):
    """Return the value of a condition or of a part of it."""
    match expression:
        case Literal(value):
            return value
        case Bit(index):
            return bool(context.rows[context.start + len(context.labels) - 1]["m"] >> index & 1)
        case MatchNumber():
            return context.number
        case Navigation():
            row = context.find(expression)
            if row is None or not 0 <= row + expression.shift < len(context.rows):
                return None
            return context.rows[row + expression.shift][expression.column]
        case Classifier():
            row = context.find(expression)
            place = None if row is None else row + expression.shift - context.start
            if place is None or not 0 <= place < len(context.labels):
                return None
            return context.program.variables[context.labels[place]]
        case Aggregate():
            return _aggregate(expression, context)
        case Call(operation, arguments, _):
            return _OPERATIONS[operation](*(evaluate(argument, context) for argument in arguments))
    raise AssertionError(expression)


def _aggregate(leaf: Aggregate, context: Context):
    rows = context.mapped(leaf.variables)
    if leaf.column is None:
        return len(rows)
    values = [value for row in rows if (value := context.rows[row][leaf.column]) is not None]
    if leaf.distinct:
        values = list({key(value): value for value in reversed(values)}.values())[::-1]
    if leaf.function == "count":
        return len(values)
    if not values:
        return None
    if leaf.function in ("min", "max"):
        return min(values, key=key) if leaf.function == "min" else max(values, key=key)
    return sum(values) if leaf.function == "sum" else sum(values) / len(values)


def key(value):
    """Order values so that NaN equals itself and is above all else."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def _strict(function):
    return lambda *arguments: None if None in arguments else function(*arguments)


def _and(*values):
    return False if False in values else None if None in values else True


def _or(*values):
    return True if True in values else None if None in values else False


_OPERATIONS = {
    "and": _and,
    "or": _or,
    "not": _strict(lambda a: not a),
    "eq": _strict(lambda a, b: key(a) == key(b)),
    "ne": _strict(lambda a, b: key(a) != key(b)),
    "lt": _strict(lambda a, b: key(a) < key(b)),
    "le": _strict(lambda a, b: key(a) <= key(b)),
    "gt": _strict(lambda a, b: key(a) > key(b)),
    "ge": _strict(lambda a, b: key(a) >= key(b)),
    "add": _strict(lambda a, b: a + b),
    "sub": _strict(lambda a, b: a - b),
    "isnull": lambda a: a is None,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
}
