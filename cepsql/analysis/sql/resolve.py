"""Tables and columns of a plain query, resolved against the catalog with sqlglot's qualifier."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from cepsql.analysis.sql.inner_stars import mark_merged_stars, spread_inner_stars
from cepsql.analysis.sql.made_columns import name_made_columns
from cepsql.analysis.sql.plain_sql import annotate, qualified, schema_of, spoken_type
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.projections import SPOKEN, Projected, projected
from cepsql.analysis.sql.properties import Properties
from cepsql.analysis.sql.unions import check_branches
from cepsql.analysis.sql.window_calls import WINDOW_CALLS, is_window_call
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import NotSupportedError, ProgrammingError, suggestion
from cepsql.language.foreign.foreign_columns import NO_COLUMNS
from cepsql.language.notes import Notes, copied
from cepsql.language.tree_nodes import TreeNodes
from cepsql.operators.windowing.windows import END, START

Lookup = Callable[[exp.Table], Properties]
"""Returns the properties of a table's rows, or raises ProgrammingError."""

# sqlglot can't resolve all names inside these; Spark checks them.
_OPAQUE = (exp.Lateral, exp.Pivot, exp.Lambda, exp.Unnest, exp.Values)


_UNKNOWN_COLUMNS = "due to missing source schemas"
"""In sqlglot's error for a name that may be a column of a relation with unknown columns."""

CTES = "ctes"
"""The key of a table's metadata with the names of the CTEs of its statement."""


class _Names(Protocol):
    """The resolved names of a query, independent of the event times of its relations.

    columns:    name and Spark type ("unknown" if sqlglot can't infer it).
    projection: the columns of a query that only selects columns of one relation, None for other queries.
    qualified:  the query with the table of every column and without stars, as far as the columns are known.
    """

    @property
    def columns(self) -> tuple[ColumnDefinition, ...]: ...

    @property
    def projection(self) -> Sequence[Projected] | None: ...

    @property
    def qualified(self) -> exp.Query: ...

    def time(self, relations: Mapping[str, Properties], unions: bool = True) -> Watermark | None:
        """Return the output column that is the event time of the streams, by `event_time`."""


@dataclass(frozen=True)
class Resolved:
    """What the analysis of a query tells without running it.

    relations: by lower-case name as written.
    watermark: the output column that is the event time of the streams below, and its delay, or None.
    merged:    whether it is the event time of several streams, by UNION ALL.
    others:    the output columns that are further event times of the streams below.
    """

    relations: dict[str, Properties]
    watermark: Watermark | None
    merged: bool
    others: tuple[Watermark, ...]
    _names: _Names = field(repr=False)

    @property
    def columns(self) -> tuple[ColumnDefinition, ...]:
        """Names and Spark types of the query's columns; the type is "unknown" if sqlglot can't infer it."""
        return self._names.columns

    @property
    def projection(self) -> Sequence[Projected] | None:
        """The columns of a query that only selects columns of one relation and filters its rows, else None."""
        return self._names.projection

    @property
    def qualified(self) -> exp.Query:
        """The query with the table of every column and without stars, as far as the columns are known."""
        return self._names.qualified

    @property
    def streaming(self) -> bool:
        """Whether any relation is a stream."""
        return any(relation.streaming for relation in self.relations.values())


def _with_typed_windows(query: exp.Query, nodes: TreeNodes, schema: MappingSchema) -> exp.Query:
    """Return an annotated query with types for the bounds of windows in GROUP BY, which sqlglot does not infer."""
    if not any(map(_is_window_bound, nodes.of(exp.Column, exp.Dot))):
        return query
    typed = copied(query)
    for bound in [node for node in typed.find_all(exp.Column, exp.Dot) if _is_window_bound(node)]:
        local = isinstance(bound, exp.Dot) and bound.this.expressions[0].is_type(exp.DType.TIMESTAMPNTZ)
        bound.replace(exp.cast(exp.null(), "timestamp_ntz" if local else "timestamp", dialect="spark"))
    annotate(typed, schema)
    return typed


