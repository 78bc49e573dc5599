"""A query as one tree: subqueries take the place of CTEs and views, so that one text means one thing in every form."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from sqlglot import exp

from cepsql.analysis.row_pattern.subqueries import with_hidden_columns
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import CTES, recursive_ctes, table_name, used_ctes, visible_ctes
from cepsql.analysis.sql.written import Written, with_relations, written_input, written_query
from cepsql.catalog import Relation, View
from cepsql.errors import Error, NotSupportedError, Span, answer, with_view_text
from cepsql.language.notes import copied
from cepsql.language.statements import Clause, MatchClause, MeasureClause, ParsedQuery, WindowPattern
from cepsql.language.translate import emitted_below, one_query
from cepsql.plan.names.recursion import refuse_recursion, refuse_recursive_operators

Lookup = Callable[[exp.Table], Relation]
"""Finds the relation that a table name means, or raises ProgrammingError."""

_Tree = TypeVar("_Tree", bound=exp.Expr)

_FURTHER = ("joins", "pivots", "laterals", "sample")
"""What may follow the name of a table, and stays behind a subquery in its place."""


@dataclass(frozen=True)
class Expanded:
    """A query without CTEs, and without views that read a stream or have an operator.

    A query that reads no stream and has no operator, itself or in a view, stays as it is.

    query:     the query; its places are those of `Expander.text`.
    root:      the text of the query around its operators, None where no text says it.
    inputs:    the text of what each operator reads, by the operator's name.
    streaming: whether it reads a stream.
    """

    query: ParsedQuery
    root: Written | None
    inputs: Mapping[str, Written | None]
    streaming: bool


class Expander:
    """Looks up what a query reads, and expands it.

    text:  the text of the query, and of the views that were read so far.
    reads: the relations that the query itself names, lower case.
    views: the views that it reads, itself or through other views, lower case; `view_columns` are their columns.
    """

    def __init__(self, lookup: Lookup, text: str):
        self.text = text
        self.reads: set[str] = set()
        self.views: set[str] = set()
        self.view_columns: set[str] = set()
        self.windows: list[WindowPattern] = []
        self._lookup = lookup
        self._relations: dict[str, Relation] = {}
        self._parsed: dict[str, ParsedQuery] = {}
        self._named: dict[str, list[exp.Table]] = {}

    def expand(self, query: ParsedQuery) -> Expanded:
        """Return a query as one tree.

        Raises ProgrammingError for unknown relations, and NotSupportedError for WITH RECURSIVE over a stream, and for
        operators within one.
        """
        refuse_recursive_operators(query)
        named = _relations_named(query)
        self.reads |= {self.relation(table).name.lower() for table in named}
        self.windows += query.windows
        streaming = any(map(self.is_stream, named))
        if not streaming and not self._has_operator(query):
            return _at_rest(query)
        refuse_recursion(query, streaming)
        whole = _Trees(self)
        tree, text = whole.of_query(self.without_subqueries(query))
        windows = tuple(whole.of_window(window, query) for window in self.windows)
        expanded = replace(query, expression=tree, operators=tuple(whole.operators), windows=windows, sql=self.text)
        return Expanded(expanded, text, whole.inputs, any(map(self.is_stream, _relations_named(expanded))))

    def expand_view(self, view: View) -> Expanded:
        """Return the query of a view that stays a relation of its own, for it is at rest and has no operator."""
        return _at_rest(self.parsed(view))

    def relation(self, table: exp.Table) -> Relation:
        """Return the relation that a name means; raises ProgrammingError if there is none."""
        name = table_name(table)
        if name not in self._relations:
            self._relations[name] = self._lookup(table)
        return self._relations[name]

    def is_stream(self, table: exp.Table) -> bool:
        """Tell whether the rows of a relation, or those that a view reads, are a stream."""
        relation = self.relation(table)
        if isinstance(relation, View):
            return any(map(self.is_stream, self._named_in(relation)))
        return relation.streaming

    def is_expanded(self, relation: Relation) -> bool:
        """Tell whether a relation is a view whose query takes its place."""
        if not isinstance(relation, View):
            return False
        return self._has_operator(self.parsed(relation)) or any(map(self.is_stream, self._named_in(relation)))

    def parsed(self, view: View) -> ParsedQuery:
        """Return the query of a view, with its places in `text`."""
        name = view.name.lower()
        if name not in self._parsed:
            self.views.add(name)
            self.view_columns |= {column.name for column in view.columns}
            self.text = with_view_text(self.text, view.name, view.sql)
            # The blanks move every place in the view's text to where that text stands.
            query = emitted_below(one_query(" " * (len(self.text) - len(view.sql)) + view.sql))
            refuse_recursive_operators(query)
            self._parsed[name] = query = _with_window_names(query, len(self.windows))
            self.windows += query.windows
        return self._parsed[name]

    def without_subqueries(self, query: ParsedQuery) -> ParsedQuery:
        """Return a query whose patterns have no subqueries: their values are columns of what the pattern reads."""
        clauses = tuple(
            with_hidden_columns(clause, partial(self.check_subquery, clause))
            if isinstance(clause, MatchClause)
            else clause
            for clause in query.operators
        )
        same = {new.name for old, new in zip(query.operators, clauses, strict=True) if old is new}
        # The text of a changed input no longer says what it is.
        texts = {name: place for name, place in query.inputs.items() if name in same}
        return replace(query, operators=clauses, inputs=texts)

    def check_subquery(self, clause: MatchClause, query: exp.Query, place: Span | None) -> None:
        """Refuse a subquery in a clause that reads rows of the match, a stream, or another match."""
        if query.find(exp.MatchRecognize) is not None:
            raise NotSupportedError("MATCH_RECOGNIZE in a subquery of MATCH_RECOGNIZE is not supported", place)
        for table in filter(_is_name, query.find_all(exp.Table)):
            # What is no table of the catalog is a CTE, or an error that expanding the input finds.
            named = answer(partial(self.relation, table))
            if not isinstance(named, Error) and self.is_stream(table):
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

    def _has_operator(self, query: ParsedQuery) -> bool:
        if query.operators or query.windows:
            return True
        read = map(self.relation, _relations_named(query))
        return any(self._has_operator(self.parsed(one)) for one in read if isinstance(one, View))

    def _named_in(self, view: View) -> list[exp.Table]:
        """Return the names in the query of a view that mean relations of the catalog."""
        name = view.name.lower()
        if name not in self._named:
            self._named[name] = _relations_named(self.parsed(view))
        return self._named[name]


@dataclass(frozen=True)
class _Scope:
    """What names in a tree may mean: operators of a query, and CTEs around the tree, each with its own scope."""

    query: ParsedQuery
    ctes: Mapping[str, tuple[exp.CTE, "_Scope"]] = field(default_factory=dict)


@dataclass
class _RelationsOfText:
    """What a text says of the relations in a tree.

    names:  new names of operators.
    bodies: the texts of views.
    has_text: whether the text, with these in it, says what the tree says.
    """

    names: dict[str, str] = field(default_factory=dict)
    bodies: dict[str, Written] = field(default_factory=dict)
    has_text: bool = True

    def name(self, old: str, new: str) -> None:
        """Note the new name of an operator, of which a text can say one only."""
        self.has_text = self.has_text and self.names.setdefault(old, new) == new

    def put(self, view: str, body: Written | None) -> None:
        """Note the text of a view, of which a text can have one only."""
        if body is None or self.bodies.setdefault(view, body).pieces != body.pieces:
            self.has_text = False


class _Trees:
    """Puts the trees of a query together; `operators` are the new ones, inner ones first, `inputs` their texts."""

    def __init__(self, expander: Expander):
        self._expander = expander
        self.operators: list[Clause] = []
        self.inputs: dict[str, Written | None] = {}

    def of_query(self, query: ParsedQuery) -> tuple[exp.Query, Written | None]:
        """Return the tree of a whole query, and its text."""
        part, used = _RelationsOfText(), used_ctes(query.expression)
        tree = self._expanded(query.expression, _Scope(query), part)
        return tree, with_relations(
            written_query(query, used), tree, part.names, part.bodies
        ) if part.has_text else None

    def of_window(self, window: WindowPattern, query: ParsedQuery) -> WindowPattern:
        """Return a window whose row pattern names no CTEs of a query."""
        clause, scope = window.clause, self._around(query.expression, _Scope(query))
        defines = tuple(
            (name, self._expanded(condition, scope, _RelationsOfText())) for name, condition in clause.defines
        )
        measures = tuple(
            MeasureClause(self._expanded(m.expression, scope, _RelationsOfText()), m.name) for m in clause.measures
        )
        return replace(window, clause=replace(clause, defines=defines, measures=measures))

    def _expanded(self, tree: _Tree, scope: _Scope, part: _RelationsOfText) -> _Tree:
        """Return a copy of a tree with subqueries in place of CTEs and views, and with the new operators."""
        copy = copied(tree)
        clauses = {clause.name: clause for clause in scope.query.operators}
        pairs = zip(tree.find_all(exp.Table), copy.find_all(exp.Table), strict=True)
        own = [pair for pair in pairs if _is_name(pair[0]) and not _in_with(pair[0], tree)]
        # Operators are numbered in the order of the text.
        for table, place in sorted(own, key=lambda pair: pair[0].this.meta_get("start", 0)):
            cte = _cte_named(table, scope)
            if cte is not None and _is_recursive(cte[0]):
                continue
            if cte is not None:
                definition, around = cte
                part.has_text = part.has_text and around is scope
                put_in_place(place, self._expanded(definition.this, around, part), definition.args["alias"].columns)
            elif table.name in clauses:
                name = self._operator(clauses[table.name], table, scope)
                part.name(table.name, name)
                place.this.set("this", name)
            elif self._expander.is_expanded(relation := self._expander.relation(table)):
                assert isinstance(relation, View)
                body, text = self.of_query(self._expander.without_subqueries(self._expander.parsed(relation)))
                part.put(table_name(table), text)
                put_in_place(place, body, [])
        for clause in [clause for clause in copy.find_all(exp.With) if not recursive_ctes(clause)]:
            clause.pop()
        return copy

    def _operator(self, clause: Clause, place: exp.Table, scope: _Scope) -> str:
        """Enter an operator that stands at a place, over an expanded input; return its name."""
        part, written = _RelationsOfText(), written_input(scope.query, clause, clause.input)
        tree = self._expanded(clause.input, self._around(place, scope), part)
        for cte in filter(_is_recursive, visible_ctes(place)):
            part.has_text = False
            body = self._expanded(cte.this, scope, _RelationsOfText())
            tree.with_(cte.args["alias"].copy(), as_=body, recursive=True, copy=False)
        tree = used_ctes(tree)
        name = f"{clause.name.rstrip('0123456789')}{len(self.operators)}"
        self.operators.append(replace(clause, name=name, input=tree))
        self.inputs[name] = with_relations(written, tree, part.names, part.bodies) if part.has_text else None
        return name

    def _around(self, place: exp.Expr, scope: _Scope) -> _Scope:
        """Return the scope of a tree of its own that stands at a place."""
        visible = visible_ctes(place)
        return replace(scope, ctes={**scope.ctes, **{cte.alias.lower(): (cte, scope) for cte in visible}})


def _at_rest(query: ParsedQuery) -> Expanded:
    tree = copied(used_ctes(query.expression))
    return Expanded(replace(query, expression=tree), written_query(query, tree), {}, False)


def _cte_named(table: exp.Table, scope: _Scope) -> tuple[exp.CTE, _Scope] | None:
    """Return the CTE that a name means, and the scope that it stands in."""
    if len(table.parts) > 1:
        return None
    own = [cte for cte in visible_ctes(table) if cte.alias.lower() == table.name.lower()]
    return (own[-1], scope) if own else scope.ctes.get(table.name.lower())


def _is_recursive(cte: exp.CTE) -> bool:
    """Tell whether a CTE stays one: it, or one beside it, reads itself."""
    return cte.parent is not None and bool(recursive_ctes(cte.parent))


def put_in_place(table: exp.Table, body: exp.Query, columns: list[exp.Identifier]) -> None:
    """Put a subquery in place of the name of a relation, in the tree itself.

    columns: the names that a CTE gives to its columns, if it does.
    """
    alias = table.args.get("alias") or exp.TableAlias()
    if alias.this is None:
        alias.set("this", table.this.copy())
    if columns and not alias.columns:
        alias.set("columns", [column.copy() for column in columns])
    further = {name: table.args[name] for name in _FURTHER if table.args.get(name)}
    table.replace(exp.Subquery(this=body, alias=alias, **further))


def _relations_named(query: ParsedQuery) -> list[exp.Table]:
    """Return the names in a query that mean relations of the catalog."""
    operators = {clause.name for clause in query.operators}
    tables = []
    for holder, text in _texts(query):
        around = {cte.alias.lower() for cte in _ctes_around(holder, query)}
        for table in filter(_is_name, text.find_all(exp.Table)):
            ctes = around | {cte.alias.lower() for cte in visible_ctes(table)}
            if table.name not in operators and (len(table.parts) > 1 or table.name.lower() not in ctes):
                table.meta[CTES] = [cte.alias for cte in query.expression.find_all(exp.CTE)]
                tables.append(table)
    return tables


def _ctes_around(operator: str | None, query: ParsedQuery) -> list[exp.CTE]:
    """Return the CTEs that are visible where an operator stands, which may be in the input of another one."""
    if operator is None:
        return []
    for holder, text in _texts(query):
        place = next((table for table in text.find_all(exp.Table) if table.name == operator), None)
        if place is not None:
            return [*_ctes_around(holder, query), *visible_ctes(place)]
    return []


def _texts(query: ParsedQuery) -> Iterator[tuple[str | None, exp.Query]]:
    """Yield the query around the operators, and what each of these reads, by its name."""
    yield None, query.expression
    for clause in query.operators:
        yield clause.name, clause.input


def _with_window_names(query: ParsedQuery, first: int) -> ParsedQuery:
    """Return a query whose windows with a row pattern are numbered from `first`, in place."""
    names = {window.name: f"__pattern_{number}" for number, window in enumerate(query.windows, first)}
    for _, text in _texts(query):
        for identifier in text.find_all(exp.Identifier):
            if identifier.name in names:
                identifier.set("this", names[identifier.name])
    windows = [
        replace(window, name=names[window.name], clause=replace(window.clause, name=names[window.name]))
        for window in query.windows
    ]
    return replace(query, windows=tuple(windows))


def _is_name(table: exp.Table) -> bool:
    """Tell whether a table is a name, neither a function nor part of a hint."""
    return isinstance(table.this, exp.Identifier) and table.find_ancestor(exp.Hint) is None


def _in_with(table: exp.Table, tree: exp.Expr) -> bool:
    """Tell whether a table stands in a definition of a CTE within a tree, which gets another place."""
    node: exp.Expr | None = table
    while node is not None and node is not tree:
        if isinstance(node, exp.With) and not recursive_ctes(node):
            return True
        node = node.parent
    return False
