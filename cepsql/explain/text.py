"""Plans as text, for EXPLAIN and golden tests."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from sqlglot import exp, parse_one

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.row_pattern.match_lists import dump_aggregate
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.catalog import Registered, Source
from cepsql.catalog.create_text import watermark_clauses
from cepsql.catalog.view_store import ViewSource
from cepsql.explain.railroad import draw, legend
from cepsql.language.tokens import DIALECT
from cepsql.pattern.compile import compile_pattern
from cepsql.pattern.compile import dump as dump_code
from cepsql.pattern.ir import dump as dump_pattern
from cepsql.pattern.program import (
    Aggregate,
    Bit,
    ByVariable,
    Classifier,
    Complete,
    MatchId,
    MatchNumber,
    MatchProgram,
    Navigation,
    RowValue,
    Scalar,
)
from cepsql.plan.groups.window_groups import window_call
from cepsql.plan.passes import PassStep
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import AddedRows, LabelledChanges, Node, Ordered, Read, SparkWatermark, Sql, inputs
from cepsql.plan.tree.scans import choose_plain_scan, choose_scans, scanned, stage_obstacle
from cepsql.plan.tree.spoken_times import spoken_length
from cepsql.readers.scan.choose import Choice
from cepsql.scalar.expressions import Call, Literal, Parameter

_SIGNS = {
    "and": "AND", "or": "OR", "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "nseq": "<=>",
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%",
}  # fmt: skip


def explain_rewritten(plan: Plan) -> str:
    """Return the SQL that Spark runs: before each match, for each match's columns, and around the matches."""
    lines = []
    for node in plan.stages:
        name = node.properties.name
        for below in node.inputs:
            lines.append(f"{name} reads")
            lines.append(f"  {_query(below)}")
        if node.pattern_match is not None:
            lines.append(f"{name} gives")
            lines += [f"  {column.sql} AS {column.name}" for column in node.pattern_match.output]
    lines.append(_query(plan.root))
    return "\n".join(lines)


def explain_planning(steps: Sequence[PassStep]) -> str:
    """Return each pass of planning that changed the query, what holds after it, and the new query.

    The input of an operator is planned before the operator, so that its passes come first.
    """
    parts = []
    for step in steps:
        of = "" if step.of is None else f", of the input of {step.of}"
        parts.append("\n".join([f"== {step.name}{of} ==", step.sentence, *_indented(list(step.after))]))
    return "\n\n".join(parts)


