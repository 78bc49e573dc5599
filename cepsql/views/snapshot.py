"""The rows of views at one moment: those of one store are read in one transaction.

Types are those of the definitions, not of the store.
"""

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
import sqlalchemy as sa

from cepsql.base.secrets import redact, secret_values
from cepsql.base.sqlite_files import double_quoted, sqlite_connection
from cepsql.catalog.database_failures import first_line
from cepsql.catalog.postgresql_link import connection_settings, set_in_transaction
from cepsql.catalog.references import has_references, referenced_values, resolved
from cepsql.catalog.view_store import POSITIONS, ViewSource
from cepsql.errors import NotSupportedError, OperationalError
from cepsql.views.quick_reader import QuickReader
from cepsql.views.stored_values import cell_table

_BUSY_SECONDS, _WRITER_SECONDS = 5, 60
_UNDEFINED_TABLE = "42P01"
"""PostgreSQL's error code for a missing table; a missing database has another one."""

_MOST_STORES = 16
"""Connections to this many stores are kept open between reads."""

_T = TypeVar("_T")

_stores: OrderedDict[tuple, sa.Engine] = OrderedDict()
_readers: dict[str, QuickReader] = {}
_stores_lock = threading.Lock()


@dataclass(frozen=True)
class Condition:
    """A condition that the store looks rows up by: true for all wanted rows, and maybe for others.

    operator: =, <, <=, >, >= or IN, which has several values.
    """

    column: str
    operator: str
    values: tuple[int | str, ...]


@dataclass(frozen=True)
class Wanted:
    """The columns to read from a view, and the conditions that its rows satisfy."""

    view: ViewSource
    columns: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class ViewPosition:
    """How far the rows of a view are.

    batch:     the number of the last micro-batch of its query; -1 before the first.
    watermark: event time in microseconds up to which rows were released, None without one.
    offsets:   how far each source was read, as Spark writes it.
    written:   when the batch was written, in seconds since 1970 by the writer's clock.
    id, checkpoint: of the view and of its query; they differ from those before the view was rebuilt.
    """

    batch: int
    watermark: int | None
    offsets: tuple[str, ...]
    written: float
    id: str
    checkpoint: str


@dataclass(frozen=True)
class ViewRows:
    """Rows of a view, and how far they are."""

    rows: pa.Table
    position: ViewPosition


def read_views(wanted: Sequence[Wanted]) -> list[ViewRows]:
    """Return rows of views; those in one store are of one moment.

    Raises OperationalError if a store does not answer, or a view has never run.
    """
    return in_stores(wanted, read_view)


def in_stores(wanted: Sequence[Wanted], act: Callable[[sa.Connection, Wanted], _T]) -> list[_T]:
    """Return what `act` returns for each, in one transaction of each store; raises as `store_transaction` does."""
    outcomes: dict[int, _T] = {}
    for place in dict.fromkeys(_place_of(one.view) for one in wanted):
        numbers = [number for number, one in enumerate(wanted) if _place_of(one.view) == place]
        with store_transaction(wanted[numbers[0]].view) as connection:
            for number in numbers:
                outcomes[number] = act(connection, wanted[number])
    return [outcomes[number] for number in range(len(wanted))]


def read_cells(wanted: Wanted) -> Sequence[Sequence[Any]]:
    """Return rows of one view as stored, without their position; raises as `read_views` does."""
    with store_transaction(wanted.view) as connection:
        return _cells(connection, wanted)


@dataclass(frozen=True)
class QuickSelect:
    """Reads rows of one view in a local file, without their position and without waiting."""

    path: str
    select: str
    keys: tuple[str, ...]

    def rows(self, values: Sequence[int | str]) -> list[tuple] | None:
        """Return rows as stored, None if they cannot be read now."""
        return _reader(self.path).rows(self.select, dict(zip(self.keys, values, strict=True)))


def quick_select(wanted: Wanted) -> QuickSelect | None:
    """Return a repeatable read for values in the order of the conditions, None for a store other than a local file."""
    path = dict(wanted.view.options).get("path")
    # A path with references may change.
    if wanted.view.format != "sqlite" or path is None or has_references(path):
        return None
    select, values = _select(wanted, double_quoted(wanted.view.name), double_quoted)
    return QuickSelect(path, select, tuple(values))


def _reader(path: str) -> QuickReader:
    """Return the reader of a file of views."""
    with _stores_lock:
        reader = _readers.pop(path, None) or QuickReader(path)
        _readers[path] = reader
        if len(_readers) > _MOST_STORES:
            _readers.pop(next(iter(_readers))).close()
    return reader


def position_of(view: ViewSource) -> ViewPosition | None:
    """Return how far the rows of a view are, None if it has never run; raises as `read_views`."""
    try:
        with store_transaction(view) as connection:
            return known_position(connection, view)
    except NeverRun:
        return None


class NeverRun(OperationalError):
    """The view has no table yet."""


def _place_of(view: ViewSource) -> tuple:
    """Return a key that is equal for views of one store."""
    return (view.format, *view.options)


@contextmanager
def store_transaction(view: ViewSource, writes: bool = False) -> Iterator[sa.Connection]:
    """Lend a read-only connection to the store of a view that sees one moment of it.

    writes: the connection can also write, in one transaction.
    Raises OperationalError if the store does not answer, or the view has never run.
    """
    options = resolved(view.options, f"view {view.name}")
    hidden = [*secret_values(view.options), *referenced_values(view.options)]
    engine = _store(view, options, writes)
    try:
        with engine.begin() if writes else engine.connect() as connection:
            yield connection
    except sa.exc.SQLAlchemyError as failure:
        reason = redact(first_line(failure), hidden)
        if getattr(getattr(failure, "orig", None), "sqlstate", None) == _UNDEFINED_TABLE or "no such table" in reason:
            raise _never_run(view) from failure
        raise OperationalError(f"the store of view {view.name} cannot be read: {reason}") from failure


