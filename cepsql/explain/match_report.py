"""Explain how a row pattern matched the rows of one partition."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from sqlglot import exp

from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.sql.positions import text_of
from cepsql.explain.condition_parts import ConditionPart, ConditionParts
from cepsql.explain.match_explanation import (
    ExplainedAttempt,
    ExplainedMatch,
    ExplainedPart,
    ExplainedRow,
    ExplainedTrial,
    ExplainedVariable,
    MatchExplanation,
)
from cepsql.operators.matching.key_rows import KeyRows
from cepsql.operators.matching.lookahead import hold_for_next
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.backtracking.search import Outcome
from cepsql.pattern.backtracking.trace import Attempt, Trace, Trial, trace, trace_attempt
from cepsql.pattern.conditions import split
from cepsql.pattern.ir import dump
from cepsql.pattern.matcher import find_matches
from cepsql.pattern.path_values import PathValues
from cepsql.pattern.program import Navigation, Scalar, reads_row_only
from cepsql.pattern.vector import test_rows
from cepsql.render import canonical_zone, cells
from cepsql.scalar.expressions import Literal, leaves

_FAILED = (Outcome.NONE, Outcome.TIMEOUT, Outcome.GIVEN_UP)
_SHOWN_ATTEMPTS = 3
"""How many failed attempts are shown."""


def explain_match(
    match: MatchPlan,
    parts: ConditionParts,
    sql: str,
    key: Sequence[str | None],
    key_rows: KeyRows,
    zone: str,
    whole: bool = True,
) -> MatchExplanation:
    """Explain the matches of `match` in the rows of one key, and its failed attempts.

    parts: the parts of the conditions of `match`; parts that read columns missing in `key_rows` are "not known".
    sql:   the text to which positions in the clause of `match` refer.
    key:   the values of the PARTITION BY columns as text.
    zone:  the time zone in which times are shown.
    whole: whether `key_rows` has all rows of the key from the first on.
    Raises OperationalError if an attempt takes too many steps.
    """
    return _Explainer(match, parts, sql, key_rows, canonical_zone(zone)).explain(tuple(key), whole)


class _Explainer:
    """Explains one partition."""

    def __init__(self, match: MatchPlan, parts: ConditionParts, sql: str, key_rows: KeyRows, zone: str):
        self.match, self.parts, self.sql, self.key_rows, self.zone = match, parts, sql, key_rows, zone
        # A skip that leads nowhere is an error of the query, but must not stop its explanation.
        self.program = replace(match.program, strict=False)
        self.names = self.program.variables
        self.rows, self.partition = key_rows.released, key_rows.partition()
        there = [(name, column) for name, column in parts.columns if column in self.rows.column_names]
        self.columns = tuple(name for name, _ in there)
        self.shown = [self.texts(self.rows[column], column) for _, column in there]
        self.sources = [column for _, column in there]

    def explain(self, key: tuple[str | None, ...], whole: bool) -> MatchExplanation:
        program, key_rows = self.program, self.key_rows
        times = self.times()
        result = MatchExplanation(
            pattern=dump(program.pattern),
            skip=self.skip(),
            key=tuple((column.name, value) for column, value in zip(self.match.output, key, strict=False)),
            columns=self.columns,
            rows=self.rows.num_rows,
            first=times[0] if times else None,
            last=times[-1] if times else None,
            matches=(),
            jumped=(),
            variables=(),
            open=None,
            failed=(),
            waiting=self.outside(key_rows.waiting),
            late=self.outside(key_rows.late),
            without_event_time=key_rows.timeless,
            watermark=None if key_rows.bound == END_OF_TIME else self.time(key_rows.bound),
            whole=whole,
        )
        if self.rows.num_rows == 0:
            return result
        traced = trace(program, self.partition)
        attempts = [attempt for attempt in traced.attempts if not attempt.jumped]
        failed = self.furthest([a for a in attempts if a.outcome in _FAILED])
        waits = next((a for a in attempts if a.outcome is Outcome.UNDECIDED), None)
        jumped = [a for a in traced.attempts if a.jumped and a.outcome is Outcome.MATCH and a.labels]
        matches, misplaced = self.matches()
        return replace(
            result,
            matches=matches,
            misplaced=misplaced,
            jumped=tuple(self.explained_match(a.number, a.start, a.labels) for a in jumped),
            variables=tuple(self.variables(traced)),
            open=None if waits is None else self.attempt(waits),
            failed=tuple(map(self.attempt, failed)),
        )

    def skip(self) -> str:
        names = " or ".join(self.names[v] for v in sorted(self.program.skip_to))
        return f"{self.program.skip} {names}".rstrip()

    # Matches and conditions

    def matches(self) -> tuple[tuple[ExplainedMatch, ...], int]:
        """Return the matches, and how many skips led nowhere."""
        result = find_matches(self.program, self.partition)
        emitted = len(hold_for_next(self.program, self.partition, result).matches.start)
        ends, explained = np.cumsum(result.matches.length), []
        for i, end in enumerate(ends.tolist()):
            labels = result.matches.labels[end - int(result.matches.length[i]) : end].tolist()
            number, start = int(result.matches.number[i]), int(result.matches.start[i])
            complete = bool(result.matches.complete[i])
            explained.append(
                replace(self.explained_match(number, start, labels), complete=complete, waits=i >= emitted)
            )
        return tuple(explained), result.misplaced

    def explained_match(self, number: int, start: int, labels: Sequence[int]) -> ExplainedMatch:
        times = self.times()[start : start + len(labels)]
        began, ended = (times[0], times[-1]) if times else (None, None)
        return ExplainedMatch(number, start + 1, self.called(labels), began, ended)

    def times(self) -> list[str | None]:
        """Return the values of the first ORDER BY column, if it is a column, as text."""
        first = self.match.clause.order_by[0].this
        named = isinstance(first, exp.Column) and self.columns[:1]
        return self.shown[0] if named and self.columns[0].lower() == first.name.lower() else []

    def called(self, labels: Sequence[int]) -> tuple[str, ...]:
        # A row in an exclusion has the index of its variable plus the number of variables.
        return tuple(self.names[label % len(self.names)] for label in labels)

    def variables(self, traced: Trace) -> Iterator[ExplainedVariable]:
        held = test_rows(self.program, self.partition).holds.sum(axis=1).tolist()
        written = {name.text: _one_line(text_of(condition, self.sql)) for name, condition in self.match.clause.defines}
        for i, name in enumerate(self.names):
            _, rest = split(self.program.conditions[i])
            counts = (None, None) if rest is None else (traced.tried[i], traced.held[i])
            yield ExplainedVariable(name, written.get(name), held[i], self.part_counts(self.parts.parts[i]), *counts)

    def part_counts(self, parts: Sequence[ConditionPart]) -> tuple[tuple[str, int], ...]:
        """Return the row-only parts, with the number of rows on which each is true."""
        values = PathValues(self.program, self.partition, 0, (0,), 1)
        alone = [
            part for part in parts if all(map(reads_row_only, leaves(part.truth))) and values.has_columns(part.truth)
        ]
        if not alone:
            return ()
        tests = replace(
            self.program,
            variables=tuple(f"p{i}" for i in range(len(alone))),
            conditions=tuple(part.truth for part in alone),
        )
        held = test_rows(tests, self.partition).holds.sum(axis=1).tolist()
        return tuple((_one_line(part.sql), count) for part, count in zip(alone, held, strict=True))

    # Attempts

    def furthest(self, failed: list[Attempt]) -> list[Attempt]:
        """Return the attempts to show in full, best first."""
        best: dict[tuple, Attempt] = {}
        for attempt in sorted(failed, key=lambda a: (len(a.labels), a.start), reverse=True):
            if len(best) == _SHOWN_ATTEMPTS or (best and not attempt.labels):
                break
            if _reason(attempt) not in best:
                attempt = trace_attempt(self.program, self.partition, attempt.start, attempt.number)
                best.setdefault(_reason(attempt), attempt)
        return list(best.values())

    def attempt(self, attempt: Attempt) -> ExplainedAttempt:
        """Explain an attempt and what stopped it."""
        begin, end = attempt.start, attempt.start + len(attempt.labels)
        called = self.called(attempt.labels)
        rows = tuple(self.row(row, name) for row, name in zip(range(begin, end), called, strict=True))
        tried = attempt.stop in ("row", "future") and end < self.rows.num_rows
        readable = end < self.rows.num_rows and attempt.stop not in ("future", "steps")
        deadline = None
        if self.program.within is not None:
            deadline = self.time(self.rows["t"][begin].as_py() + self.program.within)
        trials = tuple(self.trial(attempt, trial) for trial in attempt.trials) if tried else ()
        return ExplainedAttempt(
            first=begin + 1,
            rows=rows,
            next=self.row(end, None) if readable or trials else None,
            stop=attempt.stop or "",
            awaited=tuple(dict.fromkeys(self.names[trial.variable] for trial in attempt.trials)),
            trials=trials,
            deadline=deadline,
            fallback=None if attempt.fallback is None else self.called(attempt.fallback),
        )

    def trial(self, attempt: Attempt, trial: Trial) -> ExplainedTrial:
        labels = (*attempt.labels, trial.variable)
        values = PathValues(self.parts.program, self.partition, attempt.start, labels, attempt.number)
        parts = tuple(self.part(part, values) for part in self.parts.parts[trial.variable])
        return ExplainedTrial(self.names[trial.variable], trial.holds, parts)

    def part(self, part: ConditionPart, values: PathValues) -> ExplainedPart:
        """Evaluate a part, and show the values that it read in place of their names."""
        if not values.has_columns(part.truth) or values.waits(part.truth):
            result = "not known"
        else:
            result = {True: "true", False: "false", None: "NULL"}[values.evaluate(part.truth)]
        shown, end = [], 0
        for read in part.reads:
            shown += [part.sql[end : read.begin], self.value(read.value, values) or part.sql[read.begin : read.end]]
            end = read.end
        return ExplainedPart(_one_line(part.sql), _one_line("".join([*shown, part.sql[end:]])), result)

    def value(self, expression: Scalar, values: PathValues) -> str | None:
        """Return a value that a part read as text, None if it is not known."""
        if not values.has_columns(expression) or values.waits(expression):
            return None
        if isinstance(expression, Literal):
            return _literal(expression.value)
        column = values.leaf(expression)
        (text,) = self.texts(column, expression.column if isinstance(expression, Navigation) else None)
        return f"'{text}'" if text is not None and pa.types.is_string(column.type) else text or _literal(text)

    # Rows

    def row(self, row: int, variable: str | None) -> ExplainedRow:
        return ExplainedRow(row + 1, tuple(column[row] for column in self.shown), variable)

    def outside(self, rows: pa.Table | None) -> tuple[ExplainedRow, ...]:
        """Return rows outside the order."""
        if rows is None:
            return ()
        columns = [self.texts(rows[column], column) for column in self.sources]
        return tuple(ExplainedRow(0, values) for values in zip(*columns, strict=True))

    def texts(self, values: pa.ChunkedArray, column: str | None) -> list[str | None]:
        """Return values as texts; the column `t` holds times in microseconds."""
        if not isinstance(values, pa.ChunkedArray):
            values = pa.chunked_array([values])
        return cells(values.cast(pa.timestamp("us", "UTC")) if column == "t" else values, self.zone)

    def time(self, micros: int) -> str:
        return self.texts(pa.chunked_array([pa.array([micros], pa.int64())]), "t")[0] or ""


def _reason(attempt: Attempt) -> tuple:
    """Return the cause of a failed attempt."""
    return attempt.stop, frozenset(trial.variable for trial in attempt.trials)


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _one_line(sql: str) -> str:
    return " ".join(sql.split())
