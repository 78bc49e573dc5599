"""The order of planning: one tuple of passes, run once over a query, some of them over the input of each operator."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import ON_CLOSE, plan_emission
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.written import without_limit
from cepsql.errors import ProgrammingError, Span
from cepsql.language.statements import MatchClause, ParsedQuery
from cepsql.plan.changes.emission import with_emission
from cepsql.plan.changes.excluding_frames import hoist_excluding
from cepsql.plan.groups.assigned_windows import hold_windows, refuse_groups_beside
from cepsql.plan.groups.calendar_windows import with_calendar_windows
from cepsql.plan.groups.filled_windows import hoist_fill
from cepsql.plan.groups.grouping_sets import with_grouping_sets
from cepsql.plan.groups.window_groups import hoist_outer_groups, hoist_window_groups
from cepsql.plan.joins.as_of_tables import join_tables_as_of
from cepsql.plan.joins.stream_joins import hoist_joins
from cepsql.plan.names.expand import Expanded
from cepsql.plan.names.generated_columns import with_generated_columns
from cepsql.plan.names.group_by_all import with_group_by_all
from cepsql.plan.names.item_names import with_item_names
from cepsql.plan.names.output_names import with_output_names
from cepsql.plan.names.pivots import with_plain_pivots
from cepsql.plan.names.row_times import with_row_times
from cepsql.plan.names.single_names import refuse_names_twice
from cepsql.plan.names.unions_by_name import with_unions_by_name
from cepsql.plan.names.window_column import with_window_column
from cepsql.plan.operators.match import Match
from cepsql.plan.refuse import (
    refuse_aggregates,
    refuse_group_windows,
    refuse_on_streams,
    refuse_operator_input,
    refuse_order,
    refuse_unmarked,
)
from cepsql.plan.rows.distinct import hoist_distinct, hoist_inner_distinct, hoist_outer_distinct
from cepsql.plan.rows.group_frames import over_tables
from cepsql.plan.rows.number_times import refuse_number_times
from cepsql.plan.rows.pattern_windows import hoist_patterns
from cepsql.plan.rows.row_order import hoist_order
from cepsql.plan.rows.window_functions import hoist_over
from cepsql.plan.tree.changelogs import changelog_read, emitted_read, refuse_changelog
from cepsql.plan.tree.nodes import Node, Read, Sql, inputs, missing_time
from cepsql.plan.tree.reader import Checked, Reader, RowsAsTheyCome
from cepsql.plan.watermark_calls import hoist_current_watermarks


class QueryNames(Protocol):
    """What the names in a query mean."""

    def expand(self, query: ParsedQuery) -> Expanded:
        """Return a query as one tree."""

    def columns_of(self, table: exp.Table) -> list[str]:
        """Return the columns of a relation; none for a clause of the statement."""

    def time_of(self, table: exp.Table) -> str | None:
        """Return the event time of a stream, None for other relations."""

    def is_stream(self, table: exp.Table) -> bool:
        """Tell whether the rows of a relation are a stream."""

    def bind(self, draft: "Draft", asked: "Asked") -> Sql:
        """Return the query over nodes: relations of the catalog, and operators for its clauses."""

    def pattern(self, clause: MatchClause, below: Sql) -> Match:
        """Return the operator of a row pattern in a window."""


@dataclass(frozen=True)
class Draft:
    """A query while it is planned.

    query:    as its text has it, with its clauses.
    expanded: the same with views and CTEs written out, and where its text comes from.
    view:     the view at rest whose query it is.
    rows:     its graph, once its names are bound; the input of an operator is nothing else.
    limit:    LIMIT over a stream, once that is taken off.
    """

    query: ParsedQuery
    expanded: Expanded | None = None
    view: str | None = None
    rows: Sql | None = None
    limit: int | None = None

    @property
    def graph(self) -> Sql:
        """The graph of a query whose names are bound."""
        assert self.rows is not None
        return self.rows

    @property
    def place(self) -> Span:
        """Where it stands."""
        return self.query.span

    @property
    def streaming(self) -> bool:
        """Whether it reads a stream."""
        if self.rows is not None:
            return self.rows.streaming
        assert self.expanded is not None
        return self.expanded.streaming


@dataclass(frozen=True)
class Asked:
    """What is asked of rows, and of whom a pass asks further.

    reader: the operator that reads them, None for those that the whole query gives out.
    reader_name: what messages call it.
    inputs: gives the input of an operator.
    names:  what names mean.
    """

    reader: Reader | None
    reader_name: str
    inputs: Checked
    names: QueryNames = field(repr=False)


Change = Callable[[Draft, Asked], Draft]


@dataclass(frozen=True)
class Pass:
    """A step of planning; the docstring of `run` says what holds after it.

    of_query:  it runs over the whole query.
    of_inputs: it runs over the input of an operator.
    at_rest:   it runs also over a query that reads no stream.
    """

    run: Change
    of_query: bool = True
    of_inputs: bool = False
    at_rest: bool = False

    @property
    def name(self) -> str:
        """Its name in EXPLAIN PLANNING."""
        return self.run.__name__.strip("_").replace("_", " ")

    @property
    def sentence(self) -> str:
        """What holds after it."""
        return " ".join((self.run.__doc__ or "").split())


# Expand: the text as it is written out.


def single_names(draft: Draft, asked: Asked) -> Draft:
    """No name of a CTE or of a window is given twice."""
    for part in (draft.query.expression, *(clause.input for clause in draft.query.operators)):
        refuse_names_twice(part)
    return draft


def written_out(draft: Draft, asked: Asked) -> Draft:
    """A subquery stands for each CTE, and for each view that reads a stream or has an operator."""
    if draft.expanded is not None:
        return draft
    expanded = asked.names.expand(draft.query)
    return replace(draft, query=expanded.query, expanded=expanded)


def refused_aggregates(draft: Draft, asked: Asked) -> Draft:
    """No condition before groups reads an aggregate, and no function of windows is Flink's older one."""
    for part in (draft.query.expression, *(clause.input for clause in draft.query.operators)):
        refuse_aggregates(part, draft.place)
        refuse_group_windows(part)
    return draft


