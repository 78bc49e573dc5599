"""What the names in a query mean: nodes, and what the columns of each are called."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from cepsql.analysis.clauses.deduplication import plan_deduplicate
from cepsql.analysis.row_pattern.match_clause import plan_match
from cepsql.analysis.row_pattern.subqueries import with_hidden_columns
from cepsql.analysis.sql.resolve import catalog_tables, flat_name, table_name
from cepsql.analysis.sql.written import Written
from cepsql.catalog import MaterializedView, View
from cepsql.language.statements import Clause, DeduplicateClause, EmittedClause, MatchClause, ParsedQuery, WindowClause
from cepsql.plan.changes.emitted_rows import emitted_rows, with_emitted_rows
from cepsql.plan.groups.assigned_windows import implied_partition, window_rows
from cepsql.plan.groups.filled_windows import hoist_fill
from cepsql.plan.inputs import Inputs
from cepsql.plan.joins.as_of_tables import join_tables_as_of
from cepsql.plan.names.expand import Expanded, Expander
from cepsql.plan.names.spoken_names import Names, spoken_names
from cepsql.plan.names.where_names import refuse_made_in_where
from cepsql.plan.operators.deduplicate import Deduplicate
from cepsql.plan.operators.match import Match
from cepsql.plan.passes import Asked, Draft
from cepsql.plan.rows.pattern_windows import hoist_patterns
from cepsql.plan.rows.window_functions import hoist_over
from cepsql.plan.tree.nodes import Node, Read, Sql
from cepsql.plan.watermark_calls import hoist_current_watermarks


class Binder:
    """Makes one node of each name of the catalog, whatever reads it.

    view:    gives the node of a view at rest.
    inputs:  gives the inputs of the operators for clauses.
    names:   what the columns of each relation are called, by its flat name.
    columns: what those of the query are called that was bound last.
    """

    def __init__(self, expander: Expander, view: Callable[[View], Sql]):
        self.inputs = Inputs(self)
        self.names: dict[str, Names] = {}
        self.columns: list[str] = []
        self._expander = expander
        self._view = view
        self._known: dict[str, Node] = {}
        self._clauses: set[str] = set()

    def expand(self, query: ParsedQuery) -> Expanded:
        """Return a query as one tree."""
        expanded = self._expander.expand(query)
        self._clauses = {clause.name for clause in expanded.query.operators}
        return expanded

    def columns_of(self, table: exp.Table) -> list[str]:
        """Return the columns of a relation; none for a clause of the statement."""
        if table_name(table) in self._clauses:
            return []
        return [column.name for column in self._node(table).properties.columns]

    def time_of(self, table: exp.Table) -> str | None:
        """Return the event time of a stream, None for other relations."""
        if table_name(table) in self._clauses:
            return None
        rows = self._node(table).properties
        return rows.watermark.column if rows.streaming and rows.watermark is not None else None

    def is_stream(self, table: exp.Table) -> bool:
        """Tell whether the rows of a relation are a stream."""
        return table_name(table) in self._clauses or self._node(table).properties.streaming

    def bind(self, draft: Draft, asked: Asked) -> Sql:
        """Return the query over nodes: relations of the catalog, and operators for its clauses."""
        query, expanded = draft.query, draft.expanded
        assert expanded is not None
        matches: dict[str, Node] = {}
        for clause in query.operators:
            below = self._over(clause.input, matches, expanded.inputs[clause.name])
            column_names = self._column_names(below)
            below = hoist_patterns(below, query.windows, self.pattern, query.span)
            below = hoist_fill(below, self.inputs, query.span)
            matches[clause.name] = self._clause(replace(clause, input=below.query), below, query)
            self._name(clause.name, matches[clause.name], column_names)
        root = replace(self._over(query.expression, matches, expanded.root), view=draft.view)
        self.columns = self._column_names(root)
        return root

    def pattern(self, clause: MatchClause, below: Sql) -> Match:
        """Return the operator of a row pattern in a window."""
        extended = with_hidden_columns(clause, partial(self._expander.check_subquery, clause))
        if extended is not clause:
            tables = {table_name(table): table for table in catalog_tables(extended.input)}
            asked = {name: below.inputs.get(name) or self._node(table) for name, table in tables.items()}
            clause, below = extended, Sql(extended.input, asked)
        return self._match(clause, below)

    def _clause(self, clause: Clause, below: Sql, query: ParsedQuery) -> Node:
        match clause:
            case MatchClause():
                return self._match(clause, below)
            case DeduplicateClause():
                below = self.inputs(clause, below, "DEDUPLICATE")
                rows = below.properties
                first = plan_deduplicate(clause, rows.columns, rows.streaming, rows.watermark, rows.others)
                return Deduplicate(first, (below,))
            case WindowClause():
                below = hoist_current_watermarks(join_tables_as_of(below, clause.span), self.inputs, clause.span)
                below = hoist_over(below, self.inputs, clause.span)
                return window_rows(implied_partition(clause, query), below, self.inputs)
            case EmittedClause():
                return emitted_rows(below, clause.emit, self.inputs)

    def _match(self, clause: MatchClause, below: Sql) -> Match:
        below = self.inputs(clause, below, "MATCH_RECOGNIZE" if clause.frame is None else "OVER")
        rows = below.properties
        return Match(plan_match(clause, rows.columns, rows.streaming, rows.watermark, rows.others), (below,))

    def _over(self, query: exp.Query, matches: dict[str, Node], text: Written | None) -> Sql:
        names = {table_name(table): table for table in catalog_tables(query)}
        nodes = {name: matches.get(name) or self._node(table) for name, table in names.items()}
        refuse_made_in_where(query, nodes)
        query, read = with_emitted_rows(query, nodes)
        # Rules that write a query otherwise leave what its text says.
        return Sql(query, read, text=None if text is None else replace(text, tree=query))

    def _node(self, table: exp.Table) -> Node:
        name = table_name(table)
        if name not in self._known:
            relation = self._expander.relation(table)
            if isinstance(relation, View):
                self._known[name] = self._view(relation)
                self._name(name, self._known[name], self.columns)
            else:
                assert not isinstance(relation, MaterializedView), "whoever looks names up gives its table"
                self._known[name] = Read(relation)
                self._name(name, self._known[name], [])
        return self._known[name]

    def _column_names(self, below: Sql) -> list[str]:
        """Return what the columns of plain SQL are called."""
        return spoken_names(below.resolved, self.names)

    def _name(self, relation: str, node: Node, below: Sequence[str]) -> None:
        """Remember what the columns of a relation are called, of which some are those `below`."""
        spelled = {name.lower(): name for name in below}
        columns = (column.name for column in node.properties.columns)
        named = {name.lower(): spelled.get(name, name) if name.islower() else name for name in columns}
        self.names[flat_name(relation)] = named
