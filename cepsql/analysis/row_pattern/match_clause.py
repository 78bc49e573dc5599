"""A MATCH_RECOGNIZE clause, its names resolved, becomes a match program and the SQL around it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import called_function, is_aggregate
from cepsql.analysis.row_pattern.calendar_within import with_calendar_within
from cepsql.analysis.row_pattern.define_conditions import compares_with_itself, lower_condition
from cepsql.analysis.row_pattern.match_lists import ListAggregate
from cepsql.analysis.row_pattern.measures_clause import Atoms, lower_measure, lower_row_value, written_part
from cepsql.analysis.row_pattern.modifiers import check_modifiers, check_rows
from cepsql.analysis.row_pattern.scope import FIRST, LAST, MATCH_FUNCTIONS, MatchScope, navigation_name, variable_hint
from cepsql.analysis.row_pattern.subqueries import HIDDEN
from cepsql.analysis.row_pattern.traveling import Traveling
from cepsql.analysis.sql.canonical import describe_clause, describe_pattern, digest
from cepsql.analysis.sql.constant_intervals import interval_micros
from cepsql.analysis.sql.epoch_times import time_hint
from cepsql.analysis.sql.fleeting import is_fleeting
from cepsql.analysis.sql.function_calls import gives_rows, spoken_function, spoken_name
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import order_hint
from cepsql.analysis.sql.watermark_call import NAME, is_watermark_call
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import NotSupportedError, ProgrammingError, Span, at_place
from cepsql.language.statements import DeduplicateClause, MatchClause, Name
from cepsql.ordered.row_layout import Column, OrderColumn
from cepsql.pattern import ir
from cepsql.pattern.compile import compile_pattern
from cepsql.pattern.endless import endless_variables
from cepsql.pattern.frame import UNBOUNDED, framed_condition, framed_measure
from cepsql.pattern.program import Complete, MatchId, MatchProgram, Measure, Scalar

STATE_VERSION = 1
"""Of what a match keeps of rows; to be raised when the columns that travel for a clause change."""


@dataclass(frozen=True)
class OutputColumn:
    """A column that the clause gives: Spark SQL over the matcher's columns."""

    name: str
    sql: str
    type: str


