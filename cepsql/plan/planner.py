"""From a statement to the plan of its query: names become nodes, and rules rewrite the graph of them."""

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.match.match import MatchPlan, plan_match
from cepsql.analysis.match.subqueries import with_hidden_columns
from cepsql.analysis.operators.deduplicate import plan_deduplicate
from cepsql.analysis.operators.emission import ON_CLOSE, OPERATION, plan_emission
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import Properties
from cepsql.analysis.sql.quoted_columns import quoted_column_notices
from cepsql.analysis.sql.resolve import catalog_tables, flat_name, table_name
from cepsql.analysis.sql.written import Written, without_limit
from cepsql.catalog import ColumnDefinition, MaterializedView, Registered, Source, View
from cepsql.errors import Error, ProgrammingError, Span, in_text
from cepsql.language.guard import deep_stack, no_collection
from cepsql.language.statements import Clause, DeduplicateClause, MatchClause, Query, WindowClause
from cepsql.plan.changes.emission import groups_joined_streams, with_emission
from cepsql.plan.changes.ranked_rows import call_that_changes
from cepsql.plan.changes.table_changes import over_table_changes
from cepsql.plan.groups.assigned_windows import hold_windows, implied_partition, refuse_groups_beside, window_rows
from cepsql.plan.groups.calendar_windows import with_calendar_windows
from cepsql.plan.groups.fill import hoist_fill
from cepsql.plan.groups.grouping_sets import with_grouping_sets
from cepsql.plan.groups.window_groups import hoist_outer_groups, hoist_window_groups
from cepsql.plan.joins.as_of_tables import join_tables_as_of
from cepsql.plan.joins.stream_join import hoist_joins
from cepsql.plan.names.expand import Expanded, Expander, Lookup
from cepsql.plan.names.group_by_all import with_group_by_all
from cepsql.plan.names.output_names import with_output_names
from cepsql.plan.names.row_times import with_row_times
from cepsql.plan.names.spoken_names import Names, spoken_names
from cepsql.plan.names.unions_by_name import with_unions_by_name
from cepsql.plan.names.where_names import refuse_made_in_where
from cepsql.plan.names.window_column import with_window_column
from cepsql.plan.refuse import (
    refuse_aggregates,
    refuse_group_windows,
    refuse_on_streams,
    refuse_operator_input,
    refuse_order,
    refuse_unmarked,
)
from cepsql.plan.rows.distinct import hoist_distinct, hoist_inner_distinct, hoist_outer_distinct
from cepsql.plan.rows.over import hoist_over
from cepsql.plan.rows.pattern_windows import hoist_patterns
from cepsql.plan.rows.row_order import hoist_order
from cepsql.plan.rules import rewrite
from cepsql.plan.tree.changelogs import changelog_read, refuse_changelog
from cepsql.plan.tree.nodes import (
    Deduplicate,
    Match,
    Node,
    Ordered,
    Read,
    Sql,
    inputs,
    missing_time,
    reads,
    unshared,
    walk,
)
from cepsql.plan.tree.reader import Reader, RowsAsTheyCome, RowsInOrder
from cepsql.render.readable import Readable