def window_columns(draft: Draft, asked: Asked) -> Draft:
    """The column `window` of GROUP BY window(...) is the call."""
    return _written(draft, partial(with_window_column, asked.names.columns_of))


def output_names(draft: Draft, asked: Asked) -> Draft:
    """HAVING and QUALIFY name no item of their SELECT."""
    return _written(draft, partial(with_output_names, asked.names.columns_of))


def item_names(draft: Draft, asked: Asked) -> Draft:
    """What stands before a point is a relation or a column, and a name of an item means one."""
    return _written(draft, partial(with_item_names, asked.names.columns_of))


def generated_columns(draft: Draft, asked: Asked) -> Draft:
    """Columns that a function gives together, and that are read, are those of a lateral view."""
    return _written(draft, with_generated_columns)


def unions_by_name(draft: Draft, asked: Asked) -> Draft:
    """The sides of a UNION BY NAME have their columns in one order."""
    return _written(draft, partial(with_unions_by_name, asked.names.columns_of))


def pivots(draft: Draft, asked: Asked) -> Draft:
    """PIVOT and UNPIVOT over streams, of a query with EMIT, are groups and rows that a generator spreads."""
    if draft.query.emit is None:
        return draft
    return _written(draft, partial(with_plain_pivots, asked.names.columns_of, asked.names.is_stream))


def row_times(draft: Draft, asked: Asked) -> Draft:
    """ROWTIME is the column with the event time."""
    return _written(draft, partial(with_row_times, asked.names.time_of, asked.names.columns_of))


def group_by_all(draft: Draft, asked: Asked) -> Draft:
    """GROUP BY ALL names its keys, where they can be told."""
    return _written(draft, with_group_by_all)


def grouping_sets(draft: Draft, asked: Asked) -> Draft:
    """Grouping sets that share a window are a union of groups."""
    return _written(draft, with_grouping_sets)


# Bind: a graph of nodes.


def bound_names(draft: Draft, asked: Asked) -> Draft:
    """Each name is a node: a relation of the catalog, or the operator that a clause stands for."""
    return replace(draft, rows=asked.names.bind(draft, asked))