@dataclass(frozen=True)
class MatchPlan:
    """What is executed for one MATCH_RECOGNIZE.

    time:      the column of the input with the event time; None if ORDER BY does not begin with one.
    order:     ORDER BY as Spark SQL (a batch job sorts by it).
    watermark: event-time column of the input and delay in microseconds; None for a bounded input.
    notices:   what the user should know before it runs for months.
    scope, traveling: what its names mean and what travels, for whoever lowers further expressions of the clause.
    aggregates: what Spark computes from lists that the matcher returns, before `output`.
    computed:  what `output` computes, and the parts of measures in whose places it stands.
    """

    clause: MatchClause
    program: MatchProgram
    time: str | None
    order: tuple[str, ...]
    output: tuple[OutputColumn, ...]
    watermark: Watermark | None
    notices: tuple[str, ...]
    scope: MatchScope = field(repr=False, compare=False)
    traveling: Traveling = field(repr=False, compare=False)
    aggregates: tuple[ListAggregate, ...] = ()
    computed: tuple[tuple[exp.Expr, exp.Expr], ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def written(self) -> Mapping[str, str]:
        """What a measure says, by what `output` has in its place."""
        written: dict[str, str] = {}
        for value, part in self.computed:
            written.setdefault(sql_of(value), written_part(part))
        return written

    @property
    def streaming(self) -> bool:
        """Whether the rows are a stream."""
        return self.watermark is not None


def plan_match(
    clause: MatchClause,
    columns: tuple[ColumnDefinition, ...],
    streaming: bool,
    watermark: Watermark | None,
    others: Sequence[Watermark] = (),
) -> MatchPlan:
    """Plan a clause over an input with these columns and, if it is a stream, this event time.

    others: further event times by which the input could be followed.
    Raises ProgrammingError for what is wrong and NotSupportedError for what is not executed, with positions.
    """
    clause, *beside = map(with_calendar_within, (clause, *clause.beside))
    clauses = (clause, *(replace(each, input=clause.input) for each in beside))
    for each in clauses:
        _refuse_unsupported(each, streaming)
        _check_size(each)
    scopes = [_scope(each, columns) for each in clauses]
    scope = scopes[0]
    time, order_columns, order = _order(clause, scope, streaming, watermark, others)
    clauses = tuple(_without_named_time(each, time) for each in clauses)
    limits = [_within(each, time, scope) for each in clauses]
    timely = time is not None and scope.type_of(time) == "timestamp"
    if clause.frame is not None and limits == [None] * len(limits) and not streaming:
        # Each row gives one, those without a time, too: it is a column like others.
        clauses = tuple(_with_row_time(each, time if timely else None) for each in clauses)
        time, timely = None, False
    traveling = Traveling(scope.row_sql(time) if time is not None and timely else None)
    keys = tuple(Column(f"k{i}", scope.row_sql(e)) for i, e in enumerate(clause.partition_by))
    parts = [
        _lowered(each, of_each, traveling, f"_{i}" if i else "")
        for i, (each, of_each) in enumerate(zip(clauses, scopes, strict=True))
    ]
    measures = [measure for part in parts for measure in part.atoms.measures]
    id_columns: tuple[str, ...] = ()
    if any(isinstance(measure.source, MatchId) for measure in measures):
        # What orders rows also tells them apart.
        id_columns = tuple(traveling.value(scope.row_sql(item.this)) for item in clause.order_by)
    if not measures and not keys:
        # Arrow tells how many matches there are by their columns, and the output may be constants.
        parts[0].atoms.column(Complete())
    if not (keys or time or traveling.values or traveling.predicates):
        # So it does for rows.
        traveling.value("TRUE")
    pattern = describe_pattern(clause)
    state_id = _state_id(describe_clause(clause, pattern), keys, order_columns, traveling)
    programs = [
        MatchProgram(
            pattern=part.clause.pattern,
            variables=part.scope.variables,
            conditions=part.conditions,
            keys=keys,
            time=Column("t", _time_sql(time, scope)) if time else None,
            order=order_columns if streaming else (),
            values=tuple(traveling.values),
            predicates=tuple(traveling.predicates),
            measures=part.measures,
            skip=part.clause.skip.target,
            within=within,
            timeouts=part.clause.rows.timeouts,
            skip_to=_skip_to(part.clause, part.scope),
            strict=not streaming,
            all_rows=part.clause.rows.all,
            empty=part.clause.rows.empty or "show",
            frame=part.after,
            id_columns=id_columns,
            state_id=state_id,
            pattern_id=digest(pattern if part is parts[0] else describe_pattern(part.clause)),
        )
        for part, within in zip(parts, limits, strict=True)
    ]
    if streaming:
        for part, program in zip(parts, programs, strict=True):
            _refuse_endless(part.clause, program)
    notices = [
        notice
        for part, program in zip(parts, programs, strict=True)
        for notice in _notices(part.clause, part.scope, program, streaming)
    ]
    mark = watermark if streaming else None
    event_time = scope.columns[time.name.lower()][0] if isinstance(time, exp.Column) else None
    # Only the first of several windows gives the columns of the rows.
    output = [*parts[0].output, *(column for part in parts[1:] for column in part.output[len(keys) :])]
    return MatchPlan(
        clauses[0],
        replace(programs[0], beside=tuple(programs[1:])),
        event_time,
        order,
        tuple(output),
        mark,
        tuple(dict.fromkeys(notices)),
        scope,
        traveling,
        tuple(aggregate for part in parts for aggregate in part.atoms.aggregates),
        tuple(pair for part in parts for pair in part.atoms.computed),
    )


@dataclass(frozen=True)
class _Lowered:
    """What is made of one row pattern; `after` is how many rows follow the first one in its frame, None for all."""

    clause: MatchClause
    scope: MatchScope
    conditions: tuple[Scalar | None, ...]
    atoms: Atoms
    output: tuple[OutputColumn, ...]
    after: int | None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The columns that the matcher returns."""
        measures = tuple(self.atoms.measures)
        return measures if self.clause.frame is None else tuple(framed_measure(m, self.after) for m in measures)


def _lowered(clause: MatchClause, scope: MatchScope, traveling: Traveling, mark: str) -> _Lowered:
    """Lower the conditions and measures of a row pattern; `mark` as of `Atoms`."""
    conditions, atoms = _conditions(clause, scope, traveling), Atoms(mark=mark)
    output = _output(clause, scope, traveling, atoms)
    after = None if clause.frame is None or clause.frame.after is None else min(clause.frame.after, UNBOUNDED)
    if clause.frame is not None:
        conditions = tuple(framed_condition(condition, after) for condition in conditions)
    return _Lowered(clause, scope, conditions, atoms, output, after)


def _state_id(described: dict, keys: tuple[Column, ...], order: tuple[OrderColumn, ...], traveling: Traveling) -> str:
    columns = [column.sql for column in (*keys, *order, *traveling.values)]
    return digest([STATE_VERSION, described, columns, traveling.predicates])[:16]


def _refuse_unsupported(clause: MatchClause, streaming: bool) -> None:
    nodes = list(ir.walk(clause.pattern))
    if clause.frame is not None:
        _refuse_in_window(clause, nodes)
    if streaming and ir.Anchor(end=True) in nodes:
        raise NotSupportedError(
            "the anchor $ in a pattern over a stream is not supported",
            clause.span,
            "a partition of a stream has no last row",
        )
    unmatched = clause.rows.empty == "unmatched"
    if unmatched and any(isinstance(node, ir.Exclude) for node in nodes):
        raise ProgrammingError(
            "WITH UNMATCHED ROWS cannot stand with an exclusion in PATTERN",
            clause.rows.span,
            "a row that {- -} leaves out is matched all the same",
        )
    if not clause.rows.all and not clause.partition_by and not clause.measures:
        raise ProgrammingError("MATCH_RECOGNIZE gives no column", clause.span, "add MEASURES or PARTITION BY")


def _refuse_in_window(clause: MatchClause, nodes: list[ir.Pattern]) -> None:
    """Refuse what the row pattern of a window cannot have."""
    anchor = next((node for node in nodes if isinstance(node, ir.Anchor)), None)
    if anchor is not None:
        raise ProgrammingError(
            f"the anchor {'$' if anchor.end else '^'} may not stand in the row pattern of a window",
            clause.span,
            "a match there always begins with the first row of the frame",
        )
    if any(isinstance(node, ir.Exclude) for node in nodes):
        raise ProgrammingError(
            "an exclusion {- -} may not stand in the row pattern of a window",
            clause.span,
            "each row gives one row there, also one of a match",
        )
    for expression in (*(m.expression for m in clause.measures), *(condition for _, condition in clause.defines)):
        for call in expression.walk():
            name = navigation_name(call)
            if name in ("MATCH_NUMBER", "MATCH_TIMEOUT"):
                raise ProgrammingError(
                    f"{name}() may not stand in the row pattern of a window",
                    span_of(call, clause.span),
                    "MATCH_ID() tells matches apart" if name == "MATCH_NUMBER" else None,
                )


def _without_named_time(clause: MatchClause, time: exp.Expr | None) -> MatchClause:
    """Return a clause with MATCH_ROWTIME() in place of MATCH_ROWTIME(ts), where ts is what rows are ordered by."""
    time_name = time.name.lower() if isinstance(time, exp.Column) else None

    def read(node: exp.Expr) -> exp.Expr:
        if navigation_name(node) != "MATCH_ROWTIME" or len(node.expressions) != 1 or time_name is None:
            return node
        (argument,) = node.expressions
        if isinstance(argument, exp.Column) and not argument.table and argument.name.lower() == time_name:
            bare = node.copy()
            bare.set("expressions", [])
            return bare
        raise ProgrammingError(
            f"MATCH_ROWTIME takes the time that the rows are ordered by, {time_name}",
            span_of(argument, clause.span),
            f"MATCH_ROWTIME({time_name}), or LAST({argument.name}) for another column" if argument.name else None,
        )

    changed = (replace(measure, expression=measure.expression.transform(read)) for measure in clause.measures)
    return replace(clause, measures=tuple(changed))


def _with_row_time(clause: MatchClause, time: exp.Expr | None) -> MatchClause:
    """Return a clause whose measures read the time of the last row, a column, in place of MATCH_ROWTIME()."""

    def read(node: exp.Expr) -> exp.Expr:
        if time is None or navigation_name(node) != "MATCH_ROWTIME" or node.expressions:
            return node
        return exp.Anonymous(this=LAST, expressions=[time.copy()])

    changed = (replace(measure, expression=measure.expression.transform(read)) for measure in clause.measures)
    return replace(clause, measures=tuple(changed))


def _refuse_endless(clause: MatchClause, program: MatchProgram) -> None:
    names = endless_variables(program)
    if names:
        raise ProgrammingError(
            "no match of this pattern is ever decided over a stream",
            clause.span,
            f"{' and '.join(names)} may take every row to come, and more rows are preferred: give a condition that "
            f"some row fails, repeat as few rows as possible ({names[0]}*?), or bound the match by WITHIN",
        )


def _skip_to(clause: MatchClause, scope: MatchScope) -> frozenset[int]:
    """Return the variables that AFTER MATCH SKIP TO names, none for the other targets."""
    name = clause.skip.variable
    if name is None:
        return frozenset()
    if name.text in scope.unions:
        return scope.unions[name.text]
    _known_variable(name, scope.variables, "AFTER MATCH SKIP")
    return frozenset([scope.variables.index(name.text)])


def _check_size(clause: MatchClause) -> None:
    with at_place(clause.span):
        compile_pattern(clause.pattern, ir.variables(clause.pattern))


def _scope(clause: MatchClause, columns: tuple[ColumnDefinition, ...]) -> MatchScope:
    variables = ir.variables(clause.pattern)
    columns_by_name = {c.name.lower(): (c.name, c.type.lower()) for c in columns}
    unions: dict[str, frozenset[int]] = {}
    for union, members in clause.subsets:
        if union.text in variables or union.text in unions:
            raise ProgrammingError(f"SUBSET {union.text} is named like another variable", union.span)
        for member in members:
            _known_variable(member, variables, "SUBSET")
        unions[union.text] = frozenset(variables.index(member.text) for member in members)
    relation = clause.input.find(exp.From)
    assert relation is not None
    table = relation.this
    return MatchScope(columns_by_name, variables, unions, table.alias_or_name.lower() or None, clause.span)


def _known_variable(name: Name, variables: tuple[str, ...], where: str) -> None:
    if name.text not in variables:
        raise ProgrammingError(
            f"{where} names {name.text}, which is not in PATTERN",
            name.span,
            variable_hint(name.text, variables),
        )


def _order(
    clause: MatchClause,
    scope: MatchScope,
    streaming: bool,
    watermark: Watermark | None,
    others: Sequence[Watermark],
) -> tuple[exp.Expr | None, tuple[OrderColumn, ...], tuple[str, ...]]:
    """Return the column (or field) of the time, None without one, the further order columns, and Spark's ORDER BY."""
    items = clause.order_by
    sql = tuple(order_sql(item, scope) for item in items)
    if streaming:
        check_stream_order(clause, scope, watermark, "MATCH_RECOGNIZE" if clause.frame is None else "OVER", others)
        further = tuple(
            OrderColumn(f"o{i}", scope.row_sql(item.this), bool(item.args.get("desc")), _nulls_first(item))
            for i, item in enumerate(items[1:])
        )
        return scope.resolve(items[0].this)[1], further, sql
    if not items:
        return None, (), ()
    first = items[0]
    timely = isinstance(first.this, exp.Column) and not first.args.get("desc")
    if timely and scope.type_of(first.this).split("(")[0] in ("timestamp", "timestamp_ntz", "timestampntz", "date"):
        return scope.resolve(first.this)[1], (), sql
    return None, (), sql


def check_stream_order(
    clause: MatchClause | DeduplicateClause,
    scope: MatchScope,
    watermark: Watermark | None,
    reader: str,
    others: Sequence[Watermark] = (),
) -> None:
    """Raise ProgrammingError if the ORDER BY of an operator over a stream does not begin with the event time.

    others: further event times by which the rows could be followed.
    """
    if watermark is None:
        raise ProgrammingError(
            f"{reader} over a stream needs a stream with a watermark",
            clause.span,
            "say WATERMARK FOR ts AS ts - INTERVAL '10' SECONDS in CREATE STREAM, and keep that column in the subquery",
        )
    hint = order_hint((watermark, *others))
    if not clause.order_by:
        raise ProgrammingError(f"{reader} over a stream needs ORDER BY", clause.span, hint)
    first = clause.order_by[0]
    if not isinstance(first.this, exp.Column) or first.this.name.lower() != watermark.column.lower():
        if isinstance(first.this, exp.Column):
            scope.resolve(first.this)
        raise ProgrammingError(
            "over a stream ORDER BY must begin with the event time", span_of(first, clause.span), hint
        )
    if first.args.get("desc"):
        raise ProgrammingError(
            "over a stream the event time must be in ascending order", span_of(first, clause.span), hint
        )
    for item in clause.order_by[1:]:
        fleeting = next(filter(is_fleeting, item.walk()), None)
        if fleeting is not None:
            raise ProgrammingError(
                f"{spoken_function(fleeting)} gives another value on every run, so it may not stand in ORDER BY",
                span_of(fleeting, clause.span),
                "a query must find the same rows when it is replayed",
            )


def order_sql(item: exp.Ordered, scope: MatchScope) -> str:
    """Return an item of ORDER BY as Spark SQL over the columns of the input, with the place of NULL.

    Raises ProgrammingError for what is not computed from one row.
    """
    for node in item.walk(prune=lambda node: isinstance(node, exp.Query)):
        asked = _beyond_a_row(node, scope)
        if asked is not None:
            raise ProgrammingError(
                f"ORDER BY takes expressions on one row, not {asked}",
                span_of(node, span_of(item, scope.place)),
                "compute it in a subquery before, and order by its column",
            )
    direction = "DESC" if item.args.get("desc") else "ASC"
    return f"{scope.row_sql(item.this)} {direction} NULLS {'FIRST' if _nulls_first(item) else 'LAST'}"


def _beyond_a_row(node: exp.Expr, scope: MatchScope) -> str | None:
    """Return what a part of an expression asks of other rows or of the match, None if it asks nothing of them."""
    name = navigation_name(node)
    if isinstance(node, exp.Window):
        return "a window function"
    if is_aggregate(node):
        return f"the aggregate {spoken_function(called_function(node))}"
    if gives_rows(node):
        return f"{spoken_function(node)}, which gives several rows"
    if name in (FIRST, LAST, "PREV", "NEXT", *MATCH_FUNCTIONS):
        return spoken_name(node)
    if is_watermark_call(node):
        return NAME
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star) and scope.resolve(node)[0] is not None:
        return f"rows of the pattern variable {node.parts[0].name}"
    return None