@dataclass(frozen=True, repr=False)
class Plan(Readable):
    """A query with all names known.

    logical: its graph as the statement has it.
    root:    the same as it is run.
    limit:   LIMIT of a query over a stream: whoever shows the rows stops after so many.
    text:    the query's text, with those of the views that it reads: places in the plan are places in it.
    reads:   the names in the statement itself that are of the catalog, lower case.
    views:   the names of the views that are read, also by other views, lower case.
    view_columns: the names of their columns.
    names:   what the columns are called, as far as they are not what EMIT adds.
    """

    query: Query
    logical: Sql
    root: Node
    limit: int | None
    text: str = field(default="", compare=False)
    reads: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()
    view_columns: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Write the columns, and the operators and relations that the rows come through."""
        columns = ", ".join(f"{column.name} {column.type.lower()}" for column in self.columns)
        return "\n".join([f"{'stream' if self.streaming else 'bounded'}: {columns}", *_tree(self.logical, 1)])

    @property
    def properties(self) -> Properties:
        """What is known of the rows that the query gives."""
        return self.logical.properties

    @property
    def columns(self) -> tuple[ColumnDefinition, ...]:
        """The columns that the query gives, by the names that they are called."""
        known = self.properties.columns
        spoken = {name.lower(): name for name in self.names}
        return tuple(replace(column, name=spoken.get(column.name, column.name)) for column in known)

    @property
    def changes(self) -> bool:
        """Whether the rows say what each does to the result, in the column OPERATION of
        `cepsql.analysis.operators.emission`.
        """
        return self.query.emit is not None and plan_emission(self.query.emit).changing

    @property
    def streaming(self) -> bool:
        """Whether the rows, or those of any relation below, are a stream."""
        return any(node.properties.streaming for node in walk(self.logical))

    @property
    def matches(self) -> tuple[MatchPlan, ...]:
        """The matches of the query and of the views that it reads, inner ones first."""
        return tuple(node.match for node in walk(self.logical) if isinstance(node, Match))

    @property
    def stages(self) -> tuple[Ordered, ...]:
        """All ordered operators of what is run, inner ones first."""
        return tuple(node for node in walk(self.root) if isinstance(node, Ordered))

    @property
    def origins(self) -> list[Source | Registered]:
        """The relations that are read, each once; in place of a view those below it."""
        return reads(self.logical)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the query."""
        of_matches = (notice for match in self.matches for notice in match.notices)
        return (*self.quoted_columns, *of_matches)

    @property
    def quoted_columns(self) -> tuple[str, ...]:
        """A notice for each text in double quotes that has the name of a column."""
        below = (part for node in walk(self.logical) for part in inputs(node))
        columns = (column.name for part in below for column in part.properties.columns)
        return tuple(quoted_column_notices(self.query, (*columns, *self.view_columns)))


def _tree(node: Node, depth: int) -> list[str]:
    match node:
        case Read(relation):
            said = relation.name
        case Sql():
            said = sql_of(node.query)
        case _:
            said = node.properties.name
    kind = "" if isinstance(node, Sql) else f"{type(node).__name__} "
    return [f"{'  ' * depth}{kind}{said}", *(line for below in inputs(node) for line in _tree(below, depth + 1))]


def plan_query(query: Query, lookup: Lookup, defining: bool = False) -> Plan:
    """Plan a query; `lookup` finds what a table name means.

    defining: it is that of a view, which may be read where its rows change.
    Raises ProgrammingError and NotSupportedError, with position, hint and text.
    """
    planner = _Planner(lookup, query.sql)
    with _in_texts(planner), deep_stack(query.span), no_collection():
        expanded = planner.expander.expand(query)
        logical, limit = planner.definition(expanded) if defining else planner.query(expanded)
        logical = unshared(logical)
        read = planner.expander
        return Plan(
            query,
            logical,
            rewrite(logical),
            limit,
            read.text,
            frozenset(read.reads),
            frozenset(read.views),
            frozenset(read.view_columns),
            tuple(planner.columns),
        )


@contextlib.contextmanager
def _in_texts(planner: "_Planner") -> Iterator[None]:
    """Let errors point into the text of the query, or of the view, that they are about."""
    try:
        yield
    except Error as error:
        with in_text(planner.expander.text):
            raise error