def patterns(draft: Draft, asked: Asked) -> Draft:
    """Each row pattern in a window is an operator."""
    return _with(draft, hoist_patterns(draft.graph, draft.query.windows, asked.names.pattern, draft.place))


def filled_windows(draft: Draft, asked: Asked) -> Draft:
    """Each FILL is an operator."""
    return _with(draft, hoist_fill(draft.graph, asked.inputs, draft.place))


def groups_with_windows(draft: Draft, asked: Asked) -> Draft:
    """Groups of rows in windows have the window among their keys."""
    refuse_groups_beside(draft.graph)
    return draft


def tables_as_of(draft: Draft, asked: Asked) -> Draft:
    """No table at rest is read by ASOF JOIN or FOR SYSTEM_TIME AS OF."""
    return _with(draft, join_tables_as_of(draft.graph, draft.place))


def current_watermarks(draft: Draft, asked: Asked) -> Draft:
    """No expression asks the watermark at which a row came: over a stream it is a column of an operator."""
    return _with(draft, hoist_current_watermarks(draft.graph, asked.inputs, draft.place))


def times_of_numbers(draft: Draft, asked: Asked) -> Draft:
    """No number is taken for a time, by window(...) or by a frame of RANGE."""
    refuse_number_times(draft.graph, draft.place)
    return draft


# Lift: what remembers rows is an operator. Order: each operator's rows are followed by the time that is asked for.


def emission(draft: Draft, asked: Asked) -> Draft:
    """Groups come out as EMIT says, and a query with EMIT CHANGES over tables that change gives their changes."""
    root, clause = draft.graph, draft.query.emit
    if not root.resolved.streaming:
        return draft if clause is None else _with(draft, with_emission(root, clause, asked.inputs))
    on_close = clause is None or plan_emission(clause) == ON_CLOSE
    if changelog_read(root) is None and not emitted_read(root):
        refuse_order(root, changing=clause is not None and clause.kind == "changes", last=on_close)
    if clause is None:
        return draft
    emitted = with_emission(root, clause, asked.inputs)
    # The groups of rows in an order are made with that, so that EMIT was only checked.
    return draft if on_close and root.query.args.get("order") is not None else _with(draft, emitted)


def no_tables_that_change(draft: Draft, asked: Asked) -> Draft:
    """No changes of a table are taken for rows."""
    # The whole query was looked at before its joins, whose right side may be read as versions.
    if asked.reader_name != "JOIN":
        refuse_changelog(draft.graph, asked.reader_name if asked.reader is not None else None, draft.place)
    return draft


def functions_over_tables(draft: Draft, asked: Asked) -> Draft:
    """No frame over a table at rest counts GROUPS or leaves rows out, and MIGHT_HAVE_SEEN is an operator there, too."""
    graph = hoist_excluding(draft.graph, draft.place)
    return _with(draft, over_tables(graph, asked.inputs, draft.place))


def held_windows(draft: Draft, asked: Asked) -> Draft:
    """Rows wait until their window is over, if their reader goes by a column of the windows."""
    assert asked.reader is not None
    return _with(draft, hold_windows(draft.graph, asked.reader, asked.inputs))


def order(draft: Draft, asked: Asked) -> Draft:
    """ORDER BY at the end of the query is an operator."""
    return _with(draft, hoist_order(draft.graph, draft.place, asked.inputs))


def outer_distinct(draft: Draft, asked: Asked) -> Draft:
    """SELECT DISTINCT at the end of the query, over rows of operators, is one."""
    if draft.query.emit is not None:
        return draft
    return _with(draft, hoist_outer_distinct(draft.graph, draft.place, asked.inputs))


def window_functions(draft: Draft, asked: Asked) -> Draft:
    """Each SELECT with window functions is an operator."""
    return _with(draft, hoist_over(draft.graph, asked.inputs, draft.place))


def groups(draft: Draft, asked: Asked) -> Draft:
    """Each SELECT that groups windows is an operator, but for those below a join, and those that Spark makes."""
    if asked.reader is None:
        return _with(draft, hoist_outer_groups(draft.graph, draft.place, asked.inputs))
    return _with(draft, hoist_window_groups(draft.graph, asked.reader, asked.inputs))


