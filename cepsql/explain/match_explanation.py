"""The result of EXPLAIN MATCH, as data and as text: why a partition has its matches, and no others."""

from collections.abc import Sequence
from dataclasses import dataclass

from cepsql.render.readable import Brief, Readable

_SHOWN_MATCHES, _SHOWN_ROWS, _SHOWN_JUMPS = 20, 30, 3


@dataclass(frozen=True, repr=False)
class ExplainedRow(Brief):
    """A row of the partition: its number from 1 (0 for a row outside the order), values as text, its variable."""

    number: int
    values: tuple[str | None, ...]
    variable: str | None = None

    def __str__(self) -> str:
        """Return it in one line."""
        name = f"row {self.number}" if self.number else "row outside the order"
        taken = f", {self.variable}" if self.variable else ""
        return f"{name}: {', '.join(map(_null, self.values))}{taken}"


@dataclass(frozen=True, repr=False)
class ExplainedMatch(Brief):
    """A match, or a partial match that timed out: its number and the variable of each row, from row `first` on.

    began, ended: the ORDER BY value of its first and its last row, or None.
    waits: it is not emitted yet, because a measure reads a row that has not arrived.
    """

    number: int
    first: int
    variables: tuple[str, ...]
    began: str | None = None
    ended: str | None = None
    complete: bool = True
    waits: bool = False

    def __str__(self) -> str:
        """Return it in one line."""
        note = "" if self.complete else "  (timed out)"
        note += "  (waits for a row that a measure reads)" if self.waits else ""
        return f"{self.number}: {_extent(self)}{note}"


@dataclass(frozen=True, repr=False)
class ExplainedPart(Brief):
    """An AND-ed part of a condition, tested on one row.

    sql:    as it was written.
    values: the same, with the values that it read in place of their names.
    result: "true", "false", "NULL", or "not known" if a row that it reads has not arrived or its values are not stored.
    """

    sql: str
    values: str
    result: str

    def __str__(self) -> str:
        """Return it in one line."""
        compared = "" if self.values == self.sql else f": {self.values}"
        return f"{self.sql}{compared} is {self.result}"


@dataclass(frozen=True, repr=False)
class ExplainedTrial(Brief):
    """A variable tried on a row: `holds` is None if a later row decides; `parts` is empty without a condition."""

    variable: str
    holds: bool | None
    parts: tuple[ExplainedPart, ...]

    def __str__(self) -> str:
        """Return it in one line."""
        return "; ".join([f"{self.variable} {_verdict(self.holds)}", *map(str, self.parts)])


@dataclass(frozen=True, repr=False)
class ExplainedAttempt(Brief):
    """An attempt without a match.

    rows:     the rows that it took, with their variables.
    next:     the row that it could not take, or may not; or None.
    stop:     "row", "within", "end", "future", "^", "$" or "steps", as in `cepsql.pattern.backtracking.trace.Attempt`.
    awaited:  the variables that could come next.
    trials:   those of them that were tried on the row `next`.
    deadline: the first time that is too late for WITHIN; None without WITHIN.
    fallback: the variables of the match that is emitted if no better one completes, or None.
    first:    the number of its first row.
    """

    first: int
    rows: tuple[ExplainedRow, ...]
    next: ExplainedRow | None
    stop: str
    awaited: tuple[str, ...]
    trials: tuple[ExplainedTrial, ...]
    deadline: str | None = None
    fallback: tuple[str, ...] | None = None

    def __str__(self) -> str:
        """Return in one line the rows that it took and what stopped it."""
        return f"from row {self.first}: {_reason(self)}"


@dataclass(frozen=True, repr=False)
class ExplainedVariable(Brief):
    """The statistics of a variable's condition.

    condition: as it was written, None without DEFINE.
    row_held:  the number of rows on which its row-only part holds.
    parts:     its row-only parts, each with the number of rows on which it is true.
    tried, held: how often the rest, which reads the match so far, was tried, and held; None without a rest.
    """

    name: str
    condition: str | None
    row_held: int
    parts: tuple[tuple[str, int], ...] = ()
    tried: int | None = None
    held: int | None = None

    def __str__(self) -> str:
        """Return in one line on how many rows its condition holds."""
        if self.condition is None:
            return f"{self.name}: no condition"
        tried = "" if self.tried is None else f", tried {self.tried} times, held {self.held}"
        return f"{self.name}: {self.condition}, holds on {_rows(self.row_held)}{tried}"


