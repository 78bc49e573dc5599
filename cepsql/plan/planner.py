"""From a statement to the plan of its query: names become nodes, and rules rewrite the graph of them."""

from dataclasses import dataclass, field, replace

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import OPERATION, plan_emission
from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.sql.properties import Properties
from cepsql.analysis.sql.quoted_columns import quoted_column_notices
from cepsql.analysis.sql.resolve import remembered_names
from cepsql.catalog import ColumnDefinition, Registered, Source, View
from cepsql.errors import Error, Span, answer, in_text
from cepsql.language.guard import deep_stack, no_collection
from cepsql.language.statements import ParsedQuery
from cepsql.plan.bind import Binder
from cepsql.plan.changes.emission import groups_joined_streams
from cepsql.plan.changes.ranked_selects import call_that_changes
from cepsql.plan.changes.table_changes import over_table_changes
from cepsql.plan.names.expand import Expander, Lookup
from cepsql.plan.passes import BIND, CHECK, EXPAND, LIFT, Asked, Draft, record_step, run_passes, tree_lines
from cepsql.plan.rules import RULES
from cepsql.plan.tree.changelogs import changelog_read, emitted_read
from cepsql.plan.tree.nodes import Node, Ordered, Sql, inputs, matches_of, reads, unshared, walk
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
    parts:   the plans of the views of a group, whose query it is; see `cepsql.plan.group`.
    """

    query: ParsedQuery
    logical: Sql
    root: Node
    limit: int | None
    text: str = field(default="", compare=False)
    reads: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()
    view_columns: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    parts: tuple["Plan", ...] = ()

    def __str__(self) -> str:
        """Write the columns, and the operators and relations that the rows come through."""
        columns = ", ".join(f"{column.name} {column.type.lower()}" for column in self.columns)
        return "\n".join([f"{'stream' if self.streaming else 'bounded'}: {columns}", *tree_lines(self.logical, 1)])

    @property
    def properties(self) -> Properties:
        """What is known of the rows that the query gives."""
        return self.logical.properties

    @property
    def columns(self) -> tuple[ColumnDefinition, ...]:
        """The columns that the query gives, by the names that they are called."""
        columns = self.properties.columns
        written = {name.lower(): name for name in self.names}
        return tuple(replace(column, name=written.get(column.name, column.name)) for column in columns)

    @property
    def changes(self) -> bool:
        """Whether the rows say what each does to the result, in the column OPERATION of
        `cepsql.analysis.clauses.emit_clause`.
        """
        return self.query.emit is not None and plan_emission(self.query.emit).changing

    @property
    def streaming(self) -> bool:
        """Whether the rows, or those of any relation below, are a stream."""
        return any(node.properties.streaming for node in walk(self.logical))

    @property
    def matches(self) -> tuple[MatchPlan, ...]:
        """The matches of the query and of the views that it reads, inner ones first."""
        return tuple(matches_of(self.logical))

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


@no_collection()
@remembered_names()
def plan_query(query: ParsedQuery, lookup: Lookup, defining: bool = False) -> Plan:
    """Plan a query; `lookup` finds what a table name means.

    defining: it is that of a view, which may be read where its rows change.
    Raises ProgrammingError and NotSupportedError, with position, hint and text.
    """
    planner = _Planner(lookup, query.sql)
    with in_text(lambda: planner.expander.text), deep_stack(query.span):
        logical, limit = planner.definition(query) if defining else planner.query(query)
        logical = unshared(logical)
        read = planner.expander
        return Plan(
            query,
            logical,
            _rewritten(logical),
            limit,
            read.text,
            frozenset(read.reads),
            frozenset(read.views),
            frozenset(read.view_columns),
            tuple(planner.binder.columns),
        )


class _Planner:
    """Plans a query, and the views that it reads, by the passes."""

    def __init__(self, lookup: Lookup, text: str):
        self.expander = Expander(lookup, text)
        self.binder = Binder(self.expander, self._view)
        self._inputs = self.binder.inputs

    def query(self, query: ParsedQuery) -> tuple[Sql, int | None]:
        """Return the node of a query and its LIMIT over a stream."""
        return self._finished(self._bound(Draft(query)))

    def definition(self, query: ParsedQuery) -> tuple[Sql, int | None]:
        """Return what `query` does of the query of a view, which may be read where its rows change."""
        draft = self._bound(Draft(query))
        root, place = draft.graph, draft.query.span
        changes = root.resolved.streaming and (
            changelog_read(root)
            or emitted_read(root)
            or groups_joined_streams(root)
            or call_that_changes(root, self._inputs, place)
        )
        if changes:
            return self._changing(root, place), None
        # A view has no reader yet: its rows are followed if they can be, and come as changes if only these can be had.
        rows = answer(lambda: self._finished(draft))
        if not isinstance(rows, Error):
            return rows
        changing = answer(lambda: self._changing(root, place)) if root.resolved.streaming else rows
        if isinstance(changing, Error):
            raise rows
        return changing, None

    def _view(self, view: View) -> Sql:
        """Return the node of a view at rest."""
        expanded = self.expander.expand_view(view)
        return self._finished(self._bound(Draft(expanded.query, expanded, view.name)))[0]

    def _bound(self, draft: Draft) -> Draft:
        """Return a draft over nodes, as its text has it."""
        return run_passes((*EXPAND, *BIND), draft, self._asked(draft))

    def _finished(self, draft: Draft) -> tuple[Sql, int | None]:
        """Return a whole query with all that remembers rows as operators, and its LIMIT over a stream."""
        done = run_passes((*LIFT, *CHECK), draft, self._asked(draft))
        return done.graph, done.limit

    def _asked(self, draft: Draft) -> Asked:
        return Asked(None, "", self._inputs, self.binder)

    def _changing(self, root: Sql, place: Span) -> Sql:
        """Return a query whose rows change, without what each change does: that is for its reader to ask."""
        changes = over_table_changes(root, place, self._inputs)
        every = exp.Star(except_=[exp.to_identifier(OPERATION)])
        return replace(changes, query=exp.select(every).from_(changes.query.subquery("__all")))


def _rewritten(logical: Node) -> Node:
    """Return a plan as it is run."""
    root = logical
    for rule in RULES:
        before, root = root, rule(root)
        record_step(None, rule.__name__.replace("_", " "), (rule.__doc__ or "").split("\n")[0], before, root)
    return root
