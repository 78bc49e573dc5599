"""The matches of a row pattern, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.sql.canonical import describe_clause
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition
from cepsql.errors import Error, Span
from cepsql.operators.matching.match_operator import row_layout
from cepsql.operators.matching.reach import reach
from cepsql.ordered.row_layout import RowLayout
from cepsql.pattern.dead_rows import dead_rows
from cepsql.pattern.ir import dump as dump_pattern
from cepsql.pattern.program import MatchId, MatchNumber, MatchProgram
from cepsql.pattern.scanning.by_position import by_position, needs_match
from cepsql.plan.tree.event_time import match_event_time, missing_event_time
from cepsql.plan.tree.nodes import Node, Ordered
from cepsql.plan.tree.spoken_times import spoken_delays, spoken_hold, spoken_length


@dataclass(frozen=True)
class Match(Ordered):
    """An ordered operator: the matches of a row pattern.

    inputs:  one, or several streams of the same columns whose rows are merged in the order of event time.
    markers: it gives markers beside its matches.
    """

    once = True
    hosts = True
    arrival = True
    row_words = "the matches of a stream"

    match: MatchPlan
    inputs: tuple[Node, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the matches."""
        match = self.match
        columns = self.with_bound(ColumnDefinition(column.name, column.type) for column in match.output)
        mark = match_event_time(match.program, match.output, match.time) if match.streaming else None
        return Properties(match.clause.name, columns, match.streaming, mark, match.streaming)

    @property
    def pattern_match(self) -> MatchPlan:
        """The search for the row pattern."""
        return self.match

    @property
    def match_id(self) -> str | None:
        """The column with MATCH_ID() as it is; None if there is none, or the rows of a match have one id."""
        if self.match.program.all_rows:
            return None
        ids = {measure.name for measure in self.match.program.measures if measure.source == MatchId()}
        return next((column.name for column in self.match.output if column.sql in ids), None)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return {"match": describe_clause(self.match.clause)}

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        match, program = self.match, self.match.program
        lines = [
            f"Match {match.clause.name}  PATTERN ({dump_pattern(program.pattern)})  SKIP {program.skip.upper()}",
            f"  partition by: {', '.join(column.sql for column in program.keys) or 'nothing (one partition)'}",
            f"  order by: {', '.join(match.order)}",
        ]
        if match.clause.frame is not None:
            lines.append(f"  rows: each, with the match that begins at it{_frame(program)}")
        for each in program.beside:
            pattern = f"PATTERN ({dump_pattern(each.pattern)})  SKIP {each.skip.upper()}"
            lines.append(f"  beside: the match of {pattern}, that begins at it{_frame(each)}")
        if match.streaming:
            lines.append(f"  watermark: {match.time} - {spoken_delays(self.inputs)}")
            lines.append(f"  state: {_state(program)}")
            time = self.properties.watermark
            if time is not None:
                lines.append(f"  event time of matches: {time.column}, {spoken_hold(time.delay)}")
        if program.predicates:
            lines.append(f"  computed before the shuffle: {'; '.join(program.predicates)}")
        traveling = [*(c.sql for c in program.keys), *(c.sql for c in program.order), *(c.sql for c in program.values)]
        lines.append(f"  columns that travel: {', '.join(dict.fromkeys(traveling)) or 'none'}")
        alive = dead_rows(program) if match.streaming else None
        if alive is not None:
            lines.append(f"  rows that travel: those where {_alive(program, alive)}; of the others only the times do")
        lines += [f"  route: {route}" for route in dict.fromkeys(map(_route, program.programs))]
        return lines

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel."""
        return row_layout(self.match.program)

    def missing_time(self, follower: str, place: Span | None) -> Error:
        """Return why `follower` cannot stand over matches without event time."""
        return missing_event_time(self.match.program, follower, place)


def _frame(program: MatchProgram) -> str:
    """Return how far the frames of a window let a match go."""
    rows = program.frame
    return "" if rows is None else f" and has at most {rows} row{'' if rows == 1 else 's'} after it"


def _state(program: MatchProgram) -> str:
    parts = ["rows not yet released by the watermark", "rows from the start of the oldest undecided match"]
    if program.longest_within is not None:
        parts[1] += f", at most {spoken_length(program.longest_within)}"
    before = reach(program)
    if before:
        parts.append(f"{before} row{'s' if before > 1 else ''} before it for PREV")
    if any(isinstance(measure.source, MatchNumber) for measure in program.measures):
        parts.append("the number of matches of every key")
    return "; ".join(parts)


def _route(program: MatchProgram) -> str:
    if not needs_match(program):
        return "regular: every condition reads the row or its neighbours only"
    if by_position(program, frozenset()) is not None:
        return "regular: what conditions read of the match is always as many rows before"
    values = frozenset(column.name for column in program.values)
    if by_position(program, values) is not None:
        return "regular where nothing read is NULL: then it is always as many rows before; else search"
    return "search: a condition reads the match so far"


def _alive(program: MatchProgram, masks: tuple[int, ...]) -> str:
    """Return the condition that one of the masks is set in full."""
    choices = []
    for mask in masks:
        bits = [sql for i, sql in enumerate(program.predicates) if mask >> i & 1]
        choices.append(" AND ".join(f"({sql})" if len(bits) > 1 else sql for sql in bits))
    return " OR ".join(choices)