def inner_distinct(draft: Draft, asked: Asked) -> Draft:
    """SELECT DISTINCT in FROM, over rows of operators, is one."""
    if draft.query.emit is not None:
        return draft
    return _with(draft, hoist_inner_distinct(draft.graph, draft.place, asked.inputs))


def joins(draft: Draft, asked: Asked) -> Draft:
    """Each join of two streams is an operator."""
    return _with(draft, hoist_joins(draft.graph, asked.reader, asked.inputs, draft.place))


def distinct(draft: Draft, asked: Asked) -> Draft:
    """Each SELECT DISTINCT below an operator is one."""
    return _with(draft, hoist_distinct(draft.graph))


def windows_of_calendar(draft: Draft, asked: Asked) -> Draft:
    """Windows of months, and of days of a time zone, are columns of their rows."""
    return _with(draft, with_calendar_windows(draft.graph))


# Check: predicates over the finished graph.


def plain_input(draft: Draft, asked: Asked) -> Draft:
    """What stands between two operators works row by row."""
    assert asked.reader is not None
    refuse_operator_input(asked.reader, draft.graph, asked.reader_name)
    return draft


def followed_input(draft: Draft, asked: Asked) -> Draft:
    """The input of an operator has an event time, and lets markers pass, unless its rows are taken as they come."""
    rows = draft.graph.properties
    assert asked.reader is not None
    if isinstance(asked.reader, RowsAsTheyCome):
        return draft
    if rows.ordered and rows.watermark is None:
        ordered = next(node for node in draft.graph.inputs.values() if node.properties.ordered)
        raise missing_time(ordered, asked.reader_name, draft.place)
    refuse_unmarked(asked.reader, draft.graph)
    return draft


def plain_output(draft: Draft, asked: Asked) -> Draft:
    """What Spark computes over streams ends some day."""
    if draft.graph.properties.streaming:
        refuse_on_streams(draft.graph)
    return draft


def limited(draft: Draft, asked: Asked) -> Draft:
    """LIMIT over a stream is no part of the query: its reader stops after so many rows."""
    root = draft.graph
    if not root.properties.streaming:
        return draft
    expression, limit = _take_limit(root.query)
    if limit is None:
        return draft
    text = without_limit(root.text, root.query, expression)
    return replace(draft, rows=replace(root, query=expression, text=text), limit=limit)


EXPAND = (
    Pass(single_names, at_rest=True),
    Pass(written_out, at_rest=True),
    Pass(generated_columns, at_rest=True),
    Pass(refused_aggregates),
    Pass(window_columns, at_rest=True),
    Pass(output_names, at_rest=True),
    Pass(item_names, at_rest=True),
    Pass(unions_by_name, at_rest=True),
    Pass(pivots),
    Pass(row_times, at_rest=True),
    Pass(group_by_all),
    Pass(grouping_sets),
)
BIND = (
    Pass(bound_names, at_rest=True),
    Pass(patterns, at_rest=True),
    Pass(filled_windows, at_rest=True),
    Pass(groups_with_windows, at_rest=True),
    Pass(tables_as_of, of_inputs=True, at_rest=True),
    Pass(current_watermarks, of_inputs=True, at_rest=True),
    Pass(times_of_numbers, of_inputs=True, at_rest=True),
)
LIFT = (
    Pass(emission, at_rest=True),
    Pass(no_tables_that_change, of_inputs=True),
    Pass(functions_over_tables, of_inputs=True, at_rest=True),
    Pass(held_windows, of_query=False, of_inputs=True),
    Pass(order),
    Pass(outer_distinct),
    Pass(window_functions, of_inputs=True),
    Pass(groups, of_inputs=True),
    Pass(inner_distinct),
    Pass(joins, of_inputs=True),
    Pass(distinct, of_query=False, of_inputs=True),
    Pass(windows_of_calendar, at_rest=True),
)
CHECK = (
    Pass(plain_input, of_query=False, of_inputs=True),
    Pass(followed_input, of_query=False, of_inputs=True, at_rest=True),
    Pass(plain_output),
    Pass(limited),
)
PASSES = (*EXPAND, *BIND, *LIFT, *CHECK)
"""All passes, in their order. Text becomes a graph in BIND; an operator's input, which is a graph, runs through those
with `of_inputs`."""


