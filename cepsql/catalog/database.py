"""The database of a catalog: an SQLite file, or PostgreSQL by URL."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from cepsql.base.secrets import redact, without_password
from cepsql.base.sqlite_files import sqlite_address
from cepsql.catalog.mounts import check_mounted
from cepsql.catalog.postgresql_link import connection_settings, set_in_transaction
from cepsql.catalog.references import referenced_values, resolved
from cepsql.catalog.schema import CATALOG, migrate
from cepsql.errors import OperationalError, ProgrammingError

_LOCK = 0x6365_7073
"""The advisory lock of PostgreSQL for creating or migrating a catalog."""

_SECONDS_OF_PATIENCE = 30
"""How long a process waits for a transaction of another one."""

_SECONDS_OF_CREATION = 1.0
"""How long a process may take between creating the file of a catalog and its tables."""

_NO_TABLE = f"no such table: {CATALOG.name}"
"""The message of SQLite for an empty file."""

_LOCKED = ("database is locked", "lock timeout")
_LOCKED_HINT = "another process has been writing to it for long: let a frozen process continue, or end it"
"""The messages of SQLite and PostgreSQL after _SECONDS_OF_PATIENCE, and the hint."""

_NO_ROOM = ("disk I/O error", "disk is full", "unable to open database file")
"""Messages of SQLite on a full disk, among other causes: it creates files even before it reads."""

_UNWRITABLE = ("readonly database", "unable to open database file")
"""Messages of SQLite without permission to write."""

_DAMAGED = ("disk image is malformed", "is not a database", "No row was found")
_DAMAGED_HINT = "it is damaged, or no catalog: put a copy in its place"
_FILE_DAMAGED_HINT = f"{_DAMAGED_HINT}, without the files beside it whose names end in -wal and -shm"
"""The messages for a damaged database, and the hints: SQLite would treat these files as a part of the copy."""

_PATIENT = {
    "lock_timeout": f"{_SECONDS_OF_PATIENCE}s",
    # A transaction of a frozen process or a lost host ends before other processes give up.
    "idle_in_transaction_session_timeout": "10s",
}
"""Settings of a writing transaction of PostgreSQL."""


class Database:
    """Transactions on the database of a catalog, whose clock is authoritative.

    location: a path of an SQLite file, or a URL of SQLAlchemy; references in it are resolved, and PostgreSQL is reached
              through psycopg.
    create:   whether a missing catalog is created, True or False; None: unless there is an empty SQLite file, which may
              be the rest of a damaged catalog.
    Raises OperationalError if the catalog is missing and not created, or cannot be used.
    """

    def __init__(self, location: str, create: bool | None = None):
        self.location = location
        options = [("url", location)]
        self._hidden = referenced_values(options)
        self._engine = _engine(resolved(options, "the catalog")["url"])
        self._existing_file: Path | None = None
        self._begin(create)

    def _begin(self, create: bool | None) -> None:
        """Create the catalog if needed, or migrate an older one."""
        made = False
        if self.file is not None:
            if create is False and not self.file.exists():
                raise self._missing("is missing")
            if not self.file.exists():
                check_mounted(self.file.absolute(), "a catalog")
            with self._translated():
                made = create is not False and _made(self.file)
            self._existing_file = self.file
        end = time.monotonic() + _SECONDS_OF_CREATION
        while True:
            with self._translated():
                # SQLite writes to an empty file as soon as it is opened.
                has_bytes = self.file is None or self.file.stat().st_size
            if made or create or has_bytes:
                with self.writing(first=True) as connection:
                    if made or self._may_hold(connection, create):
                        migrate(connection)
                        return
            if time.monotonic() >= end:
                raise self._missing("is empty")
            # Another process may be about to make the tables.
            time.sleep(_SECONDS_OF_CREATION / 20)

    def _may_hold(self, connection: sa.Connection, create: bool | None) -> bool:
        """Tell whether an existing database holds a catalog, or may get one."""
        tables = sa.inspect(connection)
        if create is None and self.file is not None:
            return bool(tables.get_table_names())
        return create is not False or tables.has_table(CATALOG.name)

    def _missing(self, what: str) -> OperationalError:
        return OperationalError(
            f"the catalog {self.shown} {what}",
            hint="if its disk is not mounted, mount it; if it is damaged, put a copy in its place; "
            "cepsql serve --create-catalog makes a new one",
        )

    @property
    def file(self) -> Path | None:
        """The SQLite file, None for another database."""
        name = self._engine.url.database
        return Path(name) if self._engine.dialect.name == "sqlite" and name and name != ":memory:" else None

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Lend a connection whose reads see one moment.

        Raises OperationalError if the database cannot be reached.
        """
        with self._translated(), self._engine.connect() as connection:
            yield connection.execution_options(writes=False)

    @contextmanager
    def writing(self, first: bool = False) -> Iterator[sa.Connection]:
        """Lend a connection in an exclusive writing transaction, which is committed at the end.

        first: the catalog may not have its tables yet.
        Raises OperationalError if the database cannot be reached.
        """
        with self._translated(), self._engine.begin() as connection:
            if self._engine.dialect.name != "sqlite":
                set_in_transaction(connection, _PATIENT)
                lock = sa.select(sa.func.pg_advisory_xact_lock(_LOCK)) if first else CATALOG.select().with_for_update()
                connection.execute(lock)
            yield connection

    @property
    def now(self) -> sa.ColumnElement[float]:
        """The seconds since 1970 by the clock of the database, as an expression."""
        if self._engine.dialect.name == "sqlite":
            return sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Double)
        return sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Double)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        # SQLite would create an empty file in its place.
        if self._existing_file is not None and not self._existing_file.exists():
            raise self._gone()
        try:
            yield
        except OSError as error:
            said = (
                "unable to open database file" if isinstance(error, PermissionError) else error.strerror or str(error)
            )
            raise OperationalError(f"the catalog {self.shown} cannot be used: {said}", hint=self._hint(said)) from None
        except sa.exc.SQLAlchemyError as error:
            if self._existing_file is not None and not self._existing_file.exists():
                raise self._gone() from None
            cause = getattr(error, "orig", None) or error
            said = redact(" ".join(str(cause).split()), self._hidden)
            if _NO_TABLE in said:
                raise self._gone() from None
            raise OperationalError(f"the catalog {self.shown} cannot be used: {said}", hint=self._hint(said)) from None
        except json.JSONDecodeError:
            said = "a value in it is cut short, or no JSON"
            raise OperationalError(f"the catalog {self.shown} cannot be used: {said}", hint=self._damaged()) from None

    def _hint(self, said: str) -> str | None:
        """Return the hint for a message of the database."""
        if any(words in said for words in _LOCKED):
            return _LOCKED_HINT
        if any(words in said for words in _DAMAGED):
            return self._damaged()
        if self.file is not None and any(words in said for words in _NO_ROOM):
            with suppress(OSError):
                if not shutil.disk_usage(self.file.parent).free:
                    return f"the disk of {self.file.parent} is full: make room"
        if any(words in said for words in _UNWRITABLE):
            return "who uses a catalog, be it to look, must be able to write its file and the folder of that"
        return None

    def _damaged(self) -> str:
        return _DAMAGED_HINT if self.file is None else _FILE_DAMAGED_HINT

    def _gone(self) -> OperationalError:
        return OperationalError(
            f"the catalog {self.shown} is gone: it was moved or removed, or its disk is not there",
            hint="put it back, with the files beside it whose names end in -wal and -shm",
        )

    @property
    def shown(self) -> str:
        """The location without its password, for messages."""
        return without_password(self.location)


