"""Plans as text: what EXPLAIN shows and golden tests compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from sqlglot import exp

from cepsql.analysis.match.list_aggregates import dump_aggregate
from cepsql.analysis.match.match import MatchPlan
from cepsql.analysis.operators.emission import CLOSE, ON_CLOSE, OPERATION
from cepsql.analysis.operators.frames import EVERY_ROW
from cepsql.analysis.operators.window_groups import FixedWindow, GivenWindow, Instants, SessionWindow, WindowGroups
from cepsql.analysis.operators.window_totals import joins_rows, totals
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import DELETED
from cepsql.catalog import Registered, Source
from cepsql.catalog.create_text import watermark_clauses
from cepsql.catalog.view_store import ViewSource
from cepsql.explain.changes import change_lines
from cepsql.explain.railroad import draw, legend
from cepsql.matching.reach import reach
from cepsql.operators.fill import FillKind
from cepsql.operators.interval_join import JoinKind
from cepsql.operators.pair_rows import LEFT
from cepsql.pattern.by_position import by_position, needs_match
from cepsql.pattern.compile import compile_pattern
from cepsql.pattern.compile import dump as dump_code
from cepsql.pattern.dead_rows import dead_rows
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
from cepsql.plan.passes import Step
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import (
    AddedRows,
    AsOfJoin,
    ChangingGroups,
    Deduplicate,
    Fill,
    IntervalJoin,
    LabelledChanges,
    Match,
    Node,
    Ordered,
    Over,
    RankedRows,
    Read,
    RetractingFrames,
    RetractingGroups,
    Sort,
    SparkWatermark,
    Sql,
    TableJoin,
    TemporalFilter,
    Upserts,
    WindowAggregate,
    inputs,
)
from cepsql.plan.tree.scans import choose_plain_scan, choose_scans, scanned, stage_obstacle
from cepsql.scalar.tree import Call, Literal, Parameter
from cepsql.scan.choose import Choice

_SIGNS = {
    "and": "AND", "or": "OR", "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "nseq": "<=>",
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%",
}  # fmt: skip


def explain_rewritten(plan: Plan) -> str:
    """Return the SQL that Spark runs: before each match, of each match's columns, and around the matches."""
    lines = []
    for node in plan.stages:
        name = node.properties.name
        for below in node.inputs:
            lines.append(f"{name} reads")
            lines.append(f"  {_query(below)}")
        if isinstance(node, Match):
            lines.append(f"{name} gives")
            lines += [f"  {column.sql} AS {column.name}" for column in node.match.output]
    lines.append(_query(plan.root))
    return "\n".join(lines)


def explain_planning(steps: Sequence[Step]) -> str:
    """Return each pass of planning that changed the query, what holds after it, and the query then.

    The input of an operator is planned when the operator is, so that its passes come first.
    """
    parts = []
    for step in steps:
        of = "" if step.of is None else f", of the input of {step.of}"
        parts.append("\n".join([f"== {step.name}{of} ==", step.sentence, *_indented(list(step.after))]))
    return "\n\n".join(parts)