def store_file(view: ViewSource) -> str | None:
    """Return the file that changes with each transaction in the store of a view; None: no local file does."""
    return (
        f"{os.path.abspath(resolved(view.options, f'view {view.name}')['path'])}-wal"
        if view.format == "sqlite"
        else None
    )


def _store(view: ViewSource, options: dict[str, str], writes: bool) -> sa.Engine:
    """Return the store of a view, whose connections stay open for the next transaction of the kind."""
    which: tuple = (os.getpid(), view.format, writes, *sorted(options.items()))
    if view.format == "sqlite":
        try:
            status = os.stat(options["path"])
        except OSError:
            raise _never_run(view) from None
        # Another file may have replaced it.
        which += (status.st_dev, status.st_ino)
    with _stores_lock:
        engine = _stores.pop(which, None)
        if engine is None:
            engine = _sqlite(options["path"], writes) if view.format == "sqlite" else _postgresql(options, writes)
        _stores[which] = engine
        if len(_stores) > _MOST_STORES:
            _, oldest = _stores.popitem(last=False)
            # Lent connections are closed when they are returned.
            oldest.dispose()
    return engine


def _never_run(view: ViewSource) -> NeverRun:
    return NeverRun(
        f"view {view.name} has no rows yet: its query has never run",
        hint=f"START MATERIALIZED VIEW {view.name}; DESCRIBE QUERY {view.name} tells why it does not run",
    )


def _sqlite(path: str, writes: bool) -> sa.Engine:
    seconds = _WRITER_SECONDS if writes else _BUSY_SECONDS
    connect = partial(sqlite_connection, os.path.abspath(path), writes, seconds)
    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.QueuePool, max_overflow=-1)
    # All reads see the moment of the first one.
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _postgresql(options: dict[str, str], writes: bool) -> sa.Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise NotSupportedError(
            "a view in PostgreSQL needs the package psycopg", hint="pip install 'cepsql[postgresql]'"
        ) from error
    url = sa.make_url(options["url"]).set(drivername="postgresql+psycopg")
    url = url.set(username=options.get("user", url.username), password=options.get("password", url.password))
    engine = sa.create_engine(
        url,
        poolclass=sa.QueuePool,
        max_overflow=-1,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED" if writes else "REPEATABLE READ",
        connect_args=connection_settings(url, _BUSY_SECONDS),
    )

    @sa.event.listens_for(engine, "begin")
    def _(connection: sa.Connection) -> None:
        set_in_transaction(connection, {"TimeZone": "UTC"} | ({} if writes else {"transaction_read_only": "on"}))

    return engine


def position_in(connection: sa.Connection, view: ViewSource) -> ViewPosition:
    """Return how far the rows of a view are in its store; raises NeverRun if it has never run."""
    position = known_position(connection, view)
    if position is None:
        raise _never_run(view)
    return position


def read_view(connection: sa.Connection, wanted: Wanted) -> ViewRows:
    """Return rows of a view within a transaction of its store; raises OperationalError if it has never run."""
    position = position_in(connection, wanted.view)
    return ViewRows(cell_table(_cells(connection, wanted), wanted.view.typed(wanted.columns)), position)


def _cells(connection: sa.Connection, wanted: Wanted) -> Sequence[Sequence[Any]]:
    table = table_name(connection, wanted.view, wanted.view.name)
    select, values = _select(wanted, table, connection.dialect.identifier_preparer.quote_identifier)
    return connection.execute(sa.text(select), values).all()


def _select(wanted: Wanted, table: str, name: Callable[[str], str]) -> tuple[str, dict]:
    """Return the SELECT and the values of its parameters; `name` quotes the name of a column."""
    selected = ", ".join(map(name, wanted.columns)) or "1"
    where, values = where_clause(wanted.conditions, name)
    return f"SELECT {selected} FROM {table}{where}", values


def where_clause(conditions: Sequence[Condition], name) -> tuple[str, dict]:
    """Return the SQL of conditions and the values of its parameters; `name` quotes the name of a column."""
    parts: list[str] = []
    values: dict[str, int | str] = {}
    for number, condition in enumerate(conditions):
        keys = [f"v{number}_{place}" for place in range(len(condition.values))]
        values |= dict(zip(keys, condition.values, strict=True))
        marks = ", ".join(f":{key}" for key in keys)
        right = f"({marks})" if condition.operator == "IN" else marks
        parts.append(f"{name(condition.column)} {condition.operator} {right}")
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values


def table_name(connection: sa.Connection, view: ViewSource, table: str) -> str:
    """Return the name of a table in the store of a view, in quotes."""
    name = connection.dialect.identifier_preparer.quote_identifier
    return f"{name(view.schema)}.{name(table)}" if view.schema else name(table)


def known_position(connection: sa.Connection, view: ViewSource, lock: bool = False) -> ViewPosition | None:
    """Return how far the rows of a view are in its store, None if it has never run.

    lock: the position is locked until the end of the transaction.
    """
    table = table_name(connection, view, POSITIONS)
    locked = " FOR UPDATE" if lock and connection.dialect.name != "sqlite" else ""
    columns = "batch, watermark, offsets, written, id, checkpoint"
    asked = sa.text(f"SELECT {columns} FROM {table} WHERE view = :view{locked}")
    row = connection.execute(asked, {"view": view.name}).first()
    if row is None:
        return None
    batch, watermark, offsets, *others = row
    return ViewPosition(batch, watermark, tuple(json.loads(offsets)), *others)