def _is_window_bound(node: exp.Expr) -> bool:
    """Tell whether an expression is the start or the end of a window: `window.end`, or a field of the call itself."""
    if node.name.lower() not in ("start", "end"):
        return False
    if isinstance(node, exp.Column):
        return node.table.lower() in WINDOW_CALLS
    return is_window_call(node.this) and bool(node.this.expressions)


def table_name(table: exp.Table) -> str:
    """Return the name of a table as written, with dots, lower case."""
    return ".".join(part.name for part in table.parts).lower()


def catalog_tables(query: exp.Expr) -> list[exp.Table]:
    """Return the tables of a query that are neither CTEs nor functions; hints name no tables of their own."""
    parts = list(query.find_all(exp.Table, exp.With, exp.Hint))
    tables = [part for part in parts if isinstance(part, exp.Table)]
    plain = [table for table in tables if isinstance(table.this, exp.Identifier)]
    if not plain or (len(tables) == len(parts) and not _is_below_ctes(query)):
        return plain
    return [table for table in plain if table.find_ancestor(exp.Hint) is None and not _is_cte(table)]


def _is_below_ctes(node: exp.Expr) -> bool:
    """Tell whether a part of a query is in a hint, or reads CTEs of a query around it."""
    above = node.parent
    while above is not None:
        if isinstance(above, exp.Hint) or above.args.get("with_") is not None:
            return True
        above = above.parent
    return False


def visible_ctes(node: exp.Expr) -> list[exp.CTE]:
    """Return the CTEs that a table at `node` may name, outer ones first."""
    visible: list[exp.CTE] = []
    below = node
    parent = node.parent
    while parent is not None:
        clause = parent.args.get("with_")
        if clause is not None:
            ctes = clause.expressions
            visible = [*ctes, *visible]
        if isinstance(below, exp.CTE) and isinstance(parent, exp.With):
            # A CTE can read the CTEs before it, and itself after WITH RECURSIVE.
            itself = [below] if parent.args.get("recursive") else []
            visible = [*parent.expressions[: below.index], *itself, *visible]
            above = parent.parent
            assert above is not None
            below, parent = above, above.parent
            continue
        below, parent = parent, parent.parent
    return visible


def recursive_ctes(query: exp.Expr) -> list[exp.CTE]:
    """Return the CTEs of a query that read themselves."""
    ctes = [cte for clause in query.find_all(exp.With) if clause.args.get("recursive") for cte in clause.expressions]
    return [cte for cte in ctes if cte.alias.lower() in _names_read(cte)]


def _is_cte(table: exp.Table) -> bool:
    return len(table.parts) == 1 and any(cte.alias.lower() == table.name.lower() for cte in visible_ctes(table))


def resolve(query: exp.Query, lookup: Lookup, tables: Sequence[exp.Table] | None = None) -> Resolved:
    """Resolve the tables and columns of a query, and infer the types of its columns.

    tables: the result of `catalog_tables` for the query, if available.
    Results are cached, so the query must not be changed afterwards.
    Raises ProgrammingError, with position and hint, for unknown tables and columns.
    """
    relations = {}
    for table in catalog_tables(query) if tables is None else tables:
        relations[table_name(table)] = relation = lookup(table)
        _check_alias(table, relation)
    names = _names_of(query, tuple((name, relation.columns) for name, relation in relations.items()))
    flat_relations = {flat_name(name): relation for name, relation in relations.items()}
    time = names.time(flat_relations)
    merged = time is not None and names.time(flat_relations, unions=False) is None
    return Resolved(relations, time, merged, _other_times(names, flat_relations, time), names)


_Columns = tuple[tuple[str, tuple[ColumnDefinition, ...]], ...]
"""The columns of relations, by lower-case name as written."""


_remembered: ContextVar[dict[int, tuple[exp.Query, _Columns, _Names]] | None] = ContextVar("names", default=None)
"""The resolved names of queries over columns, by the id of the query."""