def _nulls_first(item: exp.Ordered) -> bool:
    return bool(item.args.get("nulls_first"))


def _within(clause: MatchClause, time: exp.Expr | None, scope: MatchScope) -> int | None:
    if clause.within is None:
        if clause.rows.timeouts:
            raise ProgrammingError(
                "SHOW TIMEOUT MATCHES needs WITHIN",
                clause.rows.span,
                "a partial match times out when its WITHIN has passed",
            )
        return None
    span = span_of(clause.within, clause.span)
    micros = interval_micros(clause.within, span)
    if micros <= 0:
        raise ProgrammingError("WITHIN must be longer than zero", span)
    if time is None:
        hint, first = "ORDER BY a TIMESTAMP or DATE column first", clause.order_by[0] if clause.order_by else None
        if first is not None and isinstance(first.this, exp.Column) and not first.args.get("desc"):
            hint = time_hint(first.this.name, scope.type_of(first.this), hint)
        raise ProgrammingError("WITHIN needs rows in ascending order of time", span, hint)
    return micros


def _conditions(clause: MatchClause, scope: MatchScope, traveling: Traveling) -> tuple[Scalar | None, ...]:
    conditions: dict[str, Scalar] = {}
    for name, condition in clause.defines:
        if name.text in scope.unions:
            raise ProgrammingError(
                f"{name.text} is a SUBSET, which cannot be defined", name.span, "define its members one by one"
            )
        _known_variable(name, scope.variables, "DEFINE")
        if name.text in conditions:
            raise ProgrammingError(f"{name.text} is defined twice", name.span)
        index = scope.variables.index(name.text)
        check_rows(condition, scope.at(name.span))
        check_modifiers(condition, scope.at(name.span))
        conditions[name.text] = lower_condition(condition, index, scope.at(name.span), traveling)
    return tuple(conditions.get(name) for name in scope.variables)


