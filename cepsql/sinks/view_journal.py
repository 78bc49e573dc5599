"""The changes of a view, batch by batch, as the transactions that make them leave them in its store.

They are kept as long as somebody reads them, or `retain` asks for the view as it was. Triggers write them, so that they
say what has changed in the table, whatever the query gave.
"""

import time
from collections.abc import Sequence

import sqlalchemy as sa

from cepsql.catalog.view_store import BATCH, BATCHES, GONE, PLACE, changes_table
from cepsql.sinks.columns import Columns
from cepsql.sinks.database import Database
from cepsql.views.journal_tables import batches_table, readers_table

UNSEEN_SECONDS = 7 * 86_400
"""How long the changes are kept for a reader that does not come back."""

_DELETED_AT_ONCE = 100_000
"""How many changes a transaction removes at most, so that none takes long."""


class ViewJournal:
    """Keeps the changes of a view; each method is part of a transaction of its writer.

    retain: for how many seconds of event time back versions of the view are kept, 0 for none.
    """

    def __init__(self, database: Database, view: str, schema: str | None, retain: float):
        self._database, self._view, self._schema, self._retain = database, view, schema, retain
        self._batches, self._readers = batches_table(schema), readers_table(schema)
        self._table = database.name(changes_table(view), schema)
        self._trigger = database.name(f"cepsql_changes_{view}")

    def make(self, connection: sa.Connection) -> None:
        """Make the tables that all views of a store share."""
        self._batches.create(connection, checkfirst=True)
        self._readers.create(connection, checkfirst=True)

    def remove(self, connection: sa.Connection) -> None:
        """Remove all that is kept of the view."""
        inspector = sa.inspect(connection)
        for table in (self._batches, self._readers):
            if inspector.has_table(table.name, self._schema):
                connection.execute(sa.delete(table).where(table.c.view == self._view))
        self._drop(connection)

    def begin(self, connection: sa.Connection, batch: int, before: sa.Row, columns: Columns) -> None:
        """Prepare for the changes of a batch; `before` is the position of the view so far."""
        if not self._needed(connection):
            self._end(connection)
            return
        if not self._is_there(connection):
            self._create(connection, [name for name, _ in columns], columns)
            so_far = {name: getattr(before, name) for name in ("batch", "watermark", "offsets", "written")}
            connection.execute(sa.insert(self._batches).values(view=self._view, **so_far))
        begun = {"view": self._view, "batch": batch, "watermark": None, "offsets": "[]", "written": time.time()}
        connection.execute(sa.insert(self._batches).values(begun))

    def finish(self, connection: sa.Connection, batch: int, position: dict) -> None:
        """Enter the position of a batch whose rows are written, and remove what nobody needs any more."""
        if not self._is_there(connection):
            return
        table = self._batches.c
        mine = sa.and_(table.view == self._view, table.batch == batch)
        connection.execute(sa.update(self._batches).where(mine).values(position))
        first = self._first_needed(connection, position)
        if first is None:
            return
        connection.execute(sa.delete(self._batches).where(table.view == self._view, table.batch < first))
        connection.exec_driver_sql(
            f"DELETE FROM {self._table} WHERE {PLACE} IN (SELECT {PLACE} FROM {self._table} "
            f"WHERE {BATCH} <= {first} ORDER BY {PLACE} LIMIT {_DELETED_AT_ONCE})"
        )

    def _needed(self, connection: sa.Connection) -> bool:
        forgotten = sa.and_(self._readers.c.view == self._view, self._readers.c.seen < time.time() - UNSEEN_SECONDS)
        connection.execute(sa.delete(self._readers).where(forgotten))
        asked = sa.select(self._readers.c.reader).where(self._readers.c.view == self._view).limit(1)
        return bool(self._retain) or connection.execute(asked).first() is not None

    def _first_needed(self, connection: sa.Connection, position: dict) -> int | None:
        """Return the earliest batch as of which the view is asked for, or read on."""
        readers, batches = self._readers.c, self._batches.c
        read = sa.select(sa.func.min(readers.batch)).where(readers.view == self._view)
        found = [connection.execute(read).scalar()]
        if self._retain:
            if position["watermark"] is None:
                old = batches.written <= position["written"] - self._retain
            else:
                # A version without a watermark is of a time before all others.
                oldest = position["watermark"] - int(self._retain * 1_000_000)
                old = sa.or_(batches.watermark.is_(None), batches.watermark <= oldest)
            newest = sa.select(sa.func.max(batches.batch)).where(batches.view == self._view, old)
            found.append(connection.execute(newest).scalar())
            if found[-1] is None:
                return None
        return min((batch for batch in found if batch is not None), default=None)

    def _is_there(self, connection: sa.Connection) -> bool:
        return sa.inspect(connection).has_table(changes_table(self._view), self._schema)

    def _end(self, connection: sa.Connection) -> None:
        if self._is_there(connection):
            connection.execute(sa.delete(self._batches).where(self._batches.c.view == self._view))
            self._drop(connection)

    def _drop(self, connection: sa.Connection) -> None:
        for statement in self._drop_statements(connection):
            connection.exec_driver_sql(statement)

    def _drop_statements(self, connection: sa.Connection) -> list[str]:
        function = self._database.name(f"cepsql_changed_{self._view}", self._schema)
        dropped = [f"DROP TABLE IF EXISTS {self._table}"]
        if connection.dialect.name == "sqlite":
            return [
                *(f"DROP TRIGGER IF EXISTS {self._named(kind)}" for kind in ("insert", "update", "delete")),
                *dropped,
            ]
        # Its trigger goes with it.
        return [f"DROP FUNCTION IF EXISTS {function}() CASCADE", *dropped]

    def _named(self, kind: str) -> str:
        return self._database.name(f"cepsql_{kind}_{self._view}")

    def _create(self, connection: sa.Connection, names: Sequence[str], columns: Columns) -> None:
        self._drop(connection)
        sqlite = connection.dialect.name == "sqlite"
        made = self._database.create_table(changes_table(self._view), self._schema, columns, ())
        own = f"{PLACE} INTEGER PRIMARY KEY AUTOINCREMENT" if sqlite else f"{PLACE} bigserial PRIMARY KEY"
        head, _, tail = made.partition("(")
        connection.exec_driver_sql(f"{head}({own}, {BATCH} BIGINT NOT NULL, {GONE} SMALLINT NOT NULL, {tail}")
        index = self._database.name(f"cepsql_changes_{self._view}_by_batch")
        connection.exec_driver_sql(f"CREATE INDEX {index} ON {self._table} ({BATCH})")
        for statement in self._triggers(names) if sqlite else self._function(names):
            connection.exec_driver_sql(statement)

    def _insert(self, names: Sequence[str], version: str) -> str:
        quoted = [self._database.name(name) for name in names]
        values = ", ".join(f"{version}.{name}" for name in quoted)
        batches = self._database.name(BATCHES, self._schema)
        # As in names, the driver of PostgreSQL takes a percent sign for a parameter.
        percent = "%" if self._database.key_constraint == "PRIMARY KEY" else "%%"
        view = "'" + self._view.replace("'", "''").replace("%", percent) + "'"
        batch = f"(SELECT max(batch) FROM {batches} WHERE view = {view})"
        gone = int(version == "OLD")
        into = f"INSERT INTO {self._table} ({BATCH}, {GONE}, {', '.join(quoted)})"
        return f"{into} VALUES ({batch}, {gone}, {values});"

    def _triggers(self, names: Sequence[str]) -> list[str]:
        """Return the statements that make the triggers of SQLite."""
        table = self._database.name(self._view)
        old, new = self._insert(names, "OLD"), self._insert(names, "NEW")
        quoted = [self._database.name(name) for name in names]
        differs = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in quoted)
        return [
            f"CREATE TRIGGER {self._named('insert')} AFTER INSERT ON {table} BEGIN {new} END",
            f"CREATE TRIGGER {self._named('update')} AFTER UPDATE ON {table} WHEN {differs} BEGIN {old} {new} END",
            f"CREATE TRIGGER {self._named('delete')} AFTER DELETE ON {table} BEGIN {old} END",
        ]

    def _function(self, names: Sequence[str]) -> list[str]:
        """Return the statements that make the trigger of PostgreSQL."""
        function = self._database.name(f"cepsql_changed_{self._view}", self._schema)
        old, new = self._insert(names, "OLD"), self._insert(names, "NEW")
        body = (
            f"BEGIN IF TG_OP = 'UPDATE' AND OLD IS NOT DISTINCT FROM NEW THEN RETURN NULL; END IF; "
            f"IF TG_OP <> 'INSERT' THEN {old} END IF; IF TG_OP <> 'DELETE' THEN {new} END IF; RETURN NULL; END"
        )
        table = self._database.name(self._view, self._schema)
        return [
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $cepsql${body}$cepsql$",
            f"CREATE TRIGGER {self._trigger} AFTER INSERT OR UPDATE OR DELETE ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION {function}()",
        ]