@contextmanager
def remembered_names() -> Iterator[None]:
    """Within the block, resolve the names of each query once: planning needs the same ones repeatedly."""
    token = _remembered.set({})
    try:
        yield
    finally:
        _remembered.reset(token)


def _names_of(query: exp.Query, columns_of: _Columns) -> _Names:
    """Return the resolved names of a query; raises what `resolve` raises."""
    remembered = _remembered.get()
    if remembered is not None and (last := remembered.get(id(query))) is not None and last[1] == columns_of:
        return last[2]
    items = projected(query, [columns for _, columns in columns_of])
    names = _QualifiedNames(query, columns_of) if items is None else _ProjectedNames(query, columns_of, items)
    if remembered is not None:
        # With its query, so that no other query gets the same id.
        remembered[id(query)] = query, columns_of, names
    return names


class _QualifiedNames:
    """The names of a query that sqlglot has qualified."""

    projection = None

    def __init__(self, query: exp.Query, columns_of: _Columns):
        relations = dict(columns_of)
        schema = schema_of({flat_name(n): [(c.name, c.type) for c in columns] for n, columns in columns_of})
        try:
            typed_query = _qualified(query, schema)
        except OptimizeError as error:
            raise _qualify_error(query, str(error).split("\n")[0], relations) from None
        scopes, nodes = traverse_scope(typed_query), TreeNodes(typed_query)
        _check_columns(nodes, scopes, relations)
        check_branches(nodes)
        _refuse_time_travel(nodes)
        annotate(typed_query, schema)
        typed = _with_typed_windows(typed_query, nodes, schema)
        self.columns = tuple(ColumnDefinition(e.alias_or_name, spoken_type(e)) for e in typed.selects)
        self.qualified = typed_query
        self._scope = scopes[-1] if scopes else None

    def time(self, relations: Mapping[str, Properties], unions: bool = True) -> Watermark | None:
        """Return the output column that is the event time of the streams, by `event_time`."""
        return event_time(self._scope, relations, unions)


class _ProjectedNames:
    """The names of a query that selects columns of one relation."""

    def __init__(self, query: exp.Query, columns_of: _Columns, projection: Sequence[Projected]):
        self.columns = tuple(item.column for item in projection)
        self.projection = projection
        self._query, self._columns_of = query, columns_of

    @cached_property
    def qualified(self) -> exp.Query:
        """The query with the table of every column and without stars."""
        return _QualifiedNames(self._query, self._columns_of).qualified

    def time(self, relations: Mapping[str, Properties], unions: bool = True) -> Watermark | None:
        """Return the output column that is the event time of the streams, by `event_time`."""
        (relation,) = relations.values()
        mark = relation.watermark
        if mark is None:
            return None
        names = (item.column.name for item in self.projection if item.source == mark.column.lower())
        return next((Watermark(name, mark.delay) for name in names), None)


def _qualified(query: exp.Query, schema: MappingSchema) -> exp.Query:
    try:
        tree = qualified(_with_written_names(query), schema, lambda: span_of(query))
    except OptimizeError as error:
        if _UNKNOWN_COLUMNS not in str(error):
            raise
        # A name may be a column of a table function, or an alias.
        tree = qualified(_with_written_names(query), schema, lambda: span_of(query), aliases=False)
    spread_inner_stars(tree, schema)
    return tree


def _with_written_names(query: exp.Query) -> exp.Query:
    """Return a query with flat names, with each name's written form in its metadata."""
    flat = flatten_names(query)
    name_made_columns(flat)
    mark_merged_stars(flat)
    for identifier in flat.find_all(exp.Identifier):
        if identifier._meta is None:
            identifier._meta = Notes()
        identifier._meta.setdefault(SPOKEN, identifier.name)
    return flat


