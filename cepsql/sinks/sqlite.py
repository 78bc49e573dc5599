"""Tables of SQLite, whose values each have a type: times are ISO 8601 texts in UTC."""

import contextlib
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from cepsql.base.sqlite_files import sqlite_address
from cepsql.catalog import Sink
from cepsql.catalog.database_failures import first_line
from cepsql.catalog.mounts import check_mounted
from cepsql.errors import DataError, OperationalError, ProgrammingError
from cepsql.render.far_times import far_texts, has_far_times
from cepsql.render.scalars import duration_text
from cepsql.scalar.types import FRACTIONS, INTEGERS, Type, is_decimal
from cepsql.sinks.added_columns import Columns
from cepsql.sinks.database_sinks import SinkDatabase, null_keys, update_clause
from cepsql.sinks.plain_values import is_nested, json_texts
from cepsql.sinks.sink_options import Options

_EXACT_DIGITS = 15
"""SQLite would round decimals of more digits in a column of numbers."""

_BUSY_SECONDS = 5
_PAGE_BYTES, _CACHE_KILOBYTES, _LOG_PAGES = 2_048, 32_768, 16_000
_MANY_ROWS = 100
_LASTING = ("no such table", "no such column", "has no column", "syntax error")


class SQLite(SinkDatabase):
    """A file of SQLite; a transaction holds the only write lock from its beginning."""

    key_constraint = "PRIMARY KEY"

    def __init__(self, sink: Sink, options: Options, stays_open: bool = False):
        """Raises ProgrammingError for options of other databases.

        stays_open: reuse the connection for the next transaction. Opening one costs as much as writing many rows, and
                    closing it moves the whole log into the file.
        """
        path = os.path.abspath(os.path.expanduser(options.needed("path", f"{sink.name}.db")))
        for name in ("url", "user", "password", "schema"):
            if options.text(name) is not None:
                raise ProgrammingError(
                    f"sink {sink.name} USING sqlite has no option {name}", hint="options: path, table"
                )
        self.engine = sa.create_engine(
            sa.URL.create("sqlite", database=path),
            connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False},
            poolclass=sa.QueuePool if stays_open else sa.NullPool,
            **({"pool_size": 1, "max_overflow": -1} if stays_open else {}),
        )
        self._sink, self._path, self.place, self.file = sink.name, path, path, Path(path)
        sa.event.listen(self.engine, "do_connect", self._connected)
        sa.event.listen(self.engine, "connect", _leave_transactions_to_us)
        if stays_open:
            sa.event.listen(self.engine, "connect", _write_often)
            sa.event.listen(self.engine, "checkout", self._lent)
        sa.event.listen(self.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))

    def _connected(self, *_: object) -> sqlite3.Connection | None:
        """Return a connection to a file that must exist, None to let SQLite create a missing file.

        Raises OperationalError if the file is gone: SQLite would create an empty one in its place.
        """
        there = os.path.exists(self._path)
        if not self.is_known:
            if not there:
                check_mounted(Path(self._path), f"the database of sink {self._sink}")
            self.is_known = there
            return None
        if not there:
            raise OperationalError(
                f"the database {self._path} of sink {self._sink} is gone: it was moved or removed, or its disk is not "
                "mounted",
                hint="put it back: the next start resumes with this batch; "
                "CREATE OR REPLACE QUERY ... WITH NEW CHECKPOINT AS ... starts over and writes all rows again",
            )
        address = sqlite_address(self._path, writes=True)
        return sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, check_same_thread=False)

    def _lent(self, _: sqlite3.Connection, record: Any, __: object) -> None:
        """Make the pool open another connection if the file was replaced since this one was opened."""
        try:
            status = os.stat(self._path)
        except OSError as failure:
            raise sa.exc.DisconnectionError from failure
        self.is_known = True
        which = (status.st_dev, status.st_ino)
        if record.info.setdefault("file", which) != which:
            raise sa.exc.DisconnectionError

    def prepare_readers(self) -> None:
        """Switch to a write-ahead log, so that readers see the last committed transaction.

        Raises OperationalError if the file cannot be used.
        """
        try:
            with contextlib.closing(self.engine.raw_connection()) as connection:
                connection.cursor().execute("PRAGMA journal_mode = WAL")
        except (sqlite3.Error, sa.exc.SQLAlchemyError) as failure:
            raise OperationalError(
                f"the file {self._path} of {self._sink} cannot be used: {first_line(failure)}",
                hint="the folder must be there, and let this process write",
            ) from failure

    def begin(self, connection: sa.Connection, writer: str) -> None:
        """Do nothing: a file has no names for transactions."""

    def end_others(self, connection: sa.Connection, writer: str) -> None:
        """Do nothing: no server can end the transaction of another process."""

    def column_type(self, kind: Type) -> str:
        """Return the SQL of a type; a decimal of many digits is text."""
        if is_decimal(kind):
            return f"DECIMAL({kind.precision}, {kind.scale})" if kind.precision <= _EXACT_DIGITS else "TEXT"
        if kind in INTEGERS or kind.name == "boolean":
            # A key of one INTEGER column would be the rowid, which is never NULL.
            return "INT"
        return "REAL" if kind in FRACTIONS else "BLOB" if kind.name == "binary" else "TEXT"

    def takes(self, declared: Any, kind: str) -> bool:
        """Return True: any column of SQLite takes any value."""
        return True

    def add_rows(
        self,
        connection: sa.Connection,
        table: str,
        schema: str | None,
        columns: Columns,
        key: Sequence[str],
        tables: Iterable[pa.Table],
    ) -> None:
        """Add the rows one by one with one prepared statement; rows with NULL keys after deleting the old ones."""
        names = ", ".join(self.name(name) for name, _ in columns)
        places = ", ".join("?" * len(columns))
        insert = f"INSERT INTO {self.name(table)} ({names}) VALUES ({places})"
        insert += update_clause(self, columns, key)
        cursor = connection.connection.cursor()
        for rows in tables:
            null = null_keys(rows, key)
            if pc.any(null).as_py():
                self._check_null_keys(connection, table, key)
                with_null = rows.filter(null)
                for line, of_key in zip(_lines(with_null), _lines(with_null.select(list(key))), strict=True):
                    cursor.execute(self._delete(table, key), of_key)
                    cursor.execute(insert, line)
                rows = rows.filter(pc.invert(null))
            cursor.executemany(insert, _lines(rows))

    def arranged(self, rows: pa.Table, key: Sequence[str]) -> pa.Table:
        """Return many rows sorted by their key: rows with near keys are on the same pages."""
        if rows.num_rows < _MANY_ROWS or not key or any(is_nested(rows.schema.field(name).type) for name in key):
            return rows
        return rows.take(pc.sort_indices(rows, [(name, "ascending") for name in key]))

    def _check_null_keys(self, connection: sa.Connection, table: str, key: Sequence[str]) -> None:
        """Refuse NULL as a rowid: SQLite would invent one, perhaps that of a later row."""
        columns = connection.exec_driver_sql(f"PRAGMA table_info({self.name(table)})").all()
        keys = [(name, kind) for _, name, kind, _, _, place in columns if place]
        if len(key) == 1 and [(name, kind.upper()) for name, kind in keys] == [(key[0], "INTEGER")]:
            raise DataError(
                f"{key[0]} is NULL, and the number of a row in table {table}",
                hint=f"let {key[0]} be an INT PRIMARY KEY, which may be NULL, or coalesce({key[0]}, ...)",
            )

    def delete_rows(
        self, connection: sa.Connection, table: str, schema: str | None, key: Sequence[str], tables: Iterable[pa.Table]
    ) -> None:
        """Delete the rows one by one with one prepared statement."""
        cursor = connection.connection.cursor()
        for rows in tables:
            cursor.executemany(self._delete(table, key), _lines(rows.select(list(key))))

    def _delete(self, table: str, key: Sequence[str]) -> str:
        return f"DELETE FROM {self.name(table)} WHERE " + " AND ".join(f"{self.name(name)} IS ?" for name in key)

    def passing(self, failure: Exception) -> str | None:
        """Locks and failed writes are transient."""
        original = getattr(failure, "orig", failure)
        if isinstance(original, sqlite3.OperationalError) and not any(t in str(original) for t in _LASTING):
            return first_line(original)
        return None

    def refusal(self, failure: Exception) -> str | None:
        """Violated constraints."""
        original = getattr(failure, "orig", failure)
        return first_line(original) if isinstance(original, sqlite3.Error | OverflowError) else None

    def lacking(self, failure: Exception) -> Literal["table", "right"] | None:
        """Unknown tables and columns; a file has no rights."""
        return "table" if isinstance(getattr(failure, "orig", failure), sqlite3.OperationalError) else None