class _Planner:
    """Makes one node of each name of the catalog, whatever reads it.

    names:   what the columns of each relation are called, by its flat name.
    columns: what those of the query are called that was planned last.
    """

    def __init__(self, lookup: Lookup, text: str):
        self.expander = Expander(lookup, text)
        self._known: dict[str, Node] = {}
        self.names: dict[str, Names] = {}
        self.columns: list[str] = []
        self._answers: dict[Hashable, tuple[Sql, Sql | Error]] = {}

    def query(self, expanded: Expanded, view: str | None = None) -> tuple[Sql, int | None]:
        """Return the node of a query and its LIMIT over a stream; `view` is the view at rest whose query it is."""
        return self._given_out(expanded.query, self._rows(expanded, view))

    def definition(self, expanded: Expanded) -> tuple[Sql, int | None]:
        """Return what `query` does of the query of a view, which may be read where its rows change."""
        root, place = self._rows(expanded), expanded.query.span
        changes = root.resolved.streaming and (
            changelog_read(root) or groups_joined_streams(root) or call_that_changes(root, self._checked, place)
        )
        if changes:
            return self._changing(root, place), None
        try:
            return self._given_out(expanded.query, root)
        except Error:
            if not root.resolved.streaming:
                raise
            with contextlib.suppress(Error):
                return self._changing(root, place), None
            raise

    def _changing(self, root: Sql, place: Span) -> Sql:
        """Return a query whose rows change, without what each change does: that is for its reader to ask."""
        changes = over_table_changes(root, place, self._checked)
        every = exp.Star(except_=[exp.to_identifier(OPERATION)])
        return replace(changes, query=exp.select(every).from_(changes.query.subquery("__all")))

    def _rows(self, expanded: Expanded, view: str | None = None) -> Sql:
        """Return a query over its operators, as its text has it."""
        query, streaming = expanded.query, expanded.streaming
        if streaming:
            for part in (query.expression, *(clause.input for clause in query.operators)):
                refuse_aggregates(part, query.span)
                refuse_group_windows(part)
        query = _rewritten(query, partial(with_window_column, self._column_names))
        query = _rewritten(query, partial(with_output_names, self._column_names))
        query = _rewritten(query, partial(with_unions_by_name, self._column_names))
        query = _rewritten(query, partial(with_row_times, self._row_time, self._column_names))
        if streaming:
            query = _rewritten(_rewritten(query, with_group_by_all), with_grouping_sets)
        matches: dict[str, Node] = {}
        for clause in query.operators:
            below = self._over(clause.input, matches, expanded.inputs[clause.name])
            spoken = self._spoken(below)
            below = hoist_patterns(below, query.windows, self._pattern, query.span)
            below = hoist_fill(below, self._checked, query.span)
            matches[clause.name] = self._clause(replace(clause, input=below.query), below, query)
            self._name(clause.name, matches[clause.name], spoken)
        root = replace(self._over(query.expression, matches, expanded.root), view=view)
        self.columns = self._spoken(root)
        root = hoist_patterns(root, query.windows, self._pattern, query.span)
        root = hoist_fill(root, self._checked, query.span)
        refuse_groups_beside(root)
        return join_tables_as_of(root, query.span)

    def _given_out(self, query: Query, root: Sql) -> tuple[Sql, int | None]:
        """Return a whole query with all that remembers rows as operators, and its LIMIT over a stream."""
        if not root.resolved.streaming:
            root = with_emission(root, query.emit, self._checked) if query.emit is not None else root
            return with_calendar_windows(root), None
        on_close = query.emit is None or plan_emission(query.emit) == ON_CLOSE
        if changelog_read(root) is None:
            refuse_order(root, changing=query.emit is not None and query.emit.kind == "changes", last=on_close)
        if query.emit is not None:
            emitted = with_emission(root, query.emit, self._checked)
            # The groups of rows in an order are made with that, so that EMIT was only checked.
            root = root if on_close and root.query.args.get("order") is not None else emitted
        refuse_changelog(root, None, query.span)
        root = hoist_order(root, query.span, self._checked)
        if query.emit is None:
            root = hoist_outer_distinct(root, query.span, self._checked)
        root = hoist_over(root, self._checked, query.span)
        root = hoist_outer_groups(root, query.span, self._checked)
        if query.emit is None:
            root = hoist_inner_distinct(root, query.span, self._checked)
        root = hoist_joins(root, None, self._checked, query.span)
        root = with_calendar_windows(root)
        if not root.properties.streaming:
            return root, None
        refuse_on_streams(root)
        expression, limit = _take_limit(root.query)
        if limit is not None:
            root = replace(root, query=expression, text=without_limit(root.text, root.query, expression))
        return root, limit

    def _column_names(self, table: exp.Table) -> list[str]:
        try:
            return [column.name for column in self._node(table).properties.columns]
        except Error:
            # It is a clause of the statement, or what is wrong is told later.
            return []

    def _row_time(self, table: exp.Table) -> str | None:
        """Return the event time of a stream, None for other relations."""
        try:
            rows = self._node(table).properties
        except Error:
            return None
        return rows.watermark.column if rows.streaming and rows.watermark is not None else None

    def _clause(self, clause: Clause, below: Sql, query: Query) -> Node:
        match clause:
            case MatchClause():
                return self._match(clause, below)
            case DeduplicateClause():
                return self._deduplicate(clause, below)
            case WindowClause():
                below = hoist_over(join_tables_as_of(below, clause.span), self._checked, clause.span)
                return window_rows(implied_partition(clause, query), below, self._checked)

    def _over(self, query: exp.Query, matches: dict[str, Node], text: Written | None) -> Sql:
        names = {table_name(table): table for table in catalog_tables(query)}
        nodes = {name: matches.get(name) or self._node(table) for name, table in names.items()}
        refuse_made_in_where(query, nodes)
        # Rules that write a query otherwise leave what its text says.
        return Sql(query, nodes, text=None if text is None else replace(text, tree=query))

    def _node(self, table: exp.Table) -> Node:
        name = table_name(table)
        if name not in self._known:
            relation = self.expander.relation(table)
            if isinstance(relation, View):
                expanded = self.expander.expand_view(relation)
                self._known[name] = self.query(expanded, relation.name)[0]
                self._name(name, self._known[name], self.columns)
            else:
                assert not isinstance(relation, MaterializedView), "whoever looks names up gives its table"
                self._known[name] = Read(relation)
                self._name(name, self._known[name], [])
        return self._known[name]

    def _spoken(self, below: Sql) -> list[str]:
        """Return what the columns of plain SQL are called, nothing if it cannot be resolved: that is told later."""
        try:
            return spoken_names(below.resolved.qualified, self.names)
        except Error:
            return []

    def _name(self, relation: str, node: Node, below: Sequence[str]) -> None:
        """Remember what the columns of a relation are called, of which some are those `below`."""
        known = {name.lower(): name for name in below}
        columns = (column.name for column in node.properties.columns)
        named = {name.lower(): known.get(name, name) if name.islower() else name for name in columns}
        self.names[flat_name(relation)] = named

    def _pattern(self, clause: MatchClause, below: Sql) -> Match:
        """Return the operator of a row pattern in a window."""
        extended = with_hidden_columns(clause, partial(self.expander.check_subquery, clause))
        if extended is not clause:
            tables = {table_name(table): table for table in catalog_tables(extended.input)}
            asked = {name: below.inputs.get(name) or self._node(table) for name, table in tables.items()}
            clause, below = extended, Sql(extended.input, asked)
        return self._match(clause, below)

    def _match(self, clause: MatchClause, below: Sql) -> Match:
        below = self._checked(clause, below, "MATCH_RECOGNIZE" if clause.frame is None else "OVER")
        rows = below.properties
        return Match(plan_match(clause, rows.columns, rows.streaming, rows.watermark), (below,))

    def _deduplicate(self, clause: DeduplicateClause, below: Sql) -> Deduplicate:
        below = self._checked(clause, below, "DEDUPLICATE")
        rows = below.properties
        return Deduplicate(plan_deduplicate(clause, rows.columns, rows.streaming, rows.watermark), (below,))

    def _checked(self, clause: Reader, below: Sql, spoken: str) -> Sql:
        """Return the input of an operator with what remembers rows in it as operators of their own.

        What is asked again, as when a join tries by which time a side can be read, is answered from memory.
        Raises NotSupportedError and ProgrammingError for an input that cannot be read in order.
        """
        if not isinstance(clause, RowsInOrder | RowsAsTheyCome):
            return self._checked_anew(clause, below, spoken)
        nodes = tuple((name, id(node)) for name, node in below.inputs.items())
        key = type(clause), clause.order_by, clause.span, spoken, below.query, nodes, below.view, id(below.windows)
        if key not in self._answers:
            # The question is kept with the answer, so that no other node gets the identity of one of its nodes.
            try:
                self._answers[key] = below, self._checked_anew(clause, below, spoken)
            except Error as error:
                self._answers[key] = below, error
        _, answer = self._answers[key]
        if isinstance(answer, Error):
            raise answer.with_traceback(None)
        return answer

    def _checked_anew(self, clause: Reader, below: Sql, spoken: str) -> Sql:
        below = join_tables_as_of(below, clause.span)
        if below.resolved.streaming:
            if spoken != "JOIN":
                # The whole query was looked at before its joins, whose right side may be read as versions.
                refuse_changelog(below, spoken, clause.span)
            below = hold_windows(below, clause, self._checked)
            below = hoist_over(below, self._checked, clause.span)
            below = hoist_window_groups(below, clause, self._checked)
            below = hoist_joins(below, clause, self._checked, clause.span)
            below = hoist_distinct(below)
            refuse_operator_input(clause, below, spoken)
        rows = below.properties
        if isinstance(clause, RowsAsTheyCome):
            return below
        if rows.ordered and rows.watermark is None:
            ordered = next(node for node in below.inputs.values() if node.properties.ordered)
            raise missing_time(ordered, spoken, clause.span)
        refuse_unmarked(clause, below)
        return below


def _rewritten(query: Query, rule: Callable[[exp.Query], exp.Query]) -> Query:
    """Return a query whose expressions are as a rule writes them, the same one if that changes none."""
    expression = rule(query.expression)
    operators = tuple(replace(clause, input=rule(clause.input)) for clause in query.operators)
    changed = expression is not query.expression or any(
        new.input is not old.input for new, old in zip(operators, query.operators, strict=True)
    )
    return replace(query, expression=expression, operators=operators) if changed else query


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
