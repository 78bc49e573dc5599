"""From a statement to the plan of its query: names become nodes, and rules rewrite the graph of them."""

import contextlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.deduplicate import plan_deduplicate
from cepsql.analysis.emission import plan_emission
from cepsql.analysis.match import MatchPlan, plan_match
from cepsql.analysis.plain_sql import sql_of
from cepsql.analysis.positions import span_of
from cepsql.analysis.properties import Properties
from cepsql.analysis.quoted_columns import quoted_column_notices
from cepsql.analysis.resolve import CTES, catalog_tables, flat_name, recursive_ctes, table_name, used_ctes, visible_ctes
from cepsql.analysis.subqueries import with_hidden_columns
from cepsql.analysis.written import Written, without_limit, written_input, written_query
from cepsql.catalog import ColumnDefinition, Registered, Relation, Source, View
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span, in_text
from cepsql.language.guard import deep_stack, no_collection
from cepsql.language.statements import Clause, DeduplicateClause, MatchClause, Query, WindowClause
from cepsql.language.translate import statements
from cepsql.plan.as_of_tables import join_tables_as_of
from cepsql.plan.assigned_windows import hold_windows, implied_partition, refuse_groups_beside, window_rows
from cepsql.plan.calendar_windows import with_calendar_windows
from cepsql.plan.changelogs import changelog_read, refuse_changelog
from cepsql.plan.distinct import hoist_distinct, hoist_inner_distinct, hoist_outer_distinct
from cepsql.plan.emission import groups_joined_streams, with_emission
from cepsql.plan.group_by_all import with_group_by_all
from cepsql.plan.grouping_sets import with_grouping_sets
from cepsql.plan.nodes import Deduplicate, Match, Node, Ordered, Read, Sql, inputs, missing_time, reads, unshared, walk
from cepsql.plan.output_names import with_output_names
from cepsql.plan.over import hoist_over
from cepsql.plan.pattern_windows import hoist_patterns
from cepsql.plan.ranked_rows import rank_that_changes, refuse_ranks_below
from cepsql.plan.reader import Reader, RowsAsTheyCome, RowsInOrder
from cepsql.plan.recursion import refuse_recursion, refuse_recursive_operators
from cepsql.plan.refuse import (
    refuse_aggregates,
    refuse_group_windows,
    refuse_on_streams,
    refuse_operator_input,
    refuse_order,
    refuse_unmarked,
    refuse_views,
)
from cepsql.plan.rules import rewrite
from cepsql.plan.spoken_names import Names, spoken_names
from cepsql.plan.stream_join import hoist_joins
from cepsql.plan.table_changes import over_table_changes
from cepsql.plan.where_names import refuse_made_in_where
from cepsql.plan.window_column import with_window_column
from cepsql.plan.window_groups import hoist_outer_groups, hoist_window_groups

Lookup = Callable[[exp.Table], Relation]
"""Finds the relation that a table name means, or raises ProgrammingError."""