@dataclass(frozen=True)
class PassStep:
    """What a pass changed.

    of: whose rows it worked on, None for the whole query.
    after: the query after it, in lines.
    """

    of: str | None
    name: str
    sentence: str
    after: tuple[str, ...]


_steps: ContextVar[list[PassStep] | None] = ContextVar("steps", default=None)


@contextmanager
def recorded_steps(wanted: bool) -> Iterator[list[PassStep]]:
    """Record what each pass changes in the queries that are planned meanwhile, nothing if that is not wanted."""
    steps: list[PassStep] = []
    token = _steps.set(steps if wanted else None)
    try:
        yield steps
    finally:
        _steps.reset(token)


def run_passes(passes: tuple[Pass, ...], draft: Draft, asked: Asked) -> Draft:
    """Return a draft after the passes that are for it."""
    streaming: bool | None = None
    for one in passes:
        if not (one.of_query if asked.reader is None else one.of_inputs):
            continue
        if not one.at_rest and streaming is None:
            streaming = draft.streaming
        if one.at_rest or streaming:
            before, draft = draft, one.run(draft, asked)
            if draft is not before:
                record_step(None if asked.reader is None else asked.reader_name, one.name, one.sentence, before, draft)
    return draft


def record_step(of: str | None, name: str, sentence: str, before: Draft | Node, after: Draft | Node) -> None:
    """Record a step that changed something, if anybody wants to know."""
    steps = _steps.get()
    if steps is None or before is after:
        return
    lines = _lines(after)
    if lines != _lines(before):
        steps.append(PassStep(of, name, sentence, tuple(lines)))


def _lines(value: Draft | Node) -> list[str]:
    if not isinstance(value, Draft):
        return tree_lines(value, times=True)
    if value.rows is not None:
        limit = [] if value.limit is None else [f"Limit {value.limit}"]
        return [*limit, *tree_lines(value.rows, times=True)]
    clauses = [f"{clause.name} reads {sql_of(clause.input)}" for clause in value.query.operators]
    return [sql_of(value.query.expression), *clauses]


def tree_lines(node: Node, depth: int = 0, times: bool = False) -> list[str]:
    """Return a graph as lines, what a node reads below it; `times`: with the event time of what operators give."""
    match node:
        case Read(relation):
            said = relation.name
        case Sql():
            said = sql_of(node.query)
        case _:
            said = node.properties.name
            if times and node.properties.watermark is not None:
                said += f", followed by {node.properties.watermark.column}"
    kind = "" if isinstance(node, Sql) else f"{type(node).__name__} "
    below = [line for part in inputs(node) for line in tree_lines(part, depth + 1, times)]
    return [f"{'  ' * depth}{kind}{said}", *below]


def _with(draft: Draft, rows: Sql) -> Draft:
    return draft if rows is draft.rows else replace(draft, rows=rows)


def _written(draft: Draft, rule: Callable[[exp.Query], exp.Query]) -> Draft:
    """Return a draft whose expressions are as a rule writes them, the same one if that changes none."""
    query = draft.query
    before = [query.expression, *(clause.input for clause in query.operators)]
    after = [rule(tree) for tree in before]
    if all(new is old for new, old in zip(after, before, strict=True)):
        return draft
    operators = tuple(replace(clause, input=tree) for clause, tree in zip(query.operators, after[1:], strict=True))
    return replace(draft, query=replace(query, expression=after[0], operators=operators))


def _take_limit(expression: exp.Query) -> tuple[exp.Query, int | None]:
    limit = expression.args.get("limit")
    if limit is None:
        return expression, None
    count = limit.expression
    if not isinstance(count, exp.Literal) or not count.this.isdigit():
        raise ProgrammingError("LIMIT over a stream must be a constant whole number", span_of(limit))
    copy = expression.copy()
    copy.set("limit", None)
    return copy, int(count.this)