def explain_logical(
    plan: Plan, scan_obstacle: str | None = None, done: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the plan as a tree, with event time, watermark, and the state of each match.

    scan_obstacle: why Arrow cannot read the files of a stream, apart from the query's text.
    done:          the progress of operators, by their names.
    """
    facts = _PlanFacts(scan_obstacle, done)
    columns = ", ".join(f"{column.name} {column.type}" for column in plan.columns)
    lines = [f"Query  {'stream' if plan.streaming else 'bounded'}  {columns}"]
    if plan.limit is not None:
        lines.append(f"  Limit {plan.limit}")
    lines += [f"  emit: {emitted}" for emitted in _emitted_by_spark(plan)]
    plain = choose_plain_scan(plan.root)
    if plain is not None:
        lines.append(f"  scan: {_scan([plain], scan_obstacle or plain.reason)}")
    lines += _indented(_node(plan.root, facts))
    lines += [f"  notice: {notice}" for notice in plan.notices]
    return "\n".join(lines)


def _emitted_by_spark(plan: Plan) -> list[str]:
    """Return when the groups of Spark's windows are emitted."""
    group = plan.root.query.args.get("group") if isinstance(plan.root, Sql) and plan.streaming else None
    windowed = group is not None and any(window_call(key) is not None for key in group.expressions)
    return ["once, with the batch after the one in which a window is over"] if windowed else []


def explain_pattern(plan: Plan) -> str:
    """Return each compiled pattern: the variables with their conditions, measures, a drawing, and the automaton."""
    patterns = [_pattern(match, program) for match in plan.matches for program in match.program.programs]
    return "\n\n".join(patterns) or "the query has no row pattern"


def explain_drawings(plan: Plan) -> str:
    """Return a drawing of each row pattern, and the legend of its signs; "" without a pattern."""
    drawn = [(match.clause.name, draw(program.pattern)) for match in plan.matches for program in match.program.programs]
    lines = [line for name, lines in drawn for line in ("", f"  {name}", *_indented(lines))]
    signs = dict.fromkeys(sign for _, lines in drawn for sign in legend(lines))
    return "\n".join([*lines, *_indented(list(signs))])


@dataclass(frozen=True)
class _PlanFacts:
    """Facts about a plan beside its text; see `explain_logical`."""

    scan_obstacle: str | None
    done: Mapping[str, str]


def _node(node: Node, facts: _PlanFacts) -> list[str]:
    """Return a node and its inputs, a line each."""
    match node:
        case Read(relation):
            return [_relation(relation)]
        case SparkWatermark(below):
            time = below.properties.event_time
            return [f"Spark's watermark  {time.column}", *_indented(_node(below, facts))]
        case Ordered():
            lines = node.lines()
        case LabelledChanges():
            lines = [f"Changes  with what each does in {OPERATION}"]
        case AddedRows():
            lines = ["Rows at rest  added with the first micro-batch"]
        case _:
            lines = [f"Sql  {_query(node)}"]
    if isinstance(node, Ordered) and scanned([node]):
        lines.append(f"  scan: {_scan(choose_scans(node), facts.scan_obstacle or stage_obstacle(node))}")
    if isinstance(node, Ordered) and node.properties.name in facts.done:
        lines.append(f"  done: {facts.done[node.properties.name]}")
    for below in inputs(node):
        lines += _indented(_node(below, facts))
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _query(node: Node) -> str:
    """Return the SQL of a node over the names of its inputs."""
    if isinstance(node, Sql):
        return sql_of(node.query)
    return f"SELECT * FROM {node.properties.name}"


def _scan(choices: Sequence[Choice | None], obstacle: str | None) -> str:
    if obstacle:
        return f"Spark's: {obstacle}"
    formats = dict.fromkeys(choice.scan.layout.format for choice in choices if choice and choice.scan)
    return f"Arrow ({', '.join(formats)})"


def _relation(relation: Source | Registered) -> str:
    kind = "Stream" if relation.streaming else "View" if isinstance(relation, ViewSource) else "Table"
    form = f"  {relation.format}" if isinstance(relation, Source) else ""
    time = ""
    if relation.watermark is not None:
        clauses = [f" {clause}" for clause in watermark_clauses(relation.watermark)]
        time = f"  watermark {relation.watermark.column} - {spoken_length(relation.watermark.delay)}{''.join(clauses)}"
    if isinstance(relation, Source) and relation.backfill is not None:
        time += f"  after {relation.backfill.history.name} until {relation.backfill.until}"
    if isinstance(relation, Source) and relation.refresh is not None:
        time = f"  read again every {spoken_length(relation.refresh)}"
    return f"{kind} {relation.name}{form}{time}"


def _pattern(match: MatchPlan, program: MatchProgram) -> str:
    lines = [f"{match.clause.name}: {dump_pattern(program.pattern)}"]
    computed = match.traveling.computed
    for name, condition in zip(program.variables, program.conditions, strict=True):
        lines.append(f"  {name} AS {'TRUE' if condition is None else _scalar(condition, program, computed)}")
    for measure in program.measures:
        lines.append(f"  {measure.name} = {_leaf(measure.source, program)}")
    returned = {measure.name for measure in program.measures}
    listed = [aggregate for aggregate in match.aggregates if returned.issuperset(aggregate.lists)]
    lines += [f"  {aggregate.name} = {dump_aggregate(aggregate)}" for aggregate in listed]
    if program.within is not None:
        lines.append(f"  WITHIN {spoken_length(program.within)}")
    if program.frame is not None:
        lines.append(f"  ROWS BETWEEN CURRENT ROW AND {program.frame} FOLLOWING")
    drawing = draw(program.pattern)
    lines += ["", *(f"  {line}" for line in [*drawing, *legend(drawing)]), ""]
    lines += [
        "  automaton",
        *(f"    {line}" for line in dump_code(compile_pattern(program.pattern, program.variables)).splitlines()),
    ]
    return "\n".join(lines)


def _scalar(node: Scalar, program: MatchProgram, computed: Collection[str], nested: bool = False) -> str:
    """Return a condition as text; `computed` as of `Traveling`."""
    if isinstance(node, Navigation) and node.column in computed:
        return _computed(node, program, nested)
    if not isinstance(node, Call):
        return _leaf(node, program)
    arguments = [_scalar(argument, program, computed, True) for argument in node.arguments]
    sign = _SIGNS.get(node.operation)
    if node.target:
        return f"{node.operation.upper()}({arguments[0]} AS {node.target.upper()})"
    if node.operation == "in":
        return f"{arguments[0]} IN ({', '.join(arguments[1:])})"
    if sign is None:
        return f"{node.operation}({', '.join(arguments)})"
    text = f" {sign} ".join(arguments)
    return f"({text})" if nested else text


def _computed(node: Navigation, program: MatchProgram, nested: bool) -> str:
    """Return an expression over values of one row as it was written, with the row of each value."""
    source = _sources(program)[node.column]
    text = _row(source, node.variables, node.first, node.offset, node.shift, program)
    if text == source:
        return text
    held = exp.Paren(this=parse_one(source, dialect=DIALECT))
    for column in list(held.find_all(exp.Column)):
        value = _row(sql_of(column), node.variables, node.first, node.offset, node.shift, program)
        column.replace(exp.var(value))
    return sql_of(held if nested and isinstance(held.this, exp.Binary) else held.this)


def _sources(program: MatchProgram) -> dict[str, str]:
    """Return the SQL of the travelling columns, by their names."""
    sources = {column.name: column.sql for column in program.values}
    if program.time is not None:
        sources["t"] = program.time.sql
    return sources


def _leaf(leaf: object, program: MatchProgram) -> str:
    sources = _sources(program)
    match leaf:
        case Bit(index):
            return f"[{program.predicates[index]}]"
        case Literal(value):
            return "NULL" if value is None else str(value) if isinstance(value, Decimal) else repr(value)
        case Parameter(name):
            return name
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
            inner = _aggregated(column, sources, program)
            if variables is not None:
                inner = f"{_names(variables, program)}: {inner}"
            return f"{function.upper()}({'DISTINCT ' if distinct else ''}{inner})"
    raise TypeError(leaf)


def _aggregated(column: str | ByVariable | MatchNumber | None, sources: dict[str, str], program: MatchProgram) -> str:
    match column:
        case None:
            return "*"
        case MatchNumber():
            return "MATCH_NUMBER()"
        case ByVariable(values) if column.column is None:
            return "CLASSIFIER()"
        case ByVariable(values):
            return ", ".join(f"{name}: {sources[str(v)]}" for name, v in zip(program.variables, values, strict=True))
        case _:
            return sources[column]


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
