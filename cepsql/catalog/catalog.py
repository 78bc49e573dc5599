"""The catalog: names and their definitions, in this process alone or in a database that several processes share."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cepsql.catalog import (
    Definition,
    MaterializedView,
    Registered,
    RegisteredQuery,
    Relation,
    Sink,
    Source,
    ViewGroup,
)
from cepsql.catalog.catalog_names import CatalogNames, kind, listed
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.references import writes_secret
from cepsql.catalog.view_store import ViewFile, group_sink, view_sink
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion

if TYPE_CHECKING:
    from cepsql.catalog.store import Store


RECENT_SECONDS = 0.1
"""How old names may be that are read without a query to the store."""


class Catalog:
    """Definitions by name; names are not case-sensitive.

    store: stores and shares definitions; None: they stay in this process. A DataFrame that a program has registered
           always stays in this process, and hides a definition of the store with its name.
    """

    def __init__(self, store: "Store | None" = None):
        self.store = store
        self._frames: dict[str, Registered] = {}
        # One attribute, so that no thread sees the names of one generation with the number of another.
        self._loaded = (-1, CatalogNames())
        self._checked = float("-inf")
        self._lock = threading.Lock()
        self.view_file = ViewFile(store.database.file if store is not None else None, store is not None)

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.names.relations)

    @property
    def names(self) -> CatalogNames:
        """The current definitions, of all processes."""
        if self.store is not None:
            now, generation = time.monotonic(), self.store.generation()
            if generation != self._loaded[0]:
                generation, definitions = self.store.load()
                self._loaded = (generation, CatalogNames(definitions))
            self._checked = now
        return self._with_frames(self._loaded[1])

    @property
    def age(self) -> float:
        """The seconds since the store was last asked for definitions; 0 without a store."""
        return 0.0 if self.store is None else time.monotonic() - self._checked

    def recent_names(self) -> CatalogNames | None:
        """Return definitions that are at most a moment old; None if the store must be asked."""
        if self.age > RECENT_SECONDS:
            return None
        return self._with_frames(self._loaded[1])

    def _with_frames(self, names: CatalogNames) -> CatalogNames:
        return names if not self._frames else names.hidden_by(self._frames.values())

    def find(self, name: str) -> Relation | None:
        """Return the relation with a name, or None."""
        definition = self.names.find(name)
        return None if isinstance(definition, Sink) else definition

    def get(self, name: str, span: Span | None = None, beside: Iterable[str] = ()) -> Relation:
        """Return the relation with a name.

        beside: further names in scope, such as the CTEs of a statement.
        Raises ProgrammingError, pointing at `span`, if there is none.
        """
        names = self.names
        definition = names.find(name)
        if isinstance(definition, Sink):
            name = quoted_name(definition.name)
            hint = f"INSERT INTO {name} and CREATE QUERY ... INTO {name} write to it"
            raise ProgrammingError(f"{definition.name} is a sink and cannot be read", span, hint)
        if definition is None and (group := names.group(name)) is not None:
            views = [quoted_name(view.name) for view in names.in_group(name)]
            reads = f"SELECT * FROM {views[0]} reads a view of it" if views else None
            raise ProgrammingError(f"{group.name} is a view group and cannot be read", span, reads)
        if definition is None and (query := names.query(name)) is not None:
            written = f"SELECT * FROM {quoted_name(query.sink)} reads what it has written; " if query.sink else ""
            prints = "" if query.sink else f"PRINT {quoted_name(query.name)} shows its last rows; "
            follows = f"SUBSCRIBE {quoted_name(query.name)} follows it; "
            hint = f"{written}{prints}{follows}CREATE MATERIALIZED VIEW name AS ... keeps its result"
            raise ProgrammingError(f"{query.name} is a query and cannot be read", span, hint)
        if definition is None:
            beside = list(beside)
            hint = suggestion(name, [*beside, *(r.name for r in names.relations)], "known")
            if name.lower() == "dual":
                hint = "leave FROM dual out: SELECT without FROM gives one row"
            if name.lower() in map(str.lower, beside):
                hint = "a CTE sees those before it, and itself only after WITH RECURSIVE"
            raise ProgrammingError(f"there is no stream, table or view {name}", span, hint)
        return definition

    def sink(self, name: str, span: Span | None = None) -> Sink:
        """Return the sink with a name.

        Raises ProgrammingError, pointing at `span`, if there is none.
        """
        names = self.names
        definition = names.find(name)
        if isinstance(definition, Sink):
            return definition
        if isinstance(definition, MaterializedView):
            raise ProgrammingError(
                f"{definition.name} is written by its own query alone", span, "CREATE SINK makes a sink"
            )
        if definition is not None:
            raise ProgrammingError(
                f"{definition.name} is a {kind(definition)}, not a sink", span, "CREATE SINK makes one"
            )
        hint = suggestion(name, [s.name for s in names.sinks], "sinks")
        raise ProgrammingError(f"there is no sink {name}", span, hint)

    def target(self, query: RegisteredQuery) -> Sink | None:
        """Return the sink of a named query, None without one.

        Raises ProgrammingError if there is no such sink, OperationalError for a view whose catalog is in no file.
        """
        names = self.names
        if query.views is not None:
            return group_sink(query.name, names.in_group(query.name), self.view_file)
        view = names.view_of(query)
        if view is not None:
            return view_sink(view, self.view_file)
        return self.sink(query.sink) if query.sink else None

    def query(self, name: str, span: Span | None = None) -> RegisteredQuery:
        """Return the query with a name.

        Raises ProgrammingError, pointing at `span`, if there is none.
        """
        names = self.names
        query = names.query(name)
        if query is None:
            hint = suggestion(name, [q.name for q in names.queries], "queries")
            raise ProgrammingError(f"there is no query {name}", span, hint)
        return query

    def add(
        self, added: Definition, replace: bool = False, span: Span | None = None, late_span: Span | None = None
    ) -> None:
        """Enter a definition; see `Names.add`.

        Raises NotSupportedError for a stored definition that reads a DataFrame of this process, and ProgrammingError
        for a secret that would be stored as it is written.
        """
        self._check_sinks(added, span)
        if self.store is not None:
            if isinstance(added, Registered):
                self._frames = {**self._frames, added.name.lower(): added}
                return
            _check_kept(added, span)
            self._check_frames(added, replace, span)
        with self._changed() as names:
            names.add(added, replace, span, late_span)
        if not isinstance(added, RegisteredQuery | ViewGroup):
            self._frames.pop(added.name.lower(), None)

    def exchange(self, before: RegisteredQuery | None, after: RegisteredQuery, span: Span | None = None) -> bool:
        """Replace the query `before`, None for no query with that name.

        Return False, without a change, if another process or thread has changed that query; raises as `add` does.
        """
        self._check_sinks(after, span)
        if self.store is not None:
            _check_kept(after, span)
            self._check_frames(after, True, span)
        with self._changed() as names:
            if names.query(after.name) != before:
                return False
            names.add(after, True, span)
        return True

    def remove(self, name: str, span: Span | None = None) -> None:
        """Remove a relation; see `drop`, which can also remove its dependents."""
        self.drop(self.get(name, span), span=span)

    def drop(self, dropped: Definition, cascade: bool = False, span: Span | None = None) -> list[Definition]:
        """Remove the definition with the name of `dropped` and, with `cascade`, its dependents.

        Returns the removed definitions, this one first: another process may have altered it since it was looked up.
        Raises ProgrammingError if it is gone already, or if `cascade` is false and there are dependents, which the
        error lists.
        """
        if isinstance(dropped, Registered) and self.store is not None:
            del self._frames[dropped.name.lower()]
            return [dropped]
        with self._changed() as names:
            dropped = names.present(dropped, span)
            along = names.dependents(dropped)
            if along and not cascade:
                verb = "written to by" if isinstance(dropped, Sink) else "read by"
                verb = "the group of" if isinstance(dropped, ViewGroup) else verb
                message = f"{kind(dropped)} {dropped.name} is {verb} {listed(along)}"
                hint = f"DROP {kind(dropped).upper()} {quoted_name(dropped.name)} CASCADE drops all"
                raise ProgrammingError(message, span, hint)
            for definition in (dropped, *along):
                names.remove(definition, span)
        return [dropped, *along]

    def forget_frames(self) -> list[str]:
        """Remove all DataFrames, which are gone, and return their names; their dependents wait for new ones."""
        frames = [relation for relation in self if isinstance(relation, Registered)]
        self._frames = {}
        if self.store is None and frames:
            with self._changed() as names:
                for frame in frames:
                    names.remove(frame)
        return [frame.name for frame in frames]

    @contextmanager
    def _changed(self) -> Iterator[CatalogNames]:
        """Lend the names; the changes take effect, for every process, when the block ends without an error."""
        if self.store is None:
            with self._lock:
                draft = CatalogNames(self._loaded[1])
                yield draft
                self._loaded = (-1, draft)
            return
        with self.store.changing() as change:
            draft = CatalogNames(change.definitions)
            yield draft
            change.definitions = list(draft)
        self._loaded = (change.generation, draft)

    def _check_sinks(self, added: Definition, span: Span | None) -> None:
        """Refuse a definition that reads a sink: a sink can only be read once, by a query."""
        query = added.query if isinstance(added, MaterializedView) else added
        names = self.names
        sink = next((name for name in getattr(query, "reads", ()) if isinstance(names.find(name), Sink)), None)
        if sink is not None:
            raise NotSupportedError(
                f"{added.name} reads the sink {sink}, which a definition cannot",
                span,
                "CREATE MATERIALIZED VIEW keeps rows that others read; CREATE TABLE ... reads the place of the sink",
            )

    def _check_frames(self, added: Definition, replace: bool, span: Span | None) -> None:
        """Refuse a shared definition that reads a DataFrame of this process."""
        if not replace and not isinstance(added, RegisteredQuery | ViewGroup) and added.name.lower() in self._frames:
            hint = "CREATE OR REPLACE replaces it"
            raise ProgrammingError(f"{added.name} exists already, as a DataFrame of this process", span, hint)
        reads = getattr(added, "reads", ())
        frame = next((self._frames[name] for name in reads if name in self._frames), None)
        if frame is not None:
            raise NotSupportedError(
                f"{added.name} reads {frame.name}, a DataFrame of this process, so no catalog can keep it",
                span,
                "CREATE STREAM and CREATE TABLE define what other processes can read too",
            )


def _check_kept(definition: Definition, span: Span | None = None) -> None:
    """Refuse a definition with a plain secret in its options: a stored catalog only has references to secrets."""
    if not isinstance(definition, Source | Sink | RegisteredQuery | MaterializedView | ViewGroup):
        return
    further = definition.query.options if isinstance(definition, MaterializedView) else ()
    further = definition.store if isinstance(definition, ViewGroup) else further
    for name, value in (*definition.options, *further):
        if writes_secret(name, value):
            raise ProgrammingError(
                f"the catalog would keep the secret in the option {name} as it is written",
                span,
                f"write {name} '${{NAME}}' for an environment variable, or '${{file:/path}}' for a file",
            )