def explain_logical(
    plan: Plan, scan_obstacle: str | None = None, done: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the plan as a tree, with event time, watermark, and what each match keeps in state.

    scan_obstacle: what else than the query's text keeps Arrow from reading the files of a stream.
    done:          what operators have done, by their names.
    """
    told = _Told(scan_obstacle, done)
    columns = ", ".join(f"{column.name} {column.type}" for column in plan.columns)
    lines = [f"Query  {'stream' if plan.streaming else 'bounded'}  {columns}"]
    if plan.limit is not None:
        lines.append(f"  Limit {plan.limit}")
    lines += [f"  emit: {emitted}" for emitted in _emitted_by_spark(plan)]
    plain = choose_plain_scan(plan.root)
    if plain is not None:
        lines.append(f"  scan: {_scan([plain], scan_obstacle or plain.reason)}")
    lines += _indented(_node(plan.root, told))
    lines += [f"  notice: {notice}" for notice in plan.notices]
    return "\n".join(lines)


def _emitted_by_spark(plan: Plan) -> list[str]:
    """Tell when groups of windows that Spark makes come out."""
    group = plan.root.query.args.get("group") if isinstance(plan.root, Sql) and plan.streaming else None
    windowed = group is not None and any(window_call(key) is not None for key in group.expressions)
    return ["once, with the batch after the one in which a window is over"] if windowed else []


def explain_pattern(plan: Plan) -> str:
    """Return each compiled pattern: variables with their conditions, measures, a drawing, and the automaton."""
    patterns = [_pattern(match, program) for match in plan.matches for program in match.program.programs]
    return "\n\n".join(patterns) or "the query has no row pattern"


def explain_drawings(plan: Plan) -> str:
    """Return a drawing of each row pattern, and what its signs mean; "" without one."""
    drawn = [(match.clause.name, draw(program.pattern)) for match in plan.matches for program in match.program.programs]
    lines = [line for name, lines in drawn for line in ("", f"  {name}", *_indented(lines))]
    signs = dict.fromkeys(sign for _, lines in drawn for sign in legend(lines))
    return "\n".join([*lines, *_indented(list(signs))])


@dataclass(frozen=True)
class _Told:
    """What is known of a plan beside its text; see `explain_logical`."""

    scan_obstacle: str | None
    done: Mapping[str, str]


def _node(node: Node, told: _Told) -> list[str]:
    """Return a node and what is below it, a line each."""
    match node:
        case Read(relation):
            return [_relation(relation)]
        case SparkWatermark(below):
            time = below.properties.event_time
            return [f"Spark's watermark  {time.column}", *_indented(_node(below, told))]
        case Match():
            lines = _match_lines(node)
        case IntervalJoin() | AsOfJoin():
            lines = _join_lines(node) if isinstance(node, IntervalJoin) else _as_of_lines(node)
        case Deduplicate():
            lines = _deduplicate_lines(node)
        case Sort():
            lines = _sort_lines(node)
        case Over():
            lines = _over_lines(node)
        case WindowAggregate():
            lines = _window_lines(node)
        case Fill():
            lines = _fill_lines(node)
        case ChangingGroups(groups):
            lines = [
                f"ChangingGroups {groups.name}",
                f"  group by: {', '.join(column.name for column in groups.keys) or 'nothing (one group)'}",
                *(f"  {column.name}: {call}" for (column, _), call in zip(groups.calls, groups.spoken, strict=True)),
                "  state: for every key what each aggregate needs to go on, for ever",
                f"  emit: groups whenever they change, with what each row does in {OPERATION}",
            ]
        case Upserts() | RetractingGroups() | TableJoin() | RankedRows() | RetractingFrames() | TemporalFilter():
            lines = change_lines(node)
        case LabelledChanges():
            lines = [f"Changes  with what each does in {OPERATION}"]
        case AddedRows():
            lines = ["Rows at rest  added with the first micro-batch"]
        case _:
            lines = [f"Sql  {_query(node)}"]
    if isinstance(node, Ordered) and scanned([node]):
        lines.append(f"  scan: {_scan(choose_scans(node), told.scan_obstacle or stage_obstacle(node))}")
    if isinstance(node, Ordered) and node.properties.name in told.done:
        lines.append(f"  done: {told.done[node.properties.name]}")
    for below in inputs(node):
        lines += _indented(_node(below, told))
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _query(node: Node) -> str:
    """Return the SQL of a node over the names of its inputs."""
    if isinstance(node, Sql):
        return sql_of(node.query)
    return f"SELECT * FROM {node.properties.name}"


def _alive(program: MatchProgram, masks: tuple[int, ...]) -> str:
    """Return the condition that one of the masks is set in full."""
    choices = []
    for mask in masks:
        bits = [sql for i, sql in enumerate(program.predicates) if mask >> i & 1]
        choices.append(" AND ".join(f"({sql})" if len(bits) > 1 else sql for sql in bits))
    return " OR ".join(choices)


def _scan(choices: Sequence[Choice | None], obstacle: str | None) -> str:
    if obstacle:
        return f"Spark's: {obstacle}"
    formats = dict.fromkeys(choice.scan.layout.format for choice in choices if choice and choice.scan)
    return f"Arrow ({', '.join(formats)})"


def _deduplicate_lines(node: Deduplicate) -> list[str]:
    rows = node.rows
    within = "for ever" if rows.within is None else "1 microsecond" if rows.within == 1 else _duration(rows.within)
    lines = [f"Deduplicate {rows.name}"]
    lines.append(f"  the first row of each: {', '.join(rows.keys) or 'stream'}, within: {within}")
    lines.append(f"  order by: {', '.join(rows.order)}")
    if node.properties.streaming:
        delays = [_duration(below.properties.event_time.delay) for below in node.inputs]
        lines.append(f"  watermark: {rows.time} - {', '.join(delays)}")
        lines.append(f"  state: {_deduplicate_state(rows.within)}")
    return lines


def _deduplicate_state(within: int | None) -> str:
    waiting = "rows not yet released by the watermark"
    if within == 1:
        return waiting
    kept = "every key seen" if within is None else f"the keys of the last {_duration(within)}"
    return f"{waiting}; the time of the last row given out for {kept}"


def _sort_lines(node: Sort) -> list[str]:
    rows = node.rows
    delays = [_duration(below.properties.event_time.delay) for below in node.inputs]
    return [
        f"Sort  {', '.join([rows.time, *map(sql_of, rows.order)])}",
        f"  watermark: {rows.time} - {', '.join(delays)}",
        "  state: rows not yet released by the watermark",
    ]


def _fill_lines(node: Fill) -> list[str]:
    groups, fill = node.groups, node.groups.fill
    filled = []
    for column, filler in zip(groups.columns, fill.fillers, strict=True):
        if filler.kind == FillKind.CONSTANT:
            filled.append(f"{column.name} {'NULL' if filler.value is None else filler.value}")
        elif filler.kind in (FillKind.PREVIOUS, FillKind.LINEAR):
            filled.append(f"{column.name} {filler.kind.upper()}")
    every = _duration(fill.step)
    most = "" if fill.most is None else f", at most {_duration(fill.most * fill.step)} after a group"
    if fill.calendar is not None:
        unit = "months" if fill.calendar.months else "days"
        every = f"{fill.calendar.every} {unit} of the calendar"
        most = "" if fill.most is None else f", at most {fill.most * fill.calendar.every} {unit} after a group"
    lines = [
        f"Fill {groups.name}  every {every}{most}",
        f"  for each: {', '.join(groups.keys) or 'nothing (one series)'}",
        f"  with: {', '.join(filled) or 'nothing'}",
    ]
    if not node.properties.streaming:
        return lines
    wait = "when the next group of the key comes" if fill.waits else "as the watermark passes the end of their windows"
    return [*lines, "  state: the last group of every key", f"  emit: groups at once, rows between them {wait}"]


def _over_lines(node: Over) -> list[str]:
    frames, reach, time = node.frames, node.frames.reach, node.properties.watermark
    head = [f"Over {frames.name}", *(f"  {call.column.name}: {sql_of(call.call)}" for call in frames.calls)]
    if not node.properties.streaming:
        return head
    delays = [_duration(below.properties.event_time.delay) for below in node.inputs]
    kept = [f"the last {'row' if reach.before == 1 else f'{reach.before} rows'} of every key"] if reach.before else []
    if reach.groups_before:
        kept = [f"the rows of the last {reach.groups_before} times of every key", *kept]
    if reach.before == EVERY_ROW:
        kept = ["all rows of every key, for ever"]
    if frames.running:
        kept = ["for every key how many rows it had, and what each function needs to go on"]
    kept += [f"rows of the last {_duration(reach.micros_before)}"] if reach.micros_before else []
    return [
        *head,
        f"  watermark: {frames.time} - {', '.join(delays)}",
        f"  state: {'; '.join(['rows not yet released by the watermark', *kept])}",
        f"  event time: {time.column}, {_hold(time.delay)}" if time else "  event time: none, as rows wait for rows",
    ]


def _window_lines(node: WindowAggregate) -> list[str]:
    groups, time = node.groups, node.properties.watermark
    delays = [_duration(below.properties.event_time.delay) for below in node.inputs]
    match groups.window:
        case SessionWindow(gap):
            window = f"sessions of rows at most {_duration(gap)} apart"
        case FixedWindow(size, slide):
            window = f"{_duration(size)}, every {_duration(slide)}"
        case GivenWindow(start, end):
            window = f"from {start} to {end} of each row"
        case Instants():
            window = "of rows with the same event time"
    keys = f"group by: {', '.join(groups.keys) or 'nothing else'}"
    if groups.aggregates is None:
        keys = f"for each {', '.join(groups.keys)}" if isinstance(groups.window, SessionWindow) else "whole"
    return [
        f"{'WindowRows' if groups.aggregates is None else 'WindowAggregate'} {groups.name}",
        f"  windows: {window}; {keys}",
        *(f"  {column.name}: {sql_of(call)}" for column, call in groups.aggregates or ()),
        f"  watermark: {groups.time} - {', '.join(delays)}",
        *_emission_lines(groups),
        f"  event time: {time.column}, {_hold(time.delay)}" if time else _no_time(groups),
    ]


def _no_time(groups: WindowGroups) -> str:
    reason = "sessions have any length" if groups.emission == ON_CLOSE else "groups come out at times of their own"
    return f"  event time: none, {reason}"


def _emission_lines(groups: WindowGroups) -> list[str]:
    """Return the lines that say when groups come out, and what is kept for them."""
    emission = groups.emission
    if emission == ON_CLOSE:
        summed = totals(groups)
        kept = "rows" if summed is None else "for every group what each aggregate needs to go on,"
        joined = summed is not None and joins_rows(groups, summed)
        waiting = "" if joined else "rows not yet released by the watermark; "
        return [
            *(["  before the shuffle: rows of a group are added up"] if joined else []),
            f"  state: {waiting}{kept} of windows that are not over",
            "  emit: once, when a window is over",
        ]
    lateness = _duration(emission.lateness)
    state = f"  state: rows of windows until {f'{lateness} after ' if emission.lateness else ''}they are over"
    if emission.kind == CLOSE:
        return [state, f"  emit: once, {lateness} after a window is over"]
    times = "whenever they change" if emission.every is None else f"every {_duration(emission.every)} of event time"
    return [state, f"  emit: groups {times}, with what each row does in {OPERATION}"]


def _match_lines(node: Match) -> list[str]:
    match, program = node.match, node.match.program
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
        delays = [_duration(below.properties.event_time.delay) for below in node.inputs]
        lines.append(f"  watermark: {match.time} - {', '.join(delays)}")
        lines.append(f"  state: {_state(program)}")
        time = node.properties.watermark
        if time is not None:
            lines.append(f"  event time of matches: {time.column}, {_hold(time.delay)}")
    if program.predicates:
        lines.append(f"  computed before the shuffle: {'; '.join(program.predicates)}")
    traveling = [*(c.sql for c in program.keys), *(c.sql for c in program.order), *(c.sql for c in program.values)]
    lines.append(f"  columns that travel: {', '.join(dict.fromkeys(traveling)) or 'none'}")
    alive = dead_rows(program) if match.streaming else None
    if alive is not None:
        lines.append(f"  rows that travel: those where {_alive(program, alive)}; of the others only the times do")
    lines += [f"  route: {route}" for route in dict.fromkeys(map(_route, program.programs))]
    return lines


def _frame(program: MatchProgram) -> str:
    """Return how far the frames of a window let a match go."""
    rows = program.frame
    return "" if rows is None else f" and has at most {rows} row{'' if rows == 1 else 's'} after it"


def _join_lines(node: IntervalJoin) -> list[str]:
    left, right = (node.side(side).properties.event_time for side in range(2))
    keys = " AND ".join(f"left.({sql_of(one)}) = right.({sql_of(other)})" for one, other in node.keys)
    kept = [
        f"until {sql_of(said.time)}" if said else f"for {_duration(max(reach, 0))}"
        for said, reach in zip(node.limits, (node.high, -node.low), strict=True)
    ]
    time = node.properties.watermark
    low, high = (f"{'-' if micros < 0 else ''}{_duration(abs(micros))}" for micros in (node.low, node.high))
    apart = [f" from {low}"] * (node.limits[1] is None) + [f" to {high}"] * (node.limits[0] is None)
    spoken = f"right.{right.column} - left.{left.column}{''.join(apart)}" if apart else ""
    own = [
        f"{other} {'<' if said.before else '<='} {side}.({sql_of(said.time)})"
        for side, other, said in zip(
            ("left", "right"), (f"right.{right.column}", f"left.{left.column}"), node.limits, strict=True
        )
        if said
    ]
    lines = [
        f"{node.kind.capitalize() + 'Join' if node.kind != JoinKind.INNER else 'Join'} {node.name}  {keys}".rstrip(),
        f"  times: {', '.join(filter(None, [spoken, *own]))}",
    ]
    if node.conditions:
        spoken = " AND ".join(sql_of(_spoken_sides(condition)) for condition in node.conditions)
        lines.append(f"  further condition on pairs: {spoken}")
    return [
        *lines,
        f"  watermark: {left.column} - {_duration(left.delay)}, {right.column} - {_duration(right.delay)}",
        f"  state: rows not yet released by the watermark; rows of the left {kept[0]} and of the right {kept[1]}"
        f"{' after their time' if node.limits[1] is None else ''}",
        f"  event time of pairs: {f'{time.column}, {_hold(time.delay)}' if time else 'none'}",
    ]


def _as_of_lines(node: AsOfJoin) -> list[str]:
    left, right = (node.side(side).properties.event_time for side in range(2))
    equal = ["IS NOT DISTINCT FROM" if i in node.null_safe else "=" for i in range(len(node.keys))]
    pairs = zip(equal, node.keys, strict=True)
    keys = " AND ".join(f"left.({sql_of(one)}) {sign} right.({sql_of(other)})" for sign, (one, other) in pairs)
    sign = ("<" if node.forward else ">") + ("" if node.strict else "=")
    kept = "rows of the left that wait for a later one" if node.forward else "one row of the right for each key"
    if node.tolerance is not None:
        within = f" for at most {_duration(node.tolerance)}"
        kept = (kept if node.forward or not node.conditions or node.versions else "rows of the right") + within
    time = node.properties.watermark
    lines = [
        f"{'Left' if node.outer else ''}AsOfJoin {node.name}  {keys}".rstrip(),
        f"  nearest: left.{left.column} {sign} right.{right.column}",
        *([] if node.tolerance is None else [f"  at most apart: {_duration(node.tolerance)}"]),
        *(
            f"  {'condition on the version' if node.versions else 'among those where'}: {sql_of(_spoken_sides(part))}"
            for part in node.conditions
        ),
        *([f"  delete when: {_spoken_deletion(node.deletion)}"] if node.deletion is not None else []),
        f"  watermark: {left.column} - {_duration(left.delay)}, {right.column} - {_duration(right.delay)}",
        f"  state: rows not yet released by the watermark; {kept}",
    ]
    return lines if time is None else [*lines, f"  event time: {time.column}, {_hold(time.delay)}"]


def _spoken_deletion(condition: exp.Expr) -> str:
    """Return when a version ends; what a record without a value says is no column of the user's."""
    return sql_of(condition).replace(DELETED, "the record has no value")


def _spoken_sides(condition: exp.Expr) -> exp.Expr:
    copy = condition.copy()
    for column in copy.find_all(exp.Column):
        column.set("table", exp.to_identifier("left" if column.table == LEFT else "right"))
    return copy


def _state(program: MatchProgram) -> str:
    parts = ["rows not yet released by the watermark", "rows from the start of the oldest undecided match"]
    if program.longest_within is not None:
        parts[1] += f", at most {_duration(program.longest_within)}"
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


def _relation(relation: Source | Registered) -> str:
    kind = "Stream" if relation.streaming else "View" if isinstance(relation, ViewSource) else "Table"
    form = f"  {relation.format}" if isinstance(relation, Source) else ""
    time = ""
    if relation.watermark is not None:
        clauses = [f" {clause}" for clause in watermark_clauses(relation.watermark)]
        time = f"  watermark {relation.watermark.column} - {_duration(relation.watermark.delay)}{''.join(clauses)}"
    if isinstance(relation, Source) and relation.backfill is not None:
        time += f"  after {relation.backfill.history.name} until {relation.backfill.until}"
    if isinstance(relation, Source) and relation.refresh is not None:
        time = f"  read again every {_duration(relation.refresh)}"
    return f"{kind} {relation.name}{form}{time}"


def _pattern(match: MatchPlan, program: MatchProgram) -> str:
    lines = [f"{match.clause.name}: {dump_pattern(program.pattern)}"]
    for name, condition in zip(program.variables, program.conditions, strict=True):
        lines.append(f"  {name} AS {'TRUE' if condition is None else _scalar(condition, program)}")
    for measure in program.measures:
        lines.append(f"  {measure.name} = {_leaf(measure.source, program)}")
    returned = {measure.name for measure in program.measures}
    listed = [aggregate for aggregate in match.aggregates if returned.issuperset(aggregate.lists)]
    lines += [f"  {aggregate.name} = {dump_aggregate(aggregate)}" for aggregate in listed]
    if program.within is not None:
        lines.append(f"  WITHIN {_duration(program.within)}")
    if program.frame is not None:
        lines.append(f"  ROWS BETWEEN CURRENT ROW AND {program.frame} FOLLOWING")
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
    if node.target:
        return f"{node.operation.upper()}({arguments[0]} AS {node.target.upper()})"
    if node.operation == "in":
        return f"{arguments[0]} IN ({', '.join(arguments[1:])})"
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


def _duration(micros: int) -> str:
    for size, unit in ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second")):
        if micros >= size and micros % size == 0:
            count = micros // size
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{(Decimal(micros) / 1_000_000).normalize():f} seconds"