def flatten_names(query: exp.Query, names: Callable[[str], str] | None = None) -> exp.Query:
    """Return a copy in which every catalog table has a one-part name, and its own name as alias.

    names: returns the new name for a written one; by default dots are replaced.
    """
    copy = copied(query)
    for table in catalog_tables(copy):
        alias = table.alias or table.name
        fresh = exp.to_identifier((names or flat_name)(table_name(table)))
        fresh.meta.update(table.this.meta)
        for part in ("db", "catalog"):
            table.set(part, None)
        table.set("this", fresh)
        if not table.args.get("alias"):
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return copy


def used_ctes(query: exp.Query) -> exp.Query:
    """Return a copy without unused CTEs, the query itself if it has no CTEs."""
    if query.find(exp.With) is None:
        return query
    copy = copied(query)
    readers = Counter(_names_read(copy))
    # Later and inner CTEs come first, because they may be the last readers of others.
    left = {id(cte): cte for cte in reversed(list(copy.find_all(exp.CTE)))}
    while unused := [cte for cte in left.values() if readers[cte.alias.lower()] <= _reads_own_name(cte)]:
        for cte in unused:
            if id(cte) not in left:
                continue
            for inner in cte.find_all(exp.CTE):
                left.pop(id(inner), None)
            readers.subtract(_names_read(cte))
            clause = cte.parent
            cte.pop()
            if clause is not None and not clause.expressions:
                clause.pop()
    return copy


def _reads_own_name(cte: exp.CTE) -> int:
    """Return how often a CTE reads itself, or another relation of its name."""
    return list(_names_read(cte)).count(cte.alias.lower())


def _names_read(part: exp.Expr) -> Iterator[str]:
    return (table.name.lower() for table in part.find_all(exp.Table) if len(table.parts) == 1)


def _qualify_error(
    query: exp.Query, message: str, relations: Mapping[str, Sequence[ColumnDefinition]]
) -> ProgrammingError:
    prefix = "Unknown column: "
    if message.startswith(prefix):
        name = message.removeprefix(prefix).lower()
        # It may be the first part of `a.b.c`.
        named = [part for c in query.find_all(exp.Column) for part in c.parts if part.name.lower() == name]
        owners = [(part, part.parent) for part in named]
        column = next((owner for part, owner in owners if isinstance(owner, exp.Column) and owner.this is part), None)
        place = span_of(column or named[0]) if named else span_of(query)
        table = next((t for t in query.find_all(exp.Table) if column and t.alias_or_name == column.table), None)
        relation = relations.get(table_name(table)) if table is not None and column and column.table else None
        if column is not None and relation is not None:
            hint = _column_hint(name, [c.name for c in relation])
            return ProgrammingError(f"{column.table} has no column {name}", place, hint)
        names = list(dict.fromkeys(c.name for relation in relations.values() for c in relation))
        return ProgrammingError(f"there is no column {name}", place, _column_hint(name, names))
    return ProgrammingError(message[:1].lower() + message[1:], span_of(query))


def _check_alias(table: exp.Table, relation: Properties) -> None:
    alias = table.args.get("alias")
    if alias is None or not alias.columns:
        return
    named = alias.columns
    if len(named) != len(relation.columns):
        raise ProgrammingError(
            f"{table.alias_or_name} names {len(named)} columns of {len(relation.columns)}",
            span_of(alias),
            f"columns: {', '.join(column.name for column in relation.columns)}",
        )


def flat_name(name: str) -> str:
    """Return the one-part name of a catalog table."""
    return name.replace(".", "__")


def _refuse_time_travel(qualified: TreeNodes) -> None:
    """Refuse VERSION AS OF and TIMESTAMP AS OF, which Spark only supports for tables of its own catalog."""
    for table in qualified.of(exp.Table):
        if (version := table.args.get("version")) is not None:
            raise NotSupportedError(
                f"{version.this} AS OF is not supported",
                span_of(table),
                "the option versionAsOf or timestampAsOf of a table USING delta reads an earlier version of it",
            )