def _output(clause: MatchClause, scope: MatchScope, traveling: Traveling, atoms: Atoms) -> tuple[OutputColumn, ...]:
    output: list[OutputColumn] = []
    spans: dict[str, Span] = {}
    for i, key in enumerate(clause.partition_by):
        if not isinstance(key, exp.Column):
            raise NotSupportedError(
                "PARTITION BY takes columns", span_of(key, clause.span), "compute the value in a subquery before"
            )
        variables, plain = scope.resolve(key)
        if variables is not None:
            raise ProgrammingError("PARTITION BY takes columns of the input", span_of(key, clause.span))
        name = scope.columns[plain.name.lower()][0] if isinstance(plain, exp.Column) else key.name
        if not isinstance(plain, exp.Column) and clause.rows.all and name.lower() in scope.columns:
            raise ProgrammingError(
                f"the field {name} in PARTITION BY is named like a column, which ALL ROWS PER MATCH gives too",
                span_of(key, clause.span),
                "give it another name in a subquery before",
            )
        _add(OutputColumn(name, f"k{i}", scope.type_of(key)), span_of(key), output, spans)
    if clause.rows.all and clause.frame is None:
        columns = [item.this for item in clause.order_by if isinstance(item.this, exp.Column)]
        ordered = [column for column in columns if isinstance(scope.resolve(column)[1], exp.Column)]
        _add_row_values(ordered, scope, traveling, atoms, output, spans)
    before = set(spans)
    for number, measure in enumerate(clause.measures):
        place = scope.at(measure.name.span)
        check_rows(measure.expression, place)
        check_modifiers(measure.expression, place)
        lowered = lower_measure(measure.expression, place, traveling, atoms, clause.rows)
        unmatched = clause.rows.empty == "unmatched" and not isinstance(lowered, exp.Column)
        if unmatched or (clause.frame is not None and number < len(clause.measures) - clause.calls):
            lowered = _null_without_match(lowered, atoms)
        kind = place.type_of(measure.expression)
        name = measure.name.text
        if clause.rows.all and name.lower() in scope.columns and name.lower() not in before:
            raise ProgrammingError(
                f"the measure {name} is named like a column of the input, which ALL ROWS PER MATCH gives too",
                measure.name.span,
                "give the measure another name",
            )
        _add(OutputColumn(name, sql_of(lowered), kind), measure.name.span, output, spans)
    if clause.rows.all:
        names = [name for name, _ in scope.columns.values() if not name.startswith(HIDDEN)]
        names = list(clause.carried) if clause.frame is not None else names
        # What a pattern in a window reads anyway need not travel under another name.
        travelling = {column.sql for column in traveling.values} if clause.frame is not None else set()
        everything = [exp.column(name, quoted=name not in travelling) for name in names]
        _add_row_values(everything, scope, traveling, atoms, output, spans)
    return tuple(output)


