"""What the databases that can be written to have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from cepsql.scalar.types import STRING, UNKNOWN, Type, parse_type
from cepsql.sinks.added_columns import Columns


class SinkDatabase(ABC):
    """A database of one kind; `engine` makes connections, whose transactions lock what they read for update."""

    engine: sa.Engine
    place: str
    """Where it is, without secrets."""
    file: Path | None = None
    """The file of this machine that it is; None: it is none."""
    is_known = False
    """Whether it was written to before, so that none is made in its place."""
    key_constraint: str
    """How a table that is made here says what its key is, which may be NULL."""

    @abstractmethod
    def column_type(self, kind: Type) -> str:
        """Return the SQL of the type that holds all values of a type of Spark's."""

    @abstractmethod
    def add_rows(
        self,
        connection: sa.Connection,
        table: str,
        schema: str | None,
        columns: Columns,
        key: Sequence[str],
        tables: Iterable[pa.Table],
    ) -> None:
        """Add rows, or update those of the same key; of several rows with one key the last one stays.

        NULL is a key like others, as in GROUP BY: constraints take each NULL for a new one.
        """

    def arranged(self, rows: pa.Table, key: Sequence[str]) -> pa.Table:
        """Return rows that replace others in the best order to write them; those of one key stay in order."""
        return rows

    @abstractmethod
    def delete_rows(
        self, connection: sa.Connection, table: str, schema: str | None, key: Sequence[str], tables: Iterable[pa.Table]
    ) -> None:
        """Delete the rows with these keys; the tables have the columns of the key, where NULL is like NULL."""

    @abstractmethod
    def prepare_readers(self) -> None:
        """Let others read while rows are written."""

    @abstractmethod
    def begin(self, connection: sa.Connection, writer: str) -> None:
        """Prepare a transaction, which others may know by the name of who writes."""

    @abstractmethod
    def end_others(self, connection: sa.Connection, writer: str) -> None:
        """End the transactions of that name in other processes: one that hangs would hold its locks for ever."""

    @abstractmethod
    def passing(self, failure: Exception) -> str | None:
        """Return what is wrong in a line if it may pass by itself, None if it will not."""

    def refuses_user(self, failure: Exception) -> bool:
        """Tell whether a failure that may pass is that the database does not let the user in."""
        return False

    @abstractmethod
    def refusal(self, failure: Exception) -> str | None:
        """Return in a line why the database refuses what it was given, None if it failed otherwise."""

    @abstractmethod
    def lacking(self, failure: Exception) -> Literal["table", "right"] | None:
        """Return what is missing where a refusal is of no row: a table, or a column of it, or a right."""

    @abstractmethod
    def takes(self, found: Any, kind: str) -> bool:
        """Tell whether a column of a type of SQLAlchemy takes values of a type of Spark's."""

    def name(self, table: str, schema: str | None = None) -> str:
        """Return the SQL of a name."""
        quote = self.engine.dialect.identifier_preparer.quote_identifier
        return f"{quote(schema)}.{quote(table)}" if schema else quote(table)

    def create_table(self, table: str, schema: str | None, columns: Columns, key: Sequence[str]) -> str:
        """Return the statement that makes a table."""
        parts = [f"{self.name(name)} {self.column_type(_brought(kind))}" for name, kind in columns]
        if key:
            parts.append(f"{self.key_constraint} ({', '.join(map(self.name, key))})")
        return f"CREATE TABLE {self.name(table, schema)} ({', '.join(parts)})"


def _brought(kind: str) -> Type:
    """Return the type in which values come here: INTERVAL YEAR TO MONTH as text."""
    found = parse_type(kind)
    return STRING if found == UNKNOWN and kind.lower().startswith("interval") else found


def update_clause(database: SinkDatabase, columns: Columns, key: Sequence[str]) -> str:
    """Return the end of an INSERT that updates rows of the same key."""
    if not key:
        return ""
    others = [database.name(name) for name, _ in columns if name not in key]
    where = ", ".join(map(database.name, key))
    if not others:
        return f" ON CONFLICT ({where}) DO NOTHING"
    return f" ON CONFLICT ({where}) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in others)


def null_keys(rows: pa.Table, key: Sequence[str]) -> pa.ChunkedArray | pa.Array:
    """Return for each row whether a column of its key is NULL."""
    null = pa.repeat(False, rows.num_rows)
    for name in key:
        null = pc.or_(null, rows[name].is_null())
    return null