def _leave_transactions_to_us(connection: sqlite3.Connection, _) -> None:
    # The driver would begin a transaction only before the first change, and without the lock.
    connection.isolation_level = None


def _write_often(connection: sqlite3.Connection, _) -> None:
    # A batch changes rows all over a large view: small pages mean less to write, a large cache holds them, and the log
    # moves to the file only after many batches. An existing file keeps its page size.
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KILOBYTES}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")


def _lines(rows: pa.Table) -> list[tuple]:
    return list(zip(*map(_values, rows.columns), strict=True))


def _values(column: pa.ChunkedArray) -> list:
    kind = column.type
    if is_nested(kind):
        return json_texts(column, "UTC")
    if has_far_times(column):
        offset = "" if getattr(kind, "tz", None) is None else "+00:00"
        return _mapped(far_texts(column, "UTC"), lambda text: text + offset)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        texts = column.cast(pa.timestamp("us", "UTC")).cast(pa.string())
        return pc.replace_substring(texts, "Z", "+00:00").to_pylist()
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return column.cast(pa.string()).to_pylist()
    if pa.types.is_decimal(kind):
        return _mapped(column.to_pylist(), lambda value: format(value, "f"))
    if pa.types.is_duration(kind):
        return _mapped(column.to_pylist(), duration_text)
    if pa.types.is_floating(kind):
        # SQLite has no NaN: it would be NULL.
        return _mapped(column.to_pylist(), lambda value: "NaN" if math.isnan(value) else value)
    return column.to_pylist()


def _mapped(values: list, changed: Callable) -> list:
    return [None if value is None else changed(value) for value in values]
