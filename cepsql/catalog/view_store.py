"""The rows of a materialized view: as the sink of its query, and as a table that queries read."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from cepsql.base.temporary import temporary_folder
from cepsql.catalog import ColumnDefinition, MaterializedView, Sink, Source, Watermark
from cepsql.catalog.locations import SQLITE_URL
from cepsql.errors import OperationalError, ProgrammingError

OPERATION = "op"
"""The column of changes with the operation of each."""

VERSION = "__version"
"""The column of versions with the time from which each is valid."""

UNTIL, OLDEST = "__until", "__oldest"
"""Columns of versions at rest: the time at which each ends, NULL for the current one; and the time from which on
versions are kept, NULL for all time. The second one has a value only in one row, which is not a version."""

REFRESH_MICROS = 5_000_000
"""How often a standing query reads again the views that it joins a stream with."""

POSITIONS = "cepsql_views"
"""The table of a store with the position of each of its views."""

SQLITE = "sqlite"
"""The default store, a file beside the catalog."""

STORE_OPTIONS = {
    "store": f"'{SQLITE}' (default): a file beside the catalog; '{SQLITE_URL}path', or 'postgresql://host/database'",
    "retain": "how long rows that are only added are kept, such as '10 minutes', counted in event time back from the "
    "newest row; with EMIT CHANGES how long its changes can be followed from; default there '10 minutes'",
    "user": "user of the database, in place of the one in its address",
    "password": "password of the database",
    "schema": "schema of the table in PostgreSQL",
    "retry_for": "how long to wait for a database that does not answer; default '10 minutes'",
}
"""The options of a view that configure its store."""


@dataclass(frozen=True, repr=False)
class ViewSink(Sink):
    """The table of a view, as its query writes it; the other fields are those of the view."""

    indexes: tuple[str, ...] = ()
    event_time: str | None = None
    id: str = ""
    adds: bool = False


@dataclass(frozen=True, repr=False)
class GroupSink(Sink):
    """The tables of a group of views, all in one store, as one query writes them.

    views: the tables, in the order of the plan.
    """

    views: tuple[ViewSink, ...] = ()


@dataclass(frozen=True, repr=False)
class ViewSource(Source):
    """The table of a view, as queries read it, or its changes.

    view:   its definition.
    events: whether each change is a row of its own, with the column `op` unless rows are only added. Otherwise a
            streaming row sets or deletes the row with its key.
    versions: whether the changes are those of all kept versions, each from an event time on.
    """

    view: MaterializedView = field(kw_only=True)
    events: bool = False
    versions: bool = False

    @property
    def schema(self) -> str | None:
        """The schema of the table in PostgreSQL, None for the default of the database."""
        return dict(self.options).get("schema")

    def typed(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return columns of the view with their Spark types."""
        types = {column.name: column.type for column in self.view.columns}
        return [(name, types[name]) for name in names]


class ViewFile:
    """The SQLite file of the views of a catalog.

    catalog:    the file of the catalog; None: it has none.
    persistent: whether the catalog is stored; otherwise the file is temporary, and ends with the process.
    """

    def __init__(self, catalog: Path | None, persistent: bool):
        self._catalog, self._persistent = catalog, persistent
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def path(self, view: MaterializedView) -> str:
        """Return the path of the file.

        Raises OperationalError for a stored catalog that is not a file.
        """
        if self._catalog is not None:
            return str(self._catalog.absolute().with_name(f"{self._catalog.name}.views"))
        if self._persistent:
            hint = f"OPTIONS (store 'postgresql://host/database'), or (store '{SQLITE_URL}/a/file')"
            raise OperationalError(
                f"the catalog is in no file beside which the rows of view {view.name} could be", hint=hint
            )
        with self._lock:
            if self._folder is None:
                self._folder = temporary_folder("cepsql-views-")
        return str(self._folder / "views")


def view_sink(view: MaterializedView, file: ViewFile) -> ViewSink:
    """Return the sink of a view's query; errors as for `store_options`."""
    format, options = _store(view, file)
    options = (*options, *((name, value) for name, value in view.options if name in _PASSED_ON))
    return ViewSink(view.name, (), format, options, view.key, view.indexes, view.event_time, view.id, view.adds)