def _null_without_match(lowered: exp.Expr, atoms: Atoms) -> exp.Expr:
    """Return a measure that is NULL in a row of no match, even where the expression makes something of NULL."""
    return exp.case().when(exp.not_(atoms.column(Complete()).is_(exp.null())), lowered)


def _add_row_values(
    columns: list[exp.Column], scope: MatchScope, traveling: Traveling, atoms: Atoms, output: list, spans: dict
) -> None:
    """Add input columns to the rows of ALL ROWS PER MATCH, except those that are there already."""
    for column in columns:
        name = scope.columns[scope.resolve(column)[1].name.lower()][0]
        if name.lower() not in spans:
            value = lower_row_value(column, scope, traveling, atoms)
            _add(OutputColumn(name, sql_of(value), scope.type_of(column)), span_of(column), output, spans)


def _add(column: OutputColumn, span: Span | None, output: list, spans: dict) -> None:
    if column.name.lower() in spans:
        raise ProgrammingError(
            f"two columns of the result are named {column.name}", span, "give the measure another name"
        )
    spans[column.name.lower()] = span
    output.append(column)


def _notices(clause: MatchClause, scope: MatchScope, program: MatchProgram, streaming: bool) -> tuple[str, ...]:
    notices = []
    if not clause.order_by:
        notices.append("without ORDER BY the rows of a partition are matched in no defined order")
    for name, condition in clause.defines:
        if compares_with_itself(condition, scope.variables.index(name.text), scope):
            notices.append(
                f"{name.text} compares the row under test with itself, which never differs: in DEFINE, "
                f"LAST({name.text}.x) is the candidate row and LAST({name.text}.x, 1) the {name.text} before it"
            )
    if streaming and program.within is None:
        loops = [
            ir.variables(node.part)
            for node in ir.walk(program.pattern)
            if isinstance(node, ir.Repeat) and node.high is None and program.frame is None
        ]
        which = f"{loops[0][0]} can repeat for ever" if loops and loops[0] else "it waits for its next row for ever"
        notices.append(f"without WITHIN a partial match is kept until it is decided: {which}")
    return tuple(notices)


def _time_sql(time: exp.Expr, scope: MatchScope) -> str:
    if isinstance(time, exp.Column):
        time = exp.column(scope.columns[time.name.lower()][0], quoted=True)
    return sql_of(time)
