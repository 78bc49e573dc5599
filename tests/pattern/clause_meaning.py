"""The rows that a clause must give: all labellings in the order of preference, and the standard's words about output.

Slow and plain on purpose, and without anything of the product but the tree of the row pattern.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from clause_expressions import Seen, value
from clause_texts import SECOND, Clause
from oracle import labellings

from cepsql.pattern.ir import Alternate, Concat, Exclude, Pattern, Permute, Repeat, Variable

COLUMNS = ("k", "ts", "n", "x", "y", "s")
MOST_TRIALS = 20_000


class SkipFails(Exception):
    """A skip to a variable without rows or to the first row of the match."""


class TooMany(Exception):
    """There are too many labellings to try."""


@dataclass(frozen=True)
class Match:
    """The variable of each row of a match, and whether an exclusion hides it."""

    start: int
    number: int
    names: tuple[str, ...]
    hidden: tuple[bool, ...]
    complete: bool = True


@dataclass(frozen=True)
class Meaning:
    """The rows that must come out, the matches behind them, and how many skips led nowhere."""

    rows: list[dict]
    matches: int
    timeouts: int
    misplaced: int


def meaning(clause: Clause, rows: list[dict], strict: bool) -> Meaning:
    """Say what a clause gives over rows that stand in order. Raises SkipFails if strict."""
    result, all_matches, misplaced = [], [], 0
    for key in dict.fromkeys(row["k"] for row in rows):
        partition = [row for row in rows if row["k"] == key]
        matches, nowhere = partition_matches(clause, partition, strict)
        misplaced += nowhere
        all_matches += matches
        result += output(clause, partition, matches)
    complete = sum(match.complete for match in all_matches)
    return Meaning(result, complete, len(all_matches) - complete, misplaced)


def partition_matches(clause: Clause, rows: list[dict], strict: bool) -> tuple[list[Match], int]:
    """Return the matches of a partition one after another, and how many skips led nowhere."""
    matches, start, misplaced = [], 0, 0
    while start < len(rows):
        match = first_match(clause, rows, start, len(matches) + 1)
        if match is None:
            start += 1
            continue
        matches.append(match)
        if not match.names or not match.complete:
            start += 1
            continue
        target = _target(clause, match)
        if target is not None and target > 0:
            start += target
            continue
        if strict:
            raise SkipFails
        misplaced += 1
        start += len(match.names) if target is None else 1
    return matches, misplaced


def _target(clause: Clause, match: Match) -> int | None:
    """Return where in the match AFTER MATCH SKIP leads to, None if the match has no such row."""
    if clause.skip in ("", "PAST LAST ROW"):
        return len(match.names)
    if clause.skip == "TO NEXT ROW":
        return 1
    members = clause.unions.get(clause.skip_to, (clause.skip_to,))
    places = [place for place, name in enumerate(match.names) if name in members]
    if not places:
        return None
    return places[0] if "FIRST" in clause.skip else places[-1]


def first_match(clause: Clause, rows: list[dict], start: int, number: int) -> Match | None:
    """Return the preferred match that begins at a row, or the partial match that timed out there."""
    variables = clause.variables
    # Rows of an exclusion get names of their own, so that a labelling tells them apart.
    twins = (*variables, *(f"hidden {name}" for name in variables))
    cut_off, trials = [], 0

    def accepts(labels: tuple[int, ...]) -> bool:
        nonlocal trials
        trials += 1
        if trials > MOST_TRIALS:
            raise TooMany
        row = start + len(labels) - 1
        if row >= len(rows) or (clause.within and rows[row]["ts"] - rows[start]["ts"] >= clause.within * SECOND):
            cut_off.append(labels[:-1])
            return False
        names = tuple(variables[label % len(variables)] for label in labels)
        condition = clause.defines.get(names[-1])
        seen = Seen(rows, start, names, len(names), number, True, clause.unions)
        return condition is None or value(condition, seen) is True

    def match(labels: tuple[int, ...], complete: bool) -> Match:
        names = tuple(variables[label % len(variables)] for label in labels)
        return Match(start, number, names, tuple(label >= len(variables) for label in labels), complete)

    for labels in labellings(_twinned(clause.pattern), twins, (), start, len(rows), accepts):
        return match(labels, True)
    partial = next((labels for labels in cut_off if labels), None)
    return match(partial, False) if clause.timeouts and partial else None


def _twinned(pattern: Pattern, hidden: bool = False) -> Pattern:
    match pattern:
        case Variable(name):
            return Variable(f"hidden {name}") if hidden else pattern
        case Exclude(part):
            return _twinned(part, True)
        case Concat(parts) | Alternate(parts) | Permute(parts):
            return type(pattern)(tuple(_twinned(part, hidden) for part in parts))
        case Repeat(part, low, high, greedy):
            return Repeat(_twinned(part, hidden), low, high, greedy)
    return pattern


def output(clause: Clause, rows: list[dict], matches: list[Match]) -> Iterator[dict]:
    """Yield the rows that a partition's matches give."""
    if not clause.all:
        for match in matches:
            yield {"k": rows[match.start]["k"], **_measured(clause, rows, match, len(match.names))}
        return
    covered = set()
    for match in matches:
        covered |= set(range(match.start, match.start + max(1, len(match.names))))
        if not match.names and clause.empty != "OMIT EMPTY MATCHES":
            yield {**rows[match.start], **_measured(clause, rows, match, 0)}
        for place in range(len(match.names)):
            if not match.hidden[place]:
                yield {**rows[match.start + place], **_measured(clause, rows, match, place + 1)}
    if clause.empty == "WITH UNMATCHED ROWS":
        for place, row in enumerate(rows):
            if place not in covered:
                yield {**row, **{f"m{i}": None for i in range(len(clause.measures))}}


def _measured(clause: Clause, rows: list[dict], match: Match, upto: int) -> dict:
    seen = Seen(rows, match.start, match.names, upto, match.number, match.complete, clause.unions)
    return {f"m{i}": value(measure, seen) for i, measure in enumerate(clause.measures)}


def names_of_output(clause: Clause) -> list[str]:
    """Return the columns in their order: partition, order, measures, then the others of the input."""
    measures = [f"m{i}" for i in range(len(clause.measures))]
    if not clause.all:
        return ["k", *measures]
    ordered = ["k", "ts", "n"] if "n" in clause.order else ["k", "ts"]
    return [*ordered, *measures, *(name for name in COLUMNS if name not in ordered)]
