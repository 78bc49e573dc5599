"""The interface of databases that are sinks."""

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
    """A database; `engine` makes connections whose transactions lock the rows that they read for update."""

    engine: sa.Engine
    place: str
    """Its address, without secrets."""
    file: Path | None = None
    """Its local file; None for a server."""
    is_known = False
    """Whether the query has written to it before, so that a missing database is an error."""
    key_constraint: str
    """The constraint of the key, which may be NULL, in a table that cepsql creates."""

    @abstractmethod
    def column_type(self, kind: Type) -> str:
        """Return the SQL type that holds all values of a Spark type."""

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
        """Add rows, or update those with the same key; of several rows with one key the last one wins.

        NULL equals NULL in keys, as in GROUP BY, although constraints treat NULLs as distinct.
        """

    def arranged(self, rows: pa.Table, key: Sequence[str]) -> pa.Table:
        """Return upserted rows in the best order to write them; rows with one key keep their order."""
        return rows

    @abstractmethod
    def delete_rows(
        self, connection: sa.Connection, table: str, schema: str | None, key: Sequence[str], tables: Iterable[pa.Table]
    ) -> None:
        """Delete the rows with these keys; the tables have the key columns, where NULL equals NULL."""

    @abstractmethod
    def prepare_readers(self) -> None:
        """Enable reads during writes."""

    @abstractmethod
    def begin(self, connection: sa.Connection, writer: str) -> None:
        """Prepare a transaction under the name of its writer."""

    @abstractmethod
    def end_others(self, connection: sa.Connection, writer: str) -> None:
        """End the transactions of that name in other processes: one that hangs would hold its locks forever."""

    @abstractmethod
    def passing(self, failure: Exception) -> str | None:
        """Return the message of a transient failure in one line, None for other failures."""

    def refuses_user(self, failure: Exception) -> bool:
        """Tell whether a transient failure is a failed login."""
        return False

    @abstractmethod
    def refusal(self, failure: Exception) -> str | None:
        """Return in one line why the database refuses the statement, None for other failures."""

    @abstractmethod
    def lacking(self, failure: Exception) -> Literal["table", "right"] | None:
        """Return what is missing if the refusal is not about a row: a table or a column of it, or a right."""

    @abstractmethod
    def takes(self, declared: Any, kind: str) -> bool:
        """Tell whether a column of the SQLAlchemy type `declared` takes values of a Spark type."""

    def name(self, table: str, schema: str | None = None) -> str:
        """Return the quoted SQL name of a table."""
        quote = self.engine.dialect.identifier_preparer.quote_identifier
        return f"{quote(schema)}.{quote(table)}" if schema else quote(table)

    def create_table(self, table: str, schema: str | None, columns: Columns, key: Sequence[str]) -> str:
        """Return the statement that creates a table."""
        parts = [f"{self.name(name)} {self.column_type(_brought(kind))}" for name, kind in columns]
        if key:
            parts.append(f"{self.key_constraint} ({', '.join(map(self.name, key))})")
        return f"CREATE TABLE {self.name(table, schema)} ({', '.join(parts)})"


def _brought(kind: str) -> Type:
    """Return the type in which values arrive: INTERVAL YEAR TO MONTH as text."""
    parsed = parse_type(kind)
    return STRING if parsed == UNKNOWN and kind.lower().startswith("interval") else parsed


def update_clause(database: SinkDatabase, columns: Columns, key: Sequence[str]) -> str:
    """Return the ON CONFLICT clause of an INSERT that updates rows with the same key."""
    if not key:
        return ""
    others = [database.name(name) for name, _ in columns if name not in key]
    where = ", ".join(map(database.name, key))
    if not others:
        return f" ON CONFLICT ({where}) DO NOTHING"
    return f" ON CONFLICT ({where}) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in others)


def null_keys(rows: pa.Table, key: Sequence[str]) -> pa.ChunkedArray | pa.Array:
    """Return for each row whether a key column is NULL."""
    null = pa.repeat(False, rows.num_rows)
    for name in key:
        null = pc.or_(null, rows[name].is_null())
    return null