def _check_columns(
    qualified: TreeNodes, scopes: Iterable[Scope], relations: Mapping[str, Sequence[ColumnDefinition]]
) -> None:
    if qualified.of(*_OPAQUE):
        return
    for scope in scopes:
        columns = {}
        for name, source in scope.sources.items():
            if isinstance(source, exp.Table):
                relation = next((r for key, r in relations.items() if flat_name(key) == source.name.lower()), None)
                if relation is None:
                    return
                columns[name.lower()] = _column_names(source, relation)
            elif isinstance(source, Scope) and isinstance(source.expression, exp.Query):
                columns[name.lower()] = [e.alias_or_name for e in source.expression.selects]
        if scope.is_correlated_subquery or isinstance(scope.expression, exp.SetOperation):
            continue
        everything = [name for names in columns.values() for name in names]
        lower_names = {table: {name.lower() for name in names} for table, names in columns.items()}
        for column in scope.columns:
            if isinstance(column.this, exp.Star):
                continue
            table = column.table.lower()
            if column.name.lower() not in lower_names.get(table, ()):
                _check_column(column, columns, everything)
            if not table and not _is_alias(column, scope):
                _check_one_owner(column, _seen_in(column, scope, columns))
            several = len(lower_names.get(table, ())) < len(columns.get(table, ()))
            # A column from a star has no position in the text.
            if several and column.this.meta_get("start") is not None:
                _check_one_column(column, columns[table])


def _column_names(table: exp.Table, relation: Sequence[ColumnDefinition]) -> list[str]:
    """Return the names of a relation's columns in the query: an alias may rename them."""
    alias = table.args.get("alias")
    renamed = alias.columns if alias is not None else []
    return [column.name for column in renamed or relation]


def _check_column(column: exp.Column, columns: dict[str, list[str]], everything: list[str]) -> None:
    table, name = column.table.lower(), column.name
    if table and table not in columns:
        # It may be a field of a struct column, also of the column of GROUP BY window(...).
        if table in (c.lower() for c in everything) or table in ("window", "session_window"):
            return
        named = [name for name in columns if not name.startswith("__match_")]
        hint = suggestion(column.table, named, "tables")
        if not named:
            hint = "what MATCH_RECOGNIZE gives has no table name, unless an alias follows its closing parenthesis"
        raise ProgrammingError(f"there is no table {column.table} in this query", span_of(column), hint)
    candidates = columns[table] if table else everything
    if name.lower() not in (c.lower() for c in candidates):
        where = f"{column.table} has" if table and len(columns) > 1 else "there is"
        raise ProgrammingError(f"{where} no column {name}", span_of(column.this), _column_hint(name, candidates))


def _column_hint(name: str, names: list[str]) -> str:
    """Return the hint for an unknown column."""
    if name.lower() in (START, END) and not {START, END} & {column.lower() for column in names}:
        return f"a relation with WINDOW TUMBLING (SIZE 1 HOUR) behind it in FROM has {name}"
    near = any(name.lower() in column.lower() for column in names)
    return (None if near else NO_COLUMNS.get(name.upper())) or suggestion(name, names, "columns")


def _is_alias(column: exp.Column, scope: Scope) -> bool:
    """Tell whether a column without a table may be an alias of the SELECT."""
    query = scope.expression
    if not isinstance(query, exp.Query) or column.find_ancestor(exp.Join, exp.Select) is not query:
        return False
    values = [item.unalias() for item in query.selects if item.alias_or_name.lower() == column.name.lower()]
    return any(not isinstance(value, exp.Column) or bool(value.table) for value in values)


def _seen_in(column: exp.Column, scope: Scope, columns: Mapping[str, list[str]]) -> list[str]:
    """Return the relations of a SELECT with a column of this name that is visible at the column's position."""
    owners = [table for table, names in columns.items() if column.name.lower() in {name.lower() for name in names}]
    joins = [join for join in scope.expression.args.get("joins") or [] if join.kind in ("SEMI", "ANTI")]
    hidden = {join.alias_or_name.lower() for join in joins if column.find_ancestor(exp.Join) is not join}
    return [table for table in owners if table not in hidden]