@dataclass(frozen=True)
class Plan:
    """A query with all names known.

    logical: its graph as the statement has it.
    root:    the same as it is run.
    limit:   LIMIT of a query over a stream: whoever shows the rows stops after so many.
    names:   what the columns are called, as far as they are not what EMIT adds.
    """

    query: Query
    logical: Sql
    root: Node
    limit: int | None
    names: tuple[str, ...] = ()

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
        """Whether the rows say what each does to the result, in the column OPERATION of `cepsql.analysis.emission`."""
        return self.query.emit is not None and plan_emission(self.query.emit).changing

    @property
    def streaming(self) -> bool:
        """Whether the rows, or those of any relation below, are a stream."""
        return any(node.properties.streaming for node in walk(self.logical))

    @property
    def matches(self) -> tuple[MatchPlan, ...]:
        """The matches of the statement itself, not those of views, inner ones first."""
        return tuple(node.match for node in walk(self.logical, views=False) if isinstance(node, Match))

    @property
    def stages(self) -> tuple[Ordered, ...]:
        """All ordered operators of what is run, inner ones first."""
        return tuple(node for node in walk(self.root) if isinstance(node, Ordered))

    @property
    def origins(self) -> list[Source | Registered]:
        """The relations that are read, each once; in place of a view those below it."""
        return reads(self.logical)

    @property
    def views(self) -> frozenset[str]:
        """The names of the views that are read, lower case."""
        return frozenset(node.view.lower() for node in walk(self.logical) if isinstance(node, Sql) and node.view)

    @property
    def reads(self) -> frozenset[str]:
        """The names in the statement itself that are of the catalog, lower case."""
        below = [part for node in walk(self.logical, views=False) for part in inputs(node)]
        names = {part.relation.name.lower() for part in below if isinstance(part, Read)}
        return frozenset(names | {part.view.lower() for part in below if isinstance(part, Sql) and part.view})

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the query."""
        of_matches = (notice for match in self.matches for notice in match.notices)
        return (*self.quoted_columns, *of_matches)

    @property
    def quoted_columns(self) -> tuple[str, ...]:
        """A notice for each text in double quotes that has the name of a column."""
        below = (part for node in walk(self.logical, views=False) for part in inputs(node))
        columns = (column.name for part in below for column in part.properties.columns)
        return tuple(quoted_column_notices(self.query, columns))


def plan_query(query: Query, lookup: Lookup, defining: bool = False) -> Plan:
    """Plan a query; `lookup` finds what a table name means.

    defining: it is that of a view, which may be read where its rows change.
    Raises ProgrammingError and NotSupportedError, with position, hint and text.
    """
    with in_text(query.sql), deep_stack(query.span), no_collection():
        planner = _Planner(lookup)
        logical, limit = planner.query(query, defining=defining)
        logical = unshared(logical)
        refuse_views(logical, planner.texts)
        return Plan(query, logical, rewrite(logical), limit, tuple(planner.columns))


class _Planner:
    """Makes one node of each name of the catalog, whatever reads it.

    names:   what the columns of each relation are called, by its flat name.
    texts:   the SQL of each view, by its lower-case name.
    columns: what those of the query are called that was planned last.
    """

    def __init__(self, lookup: Lookup):
        self._lookup = lookup
        self._known: dict[str, Node] = {}
        self.names: dict[str, Names] = {}
        self.texts: dict[str, str] = {}
        self.columns: list[str] = []
        self._ctes: list[str] = []
        self._answers: dict[Hashable, tuple[Sql, Sql | Error]] = {}

    def query(self, query: Query, view: str | None = None, defining: bool = False) -> tuple[Sql, int | None]:
        """Return the node of a query and its LIMIT over a stream."""
        self._ctes = [cte.alias for cte in query.expression.find_all(exp.CTE)]
        refuse_recursive_operators(query)
        streaming = self._over_stream(query)
        if streaming:
            for part in (query.expression, *(clause.input for clause in query.operators)):
                refuse_aggregates(part, query.span)
                refuse_group_windows(part)
        query = _rewritten(query, partial(with_window_column, self._column_names))
        query = _rewritten(query, partial(with_output_names, self._column_names))
        if streaming:
            query = _rewritten(_rewritten(query, with_group_by_all), with_grouping_sets)
        matches: dict[str, Node] = {}
        for clause in query.operators:
            as_read = clause.input
            if isinstance(clause, MatchClause):
                clause = with_hidden_columns(clause, partial(self._check_subquery, clause))
            given = used_ctes(_with_ctes(clause, query))
            text = written_input(query, clause, given) if clause.input is as_read else None
            below = self._over(given, matches, text)
            spoken = self._spoken(below)
            below = hoist_patterns(below, query.windows, self._pattern, query.span)
            matches[clause.name] = self._clause(replace(clause, input=below.query), below, query)
            self._name(clause.name, matches[clause.name], spoken)
        given = used_ctes(query.expression)
        root, limit = replace(self._over(given, matches, written_query(query, given)), view=view), None
        self.columns = self._spoken(root)
        root = hoist_patterns(root, query.windows, self._pattern, query.span)
        refuse_groups_beside(root)
        refuse_recursion(query, any(node.properties.streaming for node in walk(root)))
        root = join_tables_as_of(root, query.span)
        ranked = (defining or view is not None) and rank_that_changes(root) is not None
        if defining and (ranked or changelog_read(root) or groups_joined_streams(root)):
            over_table_changes(root, query.span, self._checked)
            return root, None
        if ranked:
            return replace(root, view=view), None
        if root.resolved.streaming and changelog_read(root) is None:
            refuse_order(root, changing=query.emit is not None and query.emit.kind == "changes")
        if query.emit is not None:
            root = with_emission(root, query.emit, self._checked)
        if view is None:
            refuse_changelog(root, None, query.span)
            refuse_ranks_below(root, None, query.span)
        if view is None and query.emit is None:
            root = hoist_outer_distinct(root, query.span, self._checked)
        root = hoist_over(root, self._checked, query.span)
        if root.resolved.streaming and view is None:
            root = hoist_outer_groups(root, query.span, self._checked)
        if view is None and query.emit is None:
            root = hoist_inner_distinct(root, query.span, self._checked)
        if view is None:
            # What reads a view says which of the event times in its joins matters.
            root = hoist_joins(root, None, self._checked, query.span)
        if view is None or not root.resolved.streaming:
            root = with_calendar_windows(root)
        if root.properties.streaming:
            if view is None:
                refuse_on_streams(root)
            expression, limit = _take_limit(root.query)
            if limit is not None:
                root = replace(root, query=expression, text=without_limit(root.text, root.query, expression))
        return replace(root, view=view), limit

    def _over_stream(self, query: Query) -> bool:
        """Tell whether a query reads a stream."""
        names = {clause.name.lower() for clause in query.operators}
        names |= {cte.alias.lower() for clause in query.operators for cte in _ctes_at(clause.name, query)}
        tables = [t for text in (query.expression, *(c.input for c in query.operators)) for t in catalog_tables(text)]
        read = [table for table in tables if table_name(table) not in names]
        return any(self._node(table).properties.streaming for table in read)

    def _column_names(self, table: exp.Table) -> list[str]:
        try:
            return [column.name for column in self._node(table).properties.columns]
        except Error:
            # It is a clause of the statement, or what is wrong is told later.
            return []

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
        return Sql(query, nodes, text=text)

    def _node(self, table: exp.Table) -> Node:
        name = table_name(table)
        if name not in self._known:
            table.meta[CTES] = self._ctes
            relation = self._lookup(table)
            if isinstance(relation, View):
                (query,) = statements(relation.sql)
                assert isinstance(query, Query)
                ctes = self._ctes
                with in_text(relation.sql, relation.name):
                    self._known[name] = self.query(query, relation.name)[0]
                self.texts[relation.name.lower()] = relation.sql
                self._ctes = ctes
                self._name(name, self._known[name], self.columns)
            else:
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

    def _check_subquery(self, clause: MatchClause, query: exp.Query, place: Span | None) -> None:
        """Refuse a subquery in a clause that reads rows of the match, a stream, or another match."""
        if query.find(exp.MatchRecognize) is not None:
            raise NotSupportedError("MATCH_RECOGNIZE in a subquery of MATCH_RECOGNIZE is not supported", place)
        for table in catalog_tables(query):
            # What is no table of the catalog is a CTE, or an error that resolving the input finds.
            with contextlib.suppress(Error):
                self._node(table)
            known = self._known.get(table_name(table))
            if known is not None and known.properties.streaming:
                raise NotSupportedError(
                    f"the stream {table.name} in a subquery of MATCH_RECOGNIZE is not supported", span_of(table, place)
                )
        variables = {name.lower() for name in clause.pattern_names}
        variables |= {union.text.lower() for union, _ in clause.subsets}
        outer = next((c for c in query.find_all(exp.Column) if c.parts[0].name.lower() in variables and c.table), None)
        if outer is not None:
            raise NotSupportedError(
                f"a subquery that reads {sql_of(outer)} of the match is not supported",
                place,
                "join the table before MATCH_RECOGNIZE, or after it",
            )

    def _pattern(self, clause: MatchClause, below: Sql) -> Match:
        """Return the operator of a row pattern in a window."""
        extended = with_hidden_columns(clause, partial(self._check_subquery, clause))
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
                refuse_ranks_below(below, spoken, clause.span)
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


def _with_ctes(clause: Clause, query: Query) -> exp.Query:
    """Return the clause's input with the CTEs that are visible where the clause stands."""
    copy = clause.input.copy()
    for cte in _ctes_at(clause.name, query):
        recursive = cte.parent is not None and bool(recursive_ctes(cte.parent))
        copy = copy.with_(cte.args["alias"].copy(), as_=cte.this.copy(), recursive=recursive, copy=False)
    return copy


def _ctes_at(name: str, query: Query) -> list[exp.CTE]:
    """Return the CTEs that are visible at a placeholder, outer ones first: it may stand in the input of another one."""
    holders = [(None, query.expression), *((other.name, other.input) for other in query.operators)]
    for holder, text in holders:
        place = next((table for table in text.find_all(exp.Table) if table.name == name), None)
        if place is not None:
            return [*(_ctes_at(holder, query) if holder else []), *visible_ctes(place)]
    return []


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