def group_sink(group: str, views: Iterable[MaterializedView], file: ViewFile) -> GroupSink:
    """Return the sink of the query of a group with at least one view; errors as for `view_sink`."""
    sinks = tuple(view_sink(view, file) for view in views)
    options = tuple(option for option in sinks[0].options if option[0] != "retain")
    return GroupSink(group, (), sinks[0].format, options, views=sinks)


def view_source(view: MaterializedView, file: ViewFile) -> ViewSource:
    """Return the view as a table at rest; errors as for `ViewFile.path`."""
    format, options = _store(view, file)
    options = (*options, *((name, value) for name, value in view.options if name in _OF_DATABASE))
    return ViewSource(view.name, view.columns, format, options, streaming=False, refresh=REFRESH_MICROS, view=view)


def view_changes(view: MaterializedView, file: ViewFile, events: bool = False) -> ViewSource:
    """Return the changes of a view as a stream; errors as for `view_source`.

    events: whether each is a row of its own; always so if rows are only added.
    """
    at_rest = view_source(view, file)
    # Only the name distinguishes two views of one store.
    options = (*at_rest.options, ("view", view.name))
    adds = view.adds or not view.key
    columns = view.columns if adds or not events else (*view.columns, ColumnDefinition(OPERATION, "string"))
    time = view.event_time or (_only_time(view) if events else None)
    mark = None if time is None or not (adds or events) else Watermark(time, view.delay)
    return replace(
        at_rest, columns=columns, options=options, streaming=True, refresh=None, watermark=mark,
        key=() if adds or events else view.key, events=adds or events,
    )  # fmt: skip


def view_versions(at_rest: ViewSource, time_type: str) -> ViewSource:
    """Return the kept versions of a view with a key as a stream.

    A row of an append-only view is valid from its event time on. A changed row is valid from the watermark of its batch
    on, which is in the column VERSION of type `time_type`.
    """
    view = at_rest.view
    columns, mark = view.columns, Watermark(VERSION, 1)
    if view.adds and view.event_time is not None:
        mark = Watermark(view.event_time, view.delay)
    else:
        # A row with exactly this time waits until no further batch can have that watermark.
        columns = (*columns, ColumnDefinition(VERSION, time_type))
    options = (*at_rest.options, ("view", view.name))
    return replace(
        at_rest, columns=columns, options=options, streaming=True, refresh=None, watermark=mark, key=view.key,
        versions=True,
    )  # fmt: skip


def versions_at_rest(at_rest: ViewSource, time_type: str) -> ViewSource:
    """Return the versions of a view with a key as a table, valid from VERSION, of type `time_type`, to UNTIL."""
    times = tuple(ColumnDefinition(name, time_type) for name in (VERSION, UNTIL, OLDEST))
    view = at_rest.view
    name = f"{view.name} as of a time"
    return replace(at_rest, name=name, columns=(*view.columns, *times), refresh=None, key=view.key, versions=True)


def _only_time(view: MaterializedView) -> str | None:
    """Return the only column of a view that can be an event time, or None unless exactly one can."""
    times = [column.name for column in view.columns if column.type.lower() in ("timestamp", "timestamp_ntz")]
    return times[0] if len(times) == 1 else None


_OF_DATABASE = ("user", "password", "schema")
_PASSED_ON = (*_OF_DATABASE, "retain", "retry_for")


def _store(view: MaterializedView, file: ViewFile) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the format of the sink of a view, and the option with its location."""
    store = dict(view.options).get("store", SQLITE)
    if store == SQLITE:
        return "sqlite", (("path", file.path(view)),)
    if store.startswith(SQLITE_URL) and store != SQLITE_URL:
        return "sqlite", (("path", store.removeprefix(SQLITE_URL)),)
    if store.startswith(("postgresql://", "postgres://")):
        return "postgresql", (("url", store),)
    raise ProgrammingError(
        f"view {view.name} has no store of the kind '{store.partition(':')[0]}'", hint=f"store {STORE_OPTIONS['store']}"
    )
