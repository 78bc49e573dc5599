"""Plans as text: what EXPLAIN shows and golden tests compare."""

from sqlglot import exp

from cepsql.analysis.list_aggregates import dump_aggregate
from cepsql.analysis.match import MatchPlan
from cepsql.analysis.plan import Plan
from cepsql.analysis.railroad import draw, legend
from cepsql.catalog import Relation, Source, View
from cepsql.language.tokens import DIALECT
from cepsql.ordered.reach import reach
from cepsql.pattern.by_position import by_position, needs_match
from cepsql.pattern.compile import compile_pattern
from cepsql.pattern.compile import dump as dump_code
from cepsql.pattern.dead_rows import dead_rows
from cepsql.pattern.ir import dump as dump_pattern
from cepsql.pattern.program import (
    Aggregate,
    Bit,
    Classifier,
    Complete,
    MatchId,
    MatchNumber,
    MatchProgram,
    Navigation,
    RowValue,
    Scalar,
)
from cepsql.scalar.tree import Call, Literal
from cepsql.scan.choose import choose_scan

_SIGNS = {
    "and": "AND", "or": "OR", "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "nseq": "<=>",
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%",
}  # fmt: skip


def explain_rewritten(plan: Plan) -> str:
    """Return the SQL that Spark runs: before each match, of each match's columns, and around the matches."""
    lines = []
    for match in plan.matches:
        lines.append(f"{match.clause.name} reads")
        lines.append(f"  {match.input.sql(dialect=DIALECT)}")
        lines.append(f"{match.clause.name} gives")
        lines += [f"  {column.sql} AS {column.name}" for column in match.output]
    lines.append(plan.expression.sql(dialect=DIALECT))
    return "\n".join(lines)


def explain_logical(plan: Plan, scan_obstacle: str | None = None) -> str:
    """Return the logical plan as a tree, with event time, watermark, and what each match keeps in state.

    scan_obstacle: what else than the query's text keeps Arrow from reading the files of a stream.
    """
    lines = [f"Query  {'stream' if plan.streaming else 'bounded'}  {_columns(plan)}"]
    if plan.limit is not None:
        lines.append(f"  Limit {plan.limit}")
    below = set()
    depth = _depths(plan)
    for match in reversed(plan.matches):
        indent = "  " * depth[match.clause.name]
        lines += [f"{indent}{line}" for line in _match_lines(match)]
        if match.streaming and not match.chained:
            lines.append(f"{indent}  scan: {_scan(plan, match, scan_obstacle)}")
        below |= {table.name.lower() for table in match.input.find_all(exp.Table)}
    deepest = "  " * max(depth.values(), default=0)
    lines += [f"  {deepest if name in below else ''}{_relation(relation)}" for name, relation in plan.relations.items()]
    lines += [f"  notice: {notice}" for notice in plan.notices]
    return "\n".join(lines)


def explain_pattern(plan: Plan) -> str:
    """Return each compiled pattern: variables with their conditions, measures, a drawing, and the automaton."""
    return "\n\n".join(_pattern(match) for match in plan.matches) or "the query has no row pattern"


def _depths(plan: Plan) -> dict[str, int]:
    """Return how deep each match stands: one, or one more than the match that reads it."""
    depth: dict[str, int] = {}
    for match in reversed(plan.matches):
        readers = [m for m in plan.matches if match.clause.name in (t.name for t in m.input.find_all(exp.Table))]
        depth[match.clause.name] = 1 + max((depth[reader.clause.name] for reader in readers), default=0)
    return depth


def _alive(program: MatchProgram, masks: tuple[int, ...]) -> str:
    """Return the condition that one of the masks is set in full."""
    choices = []
    for mask in masks:
        bits = [sql for i, sql in enumerate(program.predicates) if mask >> i & 1]
        choices.append(" AND ".join(f"({sql})" if len(bits) > 1 else sql for sql in bits))
    return " OR ".join(choices)


def _scan(plan: Plan, match: MatchPlan, obstacle: str | None) -> str:
    choice = choose_scan(match.program, match.input, plan.relations)
    if obstacle or choice.scan is None:
        return f"Spark's: {obstacle or choice.reason}"
    return f"Arrow ({choice.scan.layout.format})"


def _columns(plan: Plan) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in plan.columns)


def _match_lines(match: MatchPlan) -> list[str]:
    program = match.program
    lines = [
        f"Match {match.clause.name}  PATTERN ({dump_pattern(program.pattern)})  SKIP {program.skip.upper()}",
        f"  partition by: {', '.join(column.sql for column in program.keys) or 'nothing (one partition)'}",
        f"  order by: {', '.join(match.order)}",
    ]
    if match.watermark is not None:
        lines.append(f"  watermark: {match.watermark.column} - {_duration(match.watermark.delay)}")
        lines.append(f"  state: {_state(program)}")
        if match.event_time is not None:
            lines.append(f"  event time of matches: {match.event_time.column}, {_hold(match.event_time.delay)}")
    if program.predicates:
        lines.append(f"  computed before the shuffle: {'; '.join(program.predicates)}")
    traveling = [*(c.sql for c in program.keys), *(c.sql for c in program.order), *(c.sql for c in program.values)]
    lines.append(f"  columns that travel: {', '.join(dict.fromkeys(traveling)) or 'none'}")
    alive = dead_rows(program) if match.streaming else None
    if alive is not None:
        lines.append(f"  rows that travel: those where {_alive(program, alive)}; of the others only the times do")
    lines.append(f"  route: {_route(program)}")
    return lines