def _engine(location: str) -> sa.Engine:
    url = re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", location) if "://" in location else ""
    if url and not url.startswith(("postgresql+psycopg:", "sqlite:")):
        scheme = url.partition(":")[0]
        raise ProgrammingError(f"a catalog cannot be kept in {scheme}", hint="a path of a file, or postgresql://...")
    if url.startswith("postgresql"):
        try:
            settings = connection_settings(sa.make_url(url), 5)
            return sa.create_engine(url, pool_pre_ping=True, connect_args=settings)
        except ModuleNotFoundError:
            raise OperationalError("PostgreSQL needs psycopg", hint="pip install 'cepsql[postgresql]'") from None
    if not url:
        path = Path(location).expanduser().absolute()
        if not path.parent.is_dir():
            raise OperationalError(f"the catalog {location} cannot be used: the folder {path.parent} does not exist")
    engine = sa.create_engine(
        url or sa.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _SECONDS_OF_PATIENCE},
        poolclass=NullPool,
    )
    sa.event.listen(engine, "do_connect", _addressed)
    sa.event.listen(engine, "connect", _prepared)
    sa.event.listen(engine, "begin", _begun)
    return engine


def _made(file: Path) -> bool:
    """Create an empty file that only its owner can read, as the files that SQLite creates beside it; return whether it
    was missing."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _addressed(dialect, record, arguments: list, named: dict) -> None:
    # SQLite creates a missing file, such as one whose disk has just gone.
    if arguments and os.path.isabs(arguments[0]):
        arguments[0] = sqlite_address(arguments[0], writes=True)
        named["uri"] = True


def _prepared(connection, record) -> None:
    # `_begun` starts transactions, not Python's driver.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begun(connection: sa.Connection) -> None:
    # A transaction that reads before it writes could not get the lock any more.
    writes = connection.get_execution_options().get("writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
