"""The table of a materialized view: one transaction writes its rows and its position.

A table of cepsql's own, `cepsql_views`, has a row for each view of the database. It marks the view's table as cepsql's,
and holds the batch, the watermark and the offsets of its rows. The changes of each batch are kept beside it
(`cepsql.views.journal`).
"""

import contextlib
import datetime
import json
import time
from dataclasses import replace

import sqlalchemy as sa

from cepsql.catalog.view_store import POSITIONS, ViewSink
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.sinks.added_columns import Columns, fitted_columns, key_columns
from cepsql.sinks.database_table import OPTIONS, TableSink
from cepsql.sinks.sink_options import Options
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.frames.pieces import Pieces
from cepsql.spark.run.sink import Position
from cepsql.views.journal import KEPT_SECONDS, Journal, JournalBatch


def positions_table(schema: str | None) -> sa.Table:
    """Return the table with the positions of the views of a database."""
    return sa.Table(
        POSITIONS,
        sa.MetaData(),
        sa.Column("view", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("checkpoint", sa.Text, nullable=False),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("watermark", sa.BigInteger),
        sa.Column("offsets", sa.Text, nullable=False),
        sa.Column("written", sa.Double, nullable=False),
        schema=schema,
    )


class ViewTable(TableSink):
    """Creates and writes the table of a view; an empty table replaces that of an earlier checkpoint.

    Options: those of a table that locate it, and retain.
    """

    options = (*(name for name in OPTIONS if name not in ("table", "create_table")), "retain")
    takes_nothing = True
    stays_open = True

    def __init__(self, sink: ViewSink, writer: WriterIdentity):
        super().__init__(sink, writer)
        self._retain = Options(sink, self.options).seconds("retain", 0)
        # If rows are only added, their event time tells which ones existed at a time.
        self._keeps_versions = bool(self._retain) and not (sink.adds and sink.event_time is not None)
        self._indexes, self._event_time, self._id = sink.indexes, sink.event_time, sink.id
        self._positions = positions_table(self._schema)
        self._place = self._positions.c.view == self._table
        self._columns: Columns = ()
        self._key: list[str] = []
        self._reached = Position(None, ())

    def check(self, columns: Columns) -> None:
        """Refuse a table with the view's name that cepsql has not created."""
        taken = fitted_columns(self.sink, self.columns_to_write(columns))
        self._columns, self._key = [(name, kind) for _, name, kind in taken], key_columns(self.sink, taken)
        self._database.is_known = self.record_id is not None
        self._database.prepare_readers()

        def check(connection: sa.Connection) -> None:
            self._check_there(connection)
            row = self._position_row(connection)
            if row is not None and row.id != self._id:
                raise ProgrammingError(
                    f"the store of view {self.sink.name} has a view of this name, which another catalog made",
                    hint="give one of them another name, or a store or schema of its own",
                )
            if sa.inspect(connection).has_table(self._table, self._schema) and row is None:
                raise ProgrammingError(
                    f"the store of view {self.sink.name} has a table {self._table} that no view has written",
                    hint="rename one of them, or give the view a store or schema of its own",
                )

        self.at_once(check)

    def forget(self) -> None:
        """Remove the table of the view, and the records of its query."""
        super().forget()

        def remove(connection: sa.Connection) -> None:
            row = self._position_row(connection)
            if row is not None and row.id == self._id:
                connection.exec_driver_sql(f"DROP TABLE IF EXISTS {self._named}")
                self._journal(connection).forget()
                connection.execute(sa.delete(self._positions).where(self._place))

        self.at_once(remove)

    @property
    def _named(self) -> str:
        return self._database.name(self._table, self._schema)

    def _position_row(self, connection: sa.Connection) -> sa.Row | None:
        """Return the row with the position of the view, or None."""
        if not sa.inspect(connection).has_table(POSITIONS, self._schema):
            return None
        return connection.execute(sa.select(self._positions).where(self._place)).first()

    def claim_in(self, connection: sa.Connection) -> None:
        """Take over the table; create it if it is missing or of another checkpoint."""
        super().claim_in(connection)
        self._positions.create(connection, checkfirst=True)
        row = self._position_row(connection)
        if row is None or row.checkpoint != self.writer.checkpoint:
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {self._named}")
            self._journal(connection).forget()
            made = self._database.create_table(self._table, self._schema, self._columns, self._key)
            connection.exec_driver_sql(made)
            connection.execute(sa.delete(self._positions).where(self._place))
            begun = {"batch": -1, "watermark": None, "offsets": "[]", "written": time.time()}
            whose = {"view": self._table, "id": self._id, "checkpoint": self.writer.checkpoint}
            connection.execute(sa.insert(self._positions).values(whose | begun))
            row = self._position_row(connection)
        assert row is not None
        self._reached = Position(row.watermark, ())
        position = JournalBatch(row.batch, row.watermark, tuple(json.loads(row.offsets)), row.written, 0)
        self._journal(connection).make(position)
        self._make_indexes(connection)

    def _journal(self, connection: sa.Connection) -> Journal:
        return Journal(connection, self._table, self._schema)

    def _make_indexes(self, connection: sa.Connection) -> None:
        """Create the indexes that the view declares, and drop those that it declared before."""
        wanted = {f"{self._table}_by_{name}": name for name in (*self._indexes, *self._timed) if [name] != self._key}
        there = {index["name"] for index in sa.inspect(connection).get_indexes(self._table, self._schema)}
        for name in there - wanted.keys():
            if str(name).startswith(f"{self._table}_by_"):
                connection.exec_driver_sql(f"DROP INDEX {self._database.name(str(name), self._schema)}")
        for name, column in wanted.items():
            if name not in there:
                columns = self._database.name(column)
                connection.exec_driver_sql(f"CREATE INDEX {self._database.name(name)} ON {self._named} ({columns})")

    @property
    def _timed(self) -> tuple[str, ...]:
        """The column by which old rows are removed, if any."""
        return (self._event_time,) if self._retain and self._event_time is not None else ()

    def _write(self, pieces: Pieces, columns: Columns, key: list[str], batch: int) -> int:
        # Call Java before the transaction, so that nobody waits for it behind the database's lock.
        self.reach(self.position(batch))
        return super()._write(pieces, columns, key, batch)

    def reach(self, position: Position) -> None:
        """Set the position of the query after the next batch; a watermark never goes back."""
        watermark = self._reached.watermark if position.watermark is None else position.watermark
        self._reached = replace(position, watermark=watermark)

    def _written(self, connection: sa.Connection, batch: int) -> None:
        position = self._reached
        for column in self._timed:
            self._drop_old(connection, self._database.name(column))
        written = time.time()
        now = {
            "batch": batch,
            "watermark": position.watermark,
            "offsets": json.dumps(position.offsets),
            "written": written,
        }
        changed = connection.execute(sa.update(self._positions).where(self._place).values(now))
        if not changed.rowcount:
            raise OperationalError(
                f"the store of view {self.sink.name} has lost what it knew of the view",
                hint=f"put the table {POSITIONS} back, or CREATE OR REPLACE MATERIALIZED VIEW ... WITH NEW CHECKPOINT",
            )
        # Rows that are only added may expire sooner than readers come back.
        retention = max(self._retain, KEPT_SECONDS) if self._timed else self._retain or KEPT_SECONDS
        self._journal(connection).record(
            batch, position.watermark, position.offsets, written, retention, self._keeps_versions
        )

    def _drop_old(self, connection: sa.Connection, column: str) -> None:
        """Remove the rows that are more than `retain` older than the newest one."""
        newest = connection.exec_driver_sql(f"SELECT max({column}) FROM {self._named}").scalar()
        # Rows with years beyond Python's times stay.
        with contextlib.suppress(OverflowError, ValueError):
            oldest = _before(newest, self._retain)
            if oldest is not None:
                marker = ":oldest"
                connection.execute(sa.text(f"DELETE FROM {self._named} WHERE {column} < {marker}"), {"oldest": oldest})


def _before(newest: object, seconds: float) -> object:
    """Return a time, in the form that the database returns it, moved back by some seconds; None for None."""
    length = datetime.timedelta(seconds=seconds)
    if newest is None or isinstance(newest, datetime.date):
        return None if newest is None else newest - length
    text = str(newest)
    if len(text) == len("2026-01-01"):
        return (datetime.date.fromisoformat(text) - length).isoformat()
    return (datetime.datetime.fromisoformat(text) - length).isoformat(" ", "microseconds")