@dataclass(frozen=True, repr=False)
class MatchExplanation(Readable):
    """How one row pattern matched one partition. Row numbers begin at 1 in the order of the partition.

    pattern, skip: as in the query.
    key:      the PARTITION BY columns with their values.
    columns:  the names of `ExplainedRow.values`.
    rows:     the number of rows that could be matched; `first` and `last` are their first and last ORDER BY values.
    matches:  the matches, in order.
    jumped:   matches that would begin at rows that AFTER MATCH SKIP jumped over.
    variables: one for each pattern variable.
    open:     the attempt that later rows decide, or None.
    failed:   at most three failed attempts, best first: for each cause the one that took most rows, the latest of
              several.
    waiting:  rows above the watermark; late: late rows; without_event_time: the number of rows without event time.
    watermark: the watermark, None for a table.
    whole:    False if earlier rows of the partition are no longer stored.
    misplaced: the number of skips to a variable that led nowhere.
    """

    pattern: str
    skip: str
    key: tuple[tuple[str, str | None], ...]
    columns: tuple[str, ...]
    rows: int
    first: str | None
    last: str | None
    matches: tuple[ExplainedMatch, ...]
    jumped: tuple[ExplainedMatch, ...]
    variables: tuple[ExplainedVariable, ...]
    open: ExplainedAttempt | None
    failed: tuple[ExplainedAttempt, ...]
    waiting: tuple[ExplainedRow, ...] = ()
    late: tuple[ExplainedRow, ...] = ()
    without_event_time: int = 0
    watermark: str | None = None
    whole: bool = True
    misplaced: int = 0

    @property
    def best(self) -> ExplainedAttempt | None:
        """The failed attempt that took most rows, or None."""
        return self.failed[0] if self.failed else None

    def __str__(self) -> str:
        """Return the explanation as text."""
        lines = [*_head(self), *_matches(self), *_variables(self)]
        if self.open is not None:
            begins = f"undecided: the attempt from row {self.open.first}"
            lines += ["", *_attempt(self.open, self.columns, begins)]
        for number, attempt in enumerate(self.failed):
            lines += ["", *_attempt(attempt, self.columns, "another attempt" if number else "best attempt")]
        for title, rows in (("waiting for the watermark", self.waiting), ("late, and left out", self.late)):
            if rows:
                lines += ["", f"{title}: {_rows(len(rows))}", *_table(rows, self.columns, numbered=False)]
        if self.without_event_time:
            lines += ["", f"left out: {_rows(self.without_event_time)} without event time"]
        return "\n".join(lines)


def _head(explanation: MatchExplanation) -> list[str]:
    lines = [f"pattern: {explanation.pattern}"]
    if explanation.key:
        lines.append(f"key: {', '.join(f'{name} = {_null(value)}' for name, value in explanation.key)}")
    rows = f"rows: {explanation.rows}" + ("" if explanation.whole else " that a match can still read")
    if explanation.first is not None:
        same = explanation.first == explanation.last
        rows += f", at {explanation.first}" if same else f", from {explanation.first} to {explanation.last}"
    lines.append(rows)
    if explanation.watermark is not None:
        lines.append(f"watermark: {explanation.watermark}")
    return lines


def _matches(explanation: MatchExplanation) -> list[str]:
    lines = [f"matches: {len(explanation.matches) or 'none'}"]
    if not explanation.whole and not explanation.matches:
        lines[0] += " among these rows"
    lines += [f"  {match}" for match in explanation.matches[:_SHOWN_MATCHES]]
    if len(explanation.matches) > _SHOWN_MATCHES:
        lines.append(f"  ... and {len(explanation.matches) - _SHOWN_MATCHES} more")
    if explanation.jumped:
        count = len(explanation.jumped)
        shown = "; ".join(map(_extent, explanation.jumped[:_SHOWN_JUMPS])) + ("; ..." if count > _SHOWN_JUMPS else "")
        which = "a match begins" if count == 1 else f"{count} matches begin"
        lines.append(f"AFTER MATCH SKIP {explanation.skip.upper()} jumped over rows where {which}: {shown}")
    if explanation.misplaced:
        times = f"{explanation.misplaced} times" if explanation.misplaced > 1 else "once"
        lines.append(f"AFTER MATCH SKIP {explanation.skip.upper()} led nowhere {times}, which is an error over a table")
    return lines


