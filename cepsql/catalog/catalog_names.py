"""Definitions by name and their dependents: one state of a catalog, without its storage."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cepsql.catalog import (
    Definition,
    MaterializedView,
    Registered,
    RegisteredQuery,
    Relation,
    Sink,
    Source,
    View,
    ViewGroup,
)
from cepsql.catalog.create_text import quoted_name
from cepsql.errors import ProgrammingError, Span

_APART = (Sink, MaterializedView)
"""Definitions that only one of the same class replaces."""


class CatalogNames:
    """Relations and sinks share one namespace; queries have another, and a group of views has the name of its query.

    Names are not case-sensitive.
    """

    def __init__(self, definitions: Iterable[Definition] = ()):
        self._data: dict[str, Relation | Sink] = {}
        self._queries: dict[str, RegisteredQuery] = {}
        self._views: dict[str, MaterializedView] = {}
        self._groups: dict[str, ViewGroup] = {}
        for definition in definitions:
            self._enter(definition)

    def __iter__(self) -> Iterator[Definition]:
        """Yield the definitions in their order; the tables of late rows belong to their streams."""
        yield from (
            definition
            for definition in self._data.values()
            if not (isinstance(definition, Source) and definition.late_of)
        )
        yield from self._groups.values()
        yield from (query for query in self._queries.values() if self.view_of(query) is None)

    @property
    def relations(self) -> list[Relation]:
        """The relations, with the tables of late rows."""
        return [definition for definition in self._data.values() if not isinstance(definition, Sink)]

    @property
    def sinks(self) -> list[Sink]:
        """The sinks."""
        return [definition for definition in self._data.values() if isinstance(definition, Sink)]

    @property
    def materialized(self) -> list[MaterializedView]:
        """The materialized views."""
        return list(self._views.values())

    @property
    def groups(self) -> list[ViewGroup]:
        """The groups of materialized views."""
        return list(self._groups.values())

    @property
    def queries(self) -> list[RegisteredQuery]:
        """The standing queries, with those of views and groups of views."""
        return [*self._queries.values(), *map(self._query_of_group, self._groups.values())]

    def find(self, name: str) -> Relation | Sink | None:
        """Return the relation or sink of that name, or None."""
        return self._data.get(name.lower())

    def query(self, name: str) -> RegisteredQuery | None:
        """Return the query of that name, or None."""
        group = self._groups.get(name.lower())
        return self._queries.get(name.lower()) if group is None else self._query_of_group(group)

    def group(self, name: str) -> ViewGroup | None:
        """Return the group of views of that name, or None."""
        return self._groups.get(name.lower())

    def in_group(self, name: str) -> list[MaterializedView]:
        """Return the views of a group, in the order of definition."""
        return [view for view in self._views.values() if view.group is not None and view.group.lower() == name.lower()]

    def keeper(self, view: MaterializedView) -> RegisteredQuery:
        """Return the query that keeps a view: its own, or that of its group."""
        group = None if view.group is None else self.group(view.group)
        return view.query if group is None else self._query_of_group(group)

    def _query_of_group(self, group: ViewGroup) -> RegisteredQuery:
        views = self.in_group(group.name)
        sql = ";\n".join(view.query.sql for view in views)
        reads = tuple(sorted({name for view in views for name in view.reads}))
        return RegisteredQuery(
            group.name, None, sql, group.options, reads, group.id, tuple(view.name for view in views)
        )

    def view_of(self, query: RegisteredQuery) -> MaterializedView | None:
        """Return the materialized view that a query keeps alone, None if it keeps none."""
        view = self._views.get(query.name.lower())
        return view if view is not None and view.group is None and view.query == query else None

    def present(self, looked_up: Definition, span: Span | None = None) -> Definition:
        """Return the current definition with the name of one that was looked up before.

        Raises ProgrammingError if it is gone.
        """
        namesake = self._namesake(looked_up)
        if namesake is None or kind(namesake) != kind(looked_up):
            raise ProgrammingError(f"{kind(looked_up)} {looked_up.name} was dropped in the meantime", span)
        return namesake

    def add(
        self, added: Definition, replacing: bool = False, span: Span | None = None, late_span: Span | None = None
    ) -> None:
        """Enter a definition, and with a stream the table of its late rows, whose name is at `late_span`.

        Raises ProgrammingError if a name is taken and `replacing` is false or the definition is of another kind, if
        the table of late rows of another stream has the name, or if two columns have the same name.
        """
        before = self._namesake(added)
        if isinstance(added, ViewGroup):
            if self.query(added.name) is not None and not replacing:
                hint = f"SHOW CREATE {'QUERY' if before is None else 'VIEW GROUP'} {quoted_name(added.name)} shows it"
                raise ProgrammingError(f"query {added.name} exists already", span, hint)
            self._enter(added)
            return
        if not isinstance(added, RegisteredQuery):
            _check_columns(added, span)
        elif before is None and added.name.lower() in self._views:
            raise ProgrammingError(f"{added.name} exists already, as a materialized view", span)
        if isinstance(added, MaterializedView) and before is None and self.query(added.name) is not None:
            raise ProgrammingError(
                f"query {added.name} exists already, and the query of a view has the name of the view", span
            )
        if before is not None and (not replacing or any(isinstance(before, k) != isinstance(added, k) for k in _APART)):
            hint = "CREATE OR REPLACE replaces it, DROP removes it"
            if replacing:
                hint = f"DROP {kind(before).upper()} {quoted_name(before.name)} removes it"
            raise ProgrammingError(f"{_known_as(before)} exists already", span, hint)
        if not isinstance(added, RegisteredQuery):
            self._check_not_late(added.name, span)
            self._check_late_table(added, before, late_span)
        if before is not None and not isinstance(added, RegisteredQuery):
            self._leave(before)
        self._enter(added)

    def remove(self, removed: Definition, span: Span | None = None) -> None:
        """Remove a definition, and with a stream the table of its late rows, but no files.

        Raises ProgrammingError for a table of late rows, which belongs to its stream.
        """
        if not isinstance(removed, RegisteredQuery | ViewGroup):
            self._check_not_late(removed.name, span)
        self._leave(removed)

    def dependents(self, *changed: Definition) -> list[Definition]:
        """Return the definitions that read or write one of these, directly or not, nearest first."""
        dependents: list[Definition] = []
        names = {name for definition in changed for name in _read_as(definition)}
        while True:
            readers = [d for d in self if d not in dependents and not names.isdisjoint(_needs(d))]
            if not readers:
                return dependents
            dependents += readers
            names |= {name for reader in readers for name in _read_as(reader)}

    def hidden_by(self, frames: Iterable[Registered]) -> "CatalogNames":
        """Return these names with DataFrames in place of definitions with their names."""
        shown = CatalogNames(self)
        for frame in frames:
            shown._data[frame.name.lower()] = frame
        return shown

    def _namesake(self, definition: Definition) -> Definition | None:
        if isinstance(definition, ViewGroup):
            return self.group(definition.name)
        return self.query(definition.name) if isinstance(definition, RegisteredQuery) else self.find(definition.name)

    def _enter(self, added: Definition) -> None:
        name = added.name.lower()
        if isinstance(added, ViewGroup):
            self._groups[name] = added
            return
        if isinstance(added, RegisteredQuery) and name in self._groups:
            # The rest of the query of a group follows from its views.
            self._groups[name] = replace(self._groups[name], options=added.options)
            return
        if isinstance(added, RegisteredQuery):
            self._queries[name] = added
            if name in self._views:
                self._views[name] = replace(self._views[name], query=added)
                self._data[name] = self._views[name]
            return
        self._data[name] = added
        if isinstance(added, MaterializedView):
            self._views[name] = added
            if added.group is None:
                self._queries[name] = added.query
        late = late_table(added)
        if late is not None:
            self._data[late.name.lower()] = late

    def _leave(self, removed: Definition) -> None:
        name = removed.name.lower()
        if isinstance(removed, ViewGroup):
            del self._groups[name]
            return
        if isinstance(removed, RegisteredQuery):
            del self._queries[name]
            return
        if (view := self._views.pop(name, None)) is not None and view.group is None:
            del self._queries[name]
        late = late_table(self._data.pop(name))
        if late is not None:
            del self._data[late.name.lower()]

    def _check_late_table(self, added: Relation | Sink, before: Definition | None, late_span: Span | None) -> None:
        late = late_table(added)
        if late is None:
            return
        earlier = late_table(before)
        own = earlier is not None and earlier.name.lower() == late.name.lower()
        if late.name.lower() == added.name.lower() or (self.find(late.name) and not own):
            hint = "late rows go to a table of their own, of a new name"
            raise ProgrammingError(f"{late.name} exists already", late_span, hint)

    def _check_not_late(self, name: str, span: Span | None) -> None:
        table = self.find(name)
        if isinstance(table, Source) and table.late_of is not None:
            hint = f"DROP STREAM {quoted_name(table.late_of)} removes both definitions"
            raise ProgrammingError(f"{name} holds the late rows of {table.late_of}", span, hint)


def kind(definition: Definition) -> str:
    """Return the kind of a definition, as in statements, in lower case."""
    match definition:
        case View():
            return "view"
        case MaterializedView():
            return "materialized view"
        case Sink():
            return "sink"
        case ViewGroup():
            return "view group"
        case RegisteredQuery():
            return "query"
    return "stream" if definition.streaming else "table"


def listed(definitions: Iterable[Definition]) -> str:
    """Name definitions in a sentence: `view busy and query fraud`."""
    return enumerated([f"{kind(definition)} {definition.name}" for definition in definitions])


def enumerated(words: Sequence[str]) -> str:
    """Join words for a sentence.

    >>> enumerated(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def late_table(definition: Definition | None) -> Source | None:
    """Return the table of late rows of a definition, None without one."""
    return definition.late_rows if isinstance(definition, Source) else None


def _check_columns(added: Relation | Sink, span: Span | None) -> None:
    names = [column.name.lower() for column in added.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ProgrammingError(f"two columns of {added.name} are named {twice}", span, "AS gives another name")


def _known_as(definition: Definition) -> str:
    return f"query {definition.name}" if isinstance(definition, RegisteredQuery) else definition.name


def _read_as(definition: Definition) -> set[str]:
    """Return the names by which others read a definition or write to it."""
    if isinstance(definition, ViewGroup):
        return {_named_group(definition.name)}
    if isinstance(definition, RegisteredQuery):
        return set()
    late = late_table(definition)
    return {definition.name.lower()} | ({late.name.lower()} if late is not None else set())


def _needs(definition: Definition) -> set[str]:
    match definition:
        case MaterializedView(query=RegisteredQuery(reads=reads), group=group):
            return {*reads, *([_named_group(group)] if group is not None else [])}
        case View(reads=reads):
            return set(reads)
        case RegisteredQuery(sink=sink, reads=reads):
            return {*reads, *([sink.lower()] if sink else [])}
    return set()


def _named_group(name: str) -> str:
    """Return a name for a group that no relation can have."""
    return f"view group {name.lower()}"