def _state(program: MatchProgram) -> str:
    parts = ["rows not yet released by the watermark", "rows from the start of the oldest undecided match"]
    if program.within is not None:
        parts[1] += f", at most {_duration(program.within)}"
    before = reach(program)
    if before:
        parts.append(f"{before} row{'s' if before > 1 else ''} before it for PREV")
    if any(isinstance(measure.source, MatchNumber) for measure in program.measures):
        parts.append("the number of matches of every key")
    return "; ".join(parts)


def _hold(delay: int) -> str:
    if delay == 0:
        return "given out as soon as the watermark reaches it"
    return f"given out at most {_duration(delay)} after the watermark has reached it"


def _route(program: MatchProgram) -> str:
    if not needs_match(program):
        return "regular: every condition reads the row or its neighbours only"
    if by_position(program, frozenset()) is not None:
        return "regular: what conditions read of the match is always as many rows before"
    values = frozenset(column.name for column in program.values)
    if by_position(program, values) is not None:
        return "regular where nothing read is NULL: then it is always as many rows before; else search"
    return "search: a condition reads the match so far"


def _relation(relation: Relation) -> str:
    kind = "Stream" if relation.streaming else "Table"
    if isinstance(relation, View):
        kind = "View"
    form = f"  {relation.format}" if isinstance(relation, Source) else ""
    time = ""
    if relation.watermark is not None:
        time = f"  watermark {relation.watermark.column} - {_duration(relation.watermark.delay)}"
    return f"{kind} {relation.name}{form}{time}"


def _pattern(match: MatchPlan) -> str:
    program = match.program
    lines = [f"{match.clause.name}: {dump_pattern(program.pattern)}"]
    for name, condition in zip(program.variables, program.conditions, strict=True):
        lines.append(f"  {name} AS {'TRUE' if condition is None else _scalar(condition, program)}")
    for measure in program.measures:
        lines.append(f"  {measure.name} = {_leaf(measure.source, program)}")
    lines += [f"  {aggregate.name} = {dump_aggregate(aggregate)}" for aggregate in match.aggregates]
    if program.within is not None:
        lines.append(f"  WITHIN {_duration(program.within)}")
    drawing = draw(program.pattern)
    lines += ["", *(f"  {line}" for line in [*drawing, *legend(drawing)]), ""]
    lines += [
        "  automaton",
        *(f"    {line}" for line in dump_code(compile_pattern(program.pattern, program.variables)).splitlines()),
    ]
    return "\n".join(lines)


def _scalar(node: Scalar, program: MatchProgram, nested: bool = False) -> str:
    if not isinstance(node, Call):
        return _leaf(node, program)
    arguments = [_scalar(argument, program, True) for argument in node.arguments]
    sign = _SIGNS.get(node.operation)
    if sign is None:
        return f"{node.operation}({', '.join(arguments)})"
    text = f" {sign} ".join(arguments)
    return f"({text})" if nested else text


def _leaf(leaf: object, program: MatchProgram) -> str:
    sources = {column.name: column.sql for column in program.values}
    if program.time is not None:
        sources["t"] = program.time.sql
    match leaf:
        case Bit(index):
            return f"[{program.predicates[index]}]"
        case Literal(value):
            return "NULL" if value is None else repr(value)
        case MatchNumber():
            return "MATCH_NUMBER()"
        case MatchId():
            return "MATCH_ID()"
        case Complete():
            return "complete"
        case RowValue(column):
            return f"row: {sources[column]}"
        case Classifier(variables, first, offset, shift):
            return _row("CLASSIFIER()", variables, first, offset, shift, program)
        case Navigation(column, variables, first, offset, shift):
            return _row(sources[column], variables, first, offset, shift, program)
        case Aggregate(function, column, variables, distinct):
            inner = "*" if column is None else sources[column]
            if variables is not None:
                inner = f"{_names(variables, program)}: {inner}"
            return f"{function.upper()}({'DISTINCT ' if distinct else ''}{inner})"
    raise TypeError(leaf)


def _row(
    value: str, variables: frozenset[int] | None, first: bool, offset: int, shift: int, program: MatchProgram
) -> str:
    if variables is not None:
        value = f"{_names(variables, program)}: {value}"
    further = f", {offset}" if offset else ""
    text = (
        value if variables is None and not first and not offset else f"{'FIRST' if first else 'LAST'}({value}{further})"
    )
    if shift:
        return f"{'PREV' if shift < 0 else 'NEXT'}({text}{f', {abs(shift)}' if abs(shift) > 1 else ''})"
    return text


def _names(variables: frozenset[int], program: MatchProgram) -> str:
    return "|".join(program.variables[i] for i in sorted(variables))


def _duration(micros: int) -> str:
    for size, unit in ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second")):
        if micros >= size and micros % size == 0:
            count = micros // size
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{micros / 1_000_000:g} seconds"
