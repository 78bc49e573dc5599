"""A table of a database: one transaction writes the rows and the number of their batch.

A table of cepsql's own, `cepsql_writers`, has a row for each writing query and each of its checkpoints: the epoch and
the number of the last batch. The row is locked while a batch is written, so that neither a repeated batch is written
nor a batch of a process that another one has replaced.

The checkpoint knows that the row exists: a database without it is not the one that the query has written to, and is
refused.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pyspark.sql import DataFrame

from cepsql.analysis.clauses.emit_clause import GONE, OPERATION, THERE
from cepsql.base.secrets import redact
from cepsql.catalog import Sink
from cepsql.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from cepsql.render.sound_text import sound_text
from cepsql.sinks.added_columns import Columns, fitted_columns, key_columns
from cepsql.sinks.database_sinks import SinkDatabase
from cepsql.sinks.fitted import PATIENCE_SECONDS, FittedSink, Unavailable
from cepsql.sinks.sink_options import Options
from cepsql.sinks.writer import WriterIdentity, fenced
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.frames.pieces import Pieces

OPTIONS = ("path", "url", "user", "password", "table", "schema", "create_table", "retry_for")

WRITERS = "cepsql_writers"


class TableSink(FittedSink):
    """Adds rows to a table, or updates them by the key of the sink: of rows with one key the last one wins. With a key
    it applies changes: each batch deletes rows first, then adds or updates others.

    Options: path (of SQLite's file) or url (of PostgreSQL), user, password, table (default: the name of the sink),
    schema, create_table ('true' creates a missing table), retry_for (default 10 minutes).

    options:       the names of the options.
    takes_nothing: a batch without rows is a transaction, too.
    stays_open:    reuse a connection for the next batch.
    """

    options: tuple[str, ...] = OPTIONS
    takes_nothing = False
    stays_open = False

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__(sink, writer)
        options = Options(sink, self.options)
        self.patience = options.seconds("retry_for", PATIENCE_SECONDS)
        self._create = options.flag("create_table")
        self._database: SinkDatabase = _open_database(sink, options, self.stays_open)
        self._table, self._schema = options.text("table") or sink.name, options.text("schema")
        self.place = f"{sink.format.lower()} {self._database.place} {self._database.name(self._table, self._schema)}"
        self.folder = self._database.file
        # The length of a transaction's name is limited.
        who = hashlib.sha256(repr((self._schema, self._table, writer.query)).encode()).hexdigest()[:16]
        self._name = f"cepsql-{who}"
        self._writers = sa.Table(
            WRITERS,
            sa.MetaData(),
            sa.Column("sink", sa.Text, primary_key=True),
            sa.Column("query", sa.Text, primary_key=True),
            sa.Column("checkpoint", sa.Text, primary_key=True),
            sa.Column("epoch", sa.BigInteger, nullable=False),
            sa.Column("batch", sa.BigInteger, nullable=False),
            sa.Column("active", sa.Boolean, nullable=False),
            schema=self._schema,
        )
        self._mine = sa.and_(
            self._writers.c.sink == self._table,
            self._writers.c.query == writer.query,
            self._writers.c.checkpoint == writer.checkpoint,
        )

    def check(self, columns: Columns) -> None:
        """Refuse columns that do not fit the table, and a missing table unless it may be created."""
        taken = fitted_columns(self.sink, self.columns_to_write(columns))
        fitted = [(name, kind) for _, name, kind in taken]
        key = key_columns(self.sink, taken)
        self._database.is_known = self.record_id is not None

        def check(connection: sa.Connection) -> None:
            self._check_there(connection)
            inspector = sa.inspect(connection)
            if inspector.has_table(self._table, self._schema):
                self._check_columns(inspector, fitted, key)
            elif self._create:
                connection.exec_driver_sql(self._database.create_table(self._table, self._schema, fitted, key))
            else:
                hint = f"create it, or add the option create_table 'true' to sink {self.sink.name}"
                raise ProgrammingError(f"the database of sink {self.sink.name} has no table {self._table}", hint=hint)

        self.at_once(check)

    def claim(self) -> None:
        """Take over the table from earlier epochs of the query, and from its other checkpoints."""
        self.at_once(self.claim_in)
        self.recorded = True

    def forget(self) -> None:
        """Remove the query's rows in the table of writers; a process that still writes is refused."""
        of_query = sa.and_(self._writers.c.sink == self._table, self._writers.c.query == self.writer.query)

        def remove(connection: sa.Connection) -> None:
            if sa.inspect(connection).has_table(WRITERS, self._schema):
                self._database.end_others(connection, self._name)
                connection.execute(sa.delete(self._writers).where(of_query))

        self.at_once(remove)

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write a micro-batch in one transaction, unless it was written before."""
        columns = self.columns_to_write(column_types(frame))
        key = key_columns(self.sink, fitted_columns(self.sink, columns))
        with self.collected(frame) as pieces:
            if not pieces.rows and not self.takes_nothing:
                return 0
            return self.persistently(lambda: self._write(pieces, columns, key, batch), self.patience)

    def close(self) -> None:
        """Make a waiting batch fail, and close unused connections."""
        super().close()
        self._database.engine.dispose()

    def _check_there(self, connection: sa.Connection) -> None:
        """Raise OperationalError if the database lacks the query's row, which the checkpoint expects.

        The row of an earlier checkpoint may have been removed with a dropped query.
        """
        id = self.writer.checkpoint if self.recorded else self.record_id
        if id is None:
            return
        there = sa.inspect(connection).has_table(WRITERS, self._schema)
        if there and id == self.writer.checkpoint:
            there = connection.execute(sa.select(self._writers).where(self._mine)).first() is not None
        if not there:
            raise self.lost(f"the table {WRITERS} in its database")

    def claim_in(self, connection: sa.Connection) -> None:
        """Do what `claim` does within a transaction."""
        self._check_there(connection)
        self._writers.create(connection, checkfirst=True)
        of_query = sa.and_(self._writers.c.sink == self._table, self._writers.c.query == self.writer.query)
        statement = sa.select(self._writers).where(of_query)
        self._check_mine(connection.execute(statement).all())
        # An earlier owner may hang within a batch.
        self._database.end_others(connection, self._name)
        mine = self._check_mine(connection.execute(statement.with_for_update()).all())
        connection.execute(sa.update(self._writers).where(of_query).values(active=False))
        claimed = {"epoch": self.writer.epoch, "active": True}
        if mine is not None:
            connection.execute(sa.update(self._writers).where(self._mine).values(claimed))
        else:
            who = {"sink": self._table, "query": self.writer.query, "checkpoint": self.writer.checkpoint, "batch": -1}
            connection.execute(sa.insert(self._writers).values(who | claimed))

    def _check_mine(self, rows: Sequence[sa.Row]) -> sa.Row | None:
        """Return the checkpoint's row among those of the query, or None; refuse to write as an earlier epoch."""
        mine = next((row for row in rows if row.checkpoint == self.writer.checkpoint), None)
        if mine is not None:
            # An older copy of the checkpoint has an earlier epoch, too.
            self.check_last_batch(mine.batch)
            if mine.epoch > self.writer.epoch:
                raise fenced(self.sink, self.writer)
        return mine

    def _write(self, pieces: Pieces, columns: Columns, key: list[str], batch: int) -> int:
        self.transaction(lambda connection: self.write_in(connection, pieces, columns, key, batch))
        return pieces.rows

    def write_in(
        self, connection: sa.Connection, pieces: Iterable[pa.Table], columns: Columns, key: Sequence[str], batch: int
    ) -> None:
        """Write a micro-batch within a transaction, unless it was written before.

        pieces: its rows, in order; they can be iterated again.
        """
        row = connection.execute(sa.select(self._writers).where(self._mine).with_for_update()).first()
        if row is None:
            raise self.lost(f"the table {WRITERS} in its database")
        if not row.active or row.epoch != self.writer.epoch:
            raise fenced(self.sink, self.writer)
        if batch <= row.batch:
            return
        names = [name for name, _ in columns]
        if self.applies:
            gone = (sound_text(_of(table, GONE, key)) for table in pieces)
            self._database.delete_rows(connection, self._table, self._schema, key, gone)
            there = (sound_text(_of(table, THERE, names)) for table in pieces)
            tables = (self._database.arranged(table, key) for table in there)
        else:
            tables = (sound_text(table) for table in pieces)
        self._database.add_rows(connection, self._table, self._schema, columns, key, tables)
        connection.execute(sa.update(self._writers).where(self._mine).values(batch=batch))
        self._written(connection, batch)

    def _written(self, connection: sa.Connection, batch: int) -> None:
        """Hook: finish the transaction of a batch after its rows are written."""

    def _check_columns(self, inspector: sa.Inspector, columns: Columns, key: list[str]) -> None:
        table_columns = {column["name"]: column for column in inspector.get_columns(self._table, self._schema)}
        for name, kind in columns:
            if name not in table_columns:
                listed = ", ".join(table_columns)
                raise ProgrammingError(
                    f"table {self._table} of sink {self.sink.name} has no column {name}", hint=f"its columns: {listed}"
                )
            if table_columns[name].get("computed") or (key and table_columns[name].get("identity", {}).get("always")):
                hint = f"leave {name} out of the query, or make it an ordinary column of the table"
                raise ProgrammingError(f"table {self._table} of sink {self.sink.name} makes {name} itself", hint=hint)
            if not self._database.takes(table_columns[name]["type"], kind):
                shown = table_columns[name]["type"].compile(dialect=self._database.engine.dialect)
                hint = f"CAST({name} AS ...) gives another type"
                raise ProgrammingError(
                    f"{name} is {kind}, and table {self._table} of sink {self.sink.name} takes {shown}",
                    hint=hint,
                )
        names = {name for name, _ in columns}
        primary = inspector.get_pk_constraint(self._table, self._schema)["constrained_columns"]
        unique: list[list] = [primary]
        unique += [i["column_names"] for i in inspector.get_unique_constraints(self._table, self._schema)]
        # A partial index is not a key of all rows.
        unique += [
            index["column_names"]
            for index in inspector.get_indexes(self._table, self._schema)
            if index["unique"] and not any(option.endswith("_where") for option in index.get("dialect_options", ()))
        ]
        for name, column in table_columns.items():
            has_default = column["default"] is not None or column.get("identity") or column.get("computed")
            if name not in names and not column["nullable"] and not has_default:
                hint = f"the query must give {name}, or the table a default for it"
                raise ProgrammingError(f"the column {name} of table {self._table} needs a value", hint=hint)
        if key and set(key) not in map(set, unique):
            hint = f"ALTER TABLE or CREATE UNIQUE INDEX on ({', '.join(key)})"
            raise ProgrammingError(
                f"table {self._table} has no PRIMARY KEY or UNIQUE of the key of sink {self.sink.name}", hint=hint
            )

    def at_once(self, action: Callable[[sa.Connection], None]) -> None:
        """Run an action in a transaction of its own, without retries."""
        try:
            self.transaction(action)
        except Unavailable as failure:
            hint = "look at user, password and database in its url" if failure.refused else "nothing was started"
            raise OperationalError(self.said(failure), hint=hint) from failure
        finally:
            self._database.engine.dispose()

    def transaction(self, action: Callable[[sa.Connection], Any]) -> Any:
        """Return the result of an action within one transaction; raises as `failures`."""
        with self.failures():
            try:
                with self._database.engine.begin() as connection:
                    self._database.begin(connection, self._name)
                    return action(connection)
            except BaseException:
                # The reused connection may be the cause.
                self._database.engine.dispose()
                raise

    @contextlib.contextmanager
    def failures(self) -> Iterator[None]:
        """Raise Unavailable for transient failures, OperationalError or DataError for what the database refuses."""
        try:
            yield
        except Exception as failure:
            if (reason := self._database.passing(failure)) is not None:
                raise Unavailable(reason, self._database.refuses_user(failure)) from failure
            if (reason := self._database.refusal(failure)) is not None:
                lacking = self._database.lacking(failure)
                if lacking == "table" and WRITERS in reason:
                    message = f"the database of sink {self.sink.name} has lost what it knew of the query: {reason}"
                    hint = f"put the table {WRITERS} back, and that of the rows: without it batches would come twice"
                    raise OperationalError(message, hint=hint) from failure
                said = redact(reason, self._secrets)
                if lacking is not None:
                    message = f"sink {self.sink.name} cannot be written to: {said}"
                    raise OperationalError(message, hint="the next start resumes with this batch") from failure
                message = f"sink {self.sink.name} refuses a row: {said}"
                raise DataError(message, hint="nothing of its batch was written") from failure
            raise


def _of(table: pa.Table, operations: Sequence[str], names: Sequence[str]) -> pa.Table:
    """Return some columns of the rows with these operations."""
    return table.filter(pc.is_in(table[OPERATION], pa.array(operations))).select(list(names))


def _open_database(sink: Sink, options: Options, stays_open: bool) -> SinkDatabase:
    """Return the database of a sink, without connecting. Connections to a server always stay open.

    Raises ProgrammingError for wrong options, NotSupportedError for a missing package.
    """
    if sink.format.lower() == "sqlite":
        from cepsql.sinks.sqlite import SQLite

        return SQLite(sink, options, stays_open)
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise NotSupportedError(
            "sinks USING postgresql need the package psycopg", hint="pip install 'cepsql[postgresql]'"
        ) from error
    from cepsql.sinks.postgresql import PostgreSQL

    return PostgreSQL(sink, options)