def _check_one_owner(column: exp.Column, owners: list[str]) -> None:
    if len(owners) > 1:
        hint = f"write {' or '.join(f'{table}.{column.name}' for table in owners)}"
        raise ProgrammingError(f"it is not clear whose column {column.name} is", span_of(column.this), hint)


def _check_one_column(column: exp.Column, names: list[str]) -> None:
    if sum(name.lower() == column.name.lower() for name in names) > 1:
        table = "the subquery" if column.table.startswith("_") else column.table
        raise ProgrammingError(
            f"{column.name} is ambiguous: two columns of {table} have that name",
            span_of(column.this),
            "give one of them another name",
        )


def event_time(scope: Scope | None, relations: Mapping[str, Properties], unions: bool = True) -> Watermark | None:
    """Follow the event-time column of the query's streams to the output; None if it is computed or gone.

    relations: by flat name, as in `flatten_names`.
    unions:    over a UNION ALL, follow the column that is the event time of every branch, with the longest delay.
    """
    return _EventTimes(relations, unions).of(scope)


def _other_times(names: _Names, relations: Mapping[str, Properties], time: Watermark | None) -> tuple[Watermark, ...]:
    """Return the output columns that are further event times of relations."""
    times: dict[str, Watermark] = {}
    for name, relation in relations.items():
        for other in relation.others:
            mark = names.time({**relations, name: replace(relation, watermark=other)})
            if mark is not None and (time is None or mark.column != time.column):
                times.setdefault(mark.column, mark)
    return tuple(times.values())


class _EventTimes:
    """The event times of scopes, each resolved once, because a CTE may be read many times."""

    def __init__(self, relations: Mapping[str, Properties], unions: bool):
        self.relations, self.unions = relations, unions
        self.times: dict[int, Watermark | None] = {}

    def of(self, scope: Scope | None) -> Watermark | None:
        if scope is None:
            return None
        if id(scope) not in self.times:
            self.times[id(scope)] = self._find(scope)
        return self.times[id(scope)]

    def _find(self, scope: Scope) -> Watermark | None:
        if isinstance(scope.expression, exp.SetOperation):
            return self._of_union(scope) if self.unions else None
        if not isinstance(scope.expression, exp.Select):
            return None
        times: dict[str, Watermark | None] = {}
        for selected in scope.expression.selects:
            column = selected.unalias()
            if not isinstance(column, exp.Column):
                continue
            if column.table not in times:
                times[column.table] = self._of_source(scope.sources.get(column.table))
            below = times[column.table]
            if below is not None and below.column.lower() == column.name.lower():
                return Watermark(selected.alias_or_name, below.delay)
        return None

    def _of_source(self, source: exp.Expr | Scope | None) -> Watermark | None:
        """Return the event time of a source of a SELECT, None if it has none or it is unknown."""
        if isinstance(source, Scope):
            return self.of(source)
        if isinstance(source, exp.Table) and source.name.lower() in self.relations:
            return _time_of_table(source, self.relations[source.name.lower()])
        return None

    def _of_union(self, scope: Scope) -> Watermark | None:
        union = scope.expression
        if not isinstance(union, exp.Union) or union.args.get("distinct"):
            return None
        branches = scope.set_operation_scopes
        times = [(branch, time) for branch in branches if (time := self.of(branch)) is not None]
        if not times or len(times) < len(branches):
            return None
        places = {_names(branch).index(time.column.lower()) for branch, time in times}
        if len(places) > 1:
            return None
        return Watermark(_selects(times[0][0])[places.pop()], max(time.delay for _, time in times))


def _time_of_table(table: exp.Table, relation: Properties) -> Watermark | None:
    mark, names = relation.watermark, [column.name.lower() for column in relation.columns]
    if mark is None or mark.column.lower() not in names:
        return mark
    return Watermark(_column_names(table, relation.columns)[names.index(mark.column.lower())], mark.delay)


def _names(scope: Scope) -> list[str]:
    return [name.lower() for name in _selects(scope)]


def _selects(scope: Scope) -> list[str]:
    query = scope.expression
    assert isinstance(query, exp.Query)
    return query.named_selects