def _extent(match: ExplainedMatch) -> str:
    if not match.variables:
        return f"before row {match.first}: empty"
    last = match.first + len(match.variables) - 1
    rows = f"row {match.first}" if last == match.first else f"rows {match.first} to {last}"
    times = "" if match.began is None else f", {match.began}"
    times += f" to {match.ended}" if times and last > match.first else ""
    return f"{rows}{times}: {_runs(match.variables)}"


def _runs(variables: Sequence[str]) -> str:
    """Join variables, with counts of repetitions: A B B B becomes A B*3."""
    runs: list[list] = []
    for name in variables:
        if runs and runs[-1][0] == name:
            runs[-1][1] += 1
        else:
            runs.append([name, 1])
    return " ".join(name if count == 1 else f"{name}*{count}" for name, count in runs)


def _variables(explanation: MatchExplanation) -> list[str]:
    lines, total = ["", "conditions"] if explanation.variables else [], explanation.rows
    width = max((len(variable.name) for variable in explanation.variables), default=0)
    for variable in explanation.variables:
        name = f"  {variable.name:<{width}}  "
        if variable.condition is None:
            lines.append(f"{name}no condition: every row")
            continue
        facts = []
        if variable.tried is None or variable.row_held < total or variable.parts:
            facts.append(f"holds on {variable.row_held} of {_rows(total)}")
        if variable.tried is not None:
            alone = " as far as the row alone decides" if facts else ""
            facts = [fact + alone for fact in facts]
            times = "once" if variable.tried == 1 else f"{variable.tried} times"
            facts.append(
                f"tried on the match so far {times}, held {variable.held}" if variable.tried else "never tried"
            )
        lines += [f"{name}{variable.condition}", f"  {'':<{width}}    {', '.join(facts)}"]
        if len(variable.parts) > (variable.tried is None):
            lines += [f"  {'':<{width}}    {sql}: {count} of {total}" for sql, count in variable.parts]
    return lines


def _attempt(attempt: ExplainedAttempt, columns: Sequence[str], title: str) -> list[str]:
    lines = [f"{title}: {_reason(attempt)}"]
    shown = [*attempt.rows, *([attempt.next] if attempt.next else [])]
    lines += _table(shown, columns, numbered=True)
    for trial in attempt.trials:
        assert attempt.next is not None
        lines.append(f"  {trial.variable} {_verdict(trial.holds)} for row {attempt.next.number}:")
        lines += [f"    {part}" for part in trial.parts]
    if attempt.fallback is not None:
        fallback = _runs(attempt.fallback) or "an empty match"
        lines.append(f"  if nothing better comes, the match is: {fallback}")
    return lines


def _reason(attempt: ExplainedAttempt) -> str:
    taken = f"{_rows(len(attempt.rows))} taken" if attempt.rows else "no row taken"
    awaited = " or ".join(attempt.awaited)
    match attempt.stop:
        case "row":
            assert attempt.next is not None
            reason = f"row {attempt.next.number} is not {awaited}"
        case "within":
            reason = f"WITHIN ended it before {awaited} came: the deadline was {attempt.deadline}"
        case "end":
            reason = f"the rows end before {awaited}"
        case "^":
            reason = "^ holds only before the first row of the partition"
        case "$":
            reason = "$ holds only after the last row of the partition"
        case "steps":
            reason = "given up: there are more ways to match than SET cepsql.step_budget allows to try"
        case _ if attempt.next is not None:
            reason = f"whether row {attempt.next.number} is {awaited} depends on a later row"
        case _:
            limit = "" if attempt.deadline is None else f", which must come before {attempt.deadline}"
            reason = f"waits for {awaited}{limit}" if awaited else "waits for the end of the partition"
    return f"{taken}, then {reason}"


def _verdict(holds: bool | None) -> str:
    return {True: "holds", False: "does not hold", None: "is not decided yet"}[holds]


def _table(rows: Sequence[ExplainedRow], columns: Sequence[str], numbered: bool) -> list[str]:
    """Return rows as a table under their column names; only the first and the last ones of many."""
    if not rows:
        return []
    head = ["row", *columns, "variable"] if numbered else list(columns)
    cells = []
    for row in rows:
        values = list(map(_null, row.values))
        cells.append([str(row.number), *values, row.variable or "?"] if numbered else values)
    left_out = len(cells) - _SHOWN_ROWS
    if left_out > 0:
        cells = [*cells[: _SHOWN_ROWS // 2], ["..."] + [""] * (len(head) - 1), *cells[-_SHOWN_ROWS // 2 :]]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    return ["  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in [head, *cells]]  # fmt: skip


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def _null(value: str | None) -> str:
    return "NULL" if value is None else value
