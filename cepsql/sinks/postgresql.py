"""Tables of PostgreSQL; rows travel by COPY."""

import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import sqlalchemy as sa

from cepsql.catalog import Sink
from cepsql.catalog.database_failures import first_line
from cepsql.catalog.postgresql_link import connection_settings, set_in_transaction
from cepsql.errors import ProgrammingError
from cepsql.scalar.types import DOUBLE, FLOAT, INTEGERS, Type, is_decimal, parse_type
from cepsql.sinks.added_columns import Columns
from cepsql.sinks.database_sinks import SinkDatabase, update_clause
from cepsql.sinks.plain_values import is_nested, json_texts
from cepsql.sinks.sink_options import Options

_NAMES = {
    "boolean": "boolean", "tinyint": "smallint", "smallint": "smallint", "int": "integer", "bigint": "bigint",
    "float": "real", "double": "double precision", "string": "text", "binary": "bytea", "date": "date",
    "timestamp": "timestamptz", "timestamp_ntz": "timestamp", "interval": "interval", "void": "text",
}  # fmt: skip
_NUMBERS = (sa.Integer, sa.Numeric)
_LOCK_TIMEOUT = "20s"
"""How long one try waits for locks. Between tries the wait is reported, and a stopped query ends it."""

_REFUSED = re.compile(
    r"authentication failed|no password supplied|pg_hba\.conf|no such user|permission denied for database|"
    r'(?:role|database) ".*" (?:does not exist|is not permitted)'
)
"""Messages of servers that refuse a login."""

_TOO_LARGE = "54"
"""The class of SQLSTATEs for exceeded limits of the server, such as a long text in a key."""

_ROWS = "cepsql_rows"
_GONE = "cepsql_gone"
_PLACE = "cepsql_place"
_JSON_ZERO = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class PostgreSQL(SinkDatabase):
    """A database of a server."""

    key_constraint = "UNIQUE"

    def __init__(self, sink: Sink, options: Options):
        if options.text("path") is not None:
            raise ProgrammingError(f"sink {sink.name} USING postgresql has no option path", hint="it has url")
        text = options.needed("url", "postgresql://user@host/database")
        try:
            url = sa.make_url(text).set(drivername="postgresql+psycopg")
        except sa.exc.ArgumentError as error:
            raise ProgrammingError(
                f"the option url of sink {sink.name} is no URL of a database",
                hint="for example postgresql://user@host:5432/database",
            ) from error
        if not text.startswith(("postgresql:", "postgres:")):
            raise ProgrammingError(f"the option url of sink {sink.name} does not begin with postgresql:")
        url = url.set(username=options.text("user") or url.username, password=options.text("password") or url.password)
        self.place = f"{url.host or ''}:{url.port or ''}/{url.database or ''}"
        settings = connection_settings(url, 10)
        self.engine = sa.create_engine(url, pool_pre_ping=True, pool_size=1, connect_args=settings)

    def prepare_readers(self) -> None:
        """Do nothing: readers always see the last committed transaction."""

    def begin(self, connection: sa.Connection, writer: str) -> None:
        """Name the transaction, and limit how long it waits for locks."""
        set_in_transaction(connection, {"lock_timeout": _LOCK_TIMEOUT, "application_name": writer})

    def end_others(self, connection: sa.Connection, writer: str) -> None:
        """End the transactions of that name in other processes of the same user."""
        # Not every user may call the function, so it is called only if there is something to end.
        backends = connection.exec_driver_sql(
            "SELECT pid FROM pg_stat_activity WHERE application_name = %s "
            "AND usename = current_user AND datname = current_database() AND pid <> pg_backend_pid()",
            (writer,),
        )
        for number in backends.scalars().all():
            connection.exec_driver_sql("SELECT pg_terminate_backend(%s)", (number,))

    def column_type(self, kind: Type) -> str:
        """Return the SQL of a type; nested values are JSON."""
        if is_decimal(kind):
            return f"numeric({kind.precision}, {kind.scale})"
        return _NAMES.get(kind.name, "jsonb")

    def takes(self, declared: Any, kind: str) -> bool:
        """Tell whether a column of a type takes values of a Spark type; unknown types may."""
        spark_type = parse_type(kind)
        if spark_type in INTEGERS:
            return not isinstance(declared, sa.Date | sa.DateTime | sa.Boolean | sa.LargeBinary)
        if spark_type in (FLOAT, DOUBLE) or is_decimal(spark_type):
            return not isinstance(declared, sa.Date | sa.DateTime | sa.Boolean | sa.LargeBinary | sa.Integer)
        if spark_type.name == "string":
            return not isinstance(declared, (*_NUMBERS, sa.Date, sa.DateTime, sa.Boolean, sa.LargeBinary))
        if spark_type.name in ("date", "timestamp", "timestamp_ntz"):
            return not isinstance(declared, (*_NUMBERS, sa.Boolean, sa.LargeBinary))
        if spark_type.name == "boolean":
            return not isinstance(declared, (*_NUMBERS, sa.Date, sa.DateTime, sa.LargeBinary))
        if spark_type.name == "binary":
            return not isinstance(declared, (*_NUMBERS, sa.Date, sa.DateTime, sa.Boolean))
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
        """Copy the rows into the table; with a key, through a temporary table."""
        target, names = self.name(table, schema), ", ".join(self.name(name) for name, _ in columns)
        if not key:
            self._copy(connection, target, names, tables)
            return
        keys = ", ".join(map(self.name, key))
        connection.exec_driver_sql(
            f"CREATE TEMPORARY TABLE {_ROWS} ON COMMIT DROP AS SELECT {names} FROM {target} WITH NO DATA"
        )
        connection.exec_driver_sql(f"ALTER TABLE {_ROWS} ADD COLUMN {_PLACE} bigserial")
        self._copy(connection, _ROWS, names, tables)
        self._delete_null_keys(connection, target, _ROWS, key)
        connection.exec_driver_sql(
            f"INSERT INTO {target} ({names}) SELECT DISTINCT ON ({keys}) {names} FROM {_ROWS} "
            f"ORDER BY {keys}, {_PLACE} DESC" + update_clause(self, columns, key)
        )
        # The next table of the transaction needs the name.
        connection.exec_driver_sql(f"DROP TABLE {_ROWS}")

    def delete_rows(
        self, connection: sa.Connection, table: str, schema: str | None, key: Sequence[str], tables: Iterable[pa.Table]
    ) -> None:
        """Delete the rows through a temporary table with their keys."""
        target, names = self.name(table, schema), ", ".join(map(self.name, key))
        connection.exec_driver_sql(
            f"CREATE TEMPORARY TABLE {_GONE} ON COMMIT DROP AS SELECT {names} FROM {target} WITH NO DATA"
        )
        self._copy(connection, _GONE, names, (rows.select(list(key)) for rows in tables))
        where = " AND ".join(f"{target}.{name} = {_GONE}.{name}" for name in map(self.name, key))
        connection.exec_driver_sql(f"DELETE FROM {target} USING {_GONE} WHERE {where}")
        self._delete_null_keys(connection, target, _GONE, key)
        connection.exec_driver_sql(f"DROP TABLE {_GONE}")

    def _delete_null_keys(self, connection: sa.Connection, target: str, of: str, key: Sequence[str]) -> None:
        """Delete rows with those keys of another table that have a NULL: no constraint and no `=` matches them."""
        names = list(map(self.name, key))
        null = " OR ".join(f"{of}.{name} IS NULL" for name in names)
        if connection.exec_driver_sql(f"SELECT 1 FROM {of} WHERE {null} LIMIT 1").first():
            same = " AND ".join(f"{target}.{name} IS NOT DISTINCT FROM {of}.{name}" for name in names)
            connection.exec_driver_sql(f"DELETE FROM {target} USING {of} WHERE ({null}) AND {same}")

    def _copy(self, connection: sa.Connection, target: str, names: str, tables: Iterable[pa.Table]) -> None:
        form = pyarrow.csv.WriteOptions(include_header=False, quoting_style="all_valid")
        cursor = connection.connection.cursor()
        # Names are quoted for statements with parameters; COPY has none.
        statement = f"COPY {target} ({names}) FROM STDIN (FORMAT csv)".replace("%%", "%")
        with cursor.copy(statement) as copy:
            for rows in tables:
                text = pa.table([_texts(column) for column in rows.columns], rows.column_names)
                output = io.BytesIO()
                pyarrow.csv.write_csv(text, output, form)
                copy.write(output.getvalue())

    def passing(self, failure: Exception) -> str | None:
        """Lost connections, a standby that may become the primary, and conflicts of transactions are transient."""
        original = getattr(failure, "orig", failure)
        lasting = (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege)
        if (getattr(original, "sqlstate", None) or "").startswith(_TOO_LARGE):
            return None
        standby = (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.IdleInTransactionSessionTimeout)
        kinds = (psycopg.OperationalError, psycopg.InterfaceError, sa.exc.TimeoutError, *standby)
        return first_line(original) if isinstance(original, kinds) and not isinstance(original, lasting) else None

    def refuses_user(self, failure: Exception) -> bool:
        """Before a login the driver has only the message of the server, not its SQLSTATE."""
        return _REFUSED.search(str(getattr(failure, "orig", failure))) is not None

    def refusal(self, failure: Exception) -> str | None:
        """Values out of range, constraints, missing rights."""
        original = getattr(failure, "orig", failure)
        return first_line(original) if isinstance(original, psycopg.Error) else None

    def lacking(self, failure: Exception) -> Literal["table", "right"] | None:
        """Unknown tables and columns, and missing rights."""
        original = getattr(failure, "orig", failure)
        if isinstance(original, psycopg.errors.InsufficientPrivilege):
            return "right"
        return "table" if isinstance(original, psycopg.ProgrammingError) else None


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as texts that PostgreSQL reads, NULL as NULL."""
    kind = column.type
    if is_nested(kind):
        values = [text and _JSON_ZERO.sub("\\1\ufffd", text) for text in json_texts(column, "UTC")]
        return pa.chunked_array([pa.array(values, pa.string())])
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        # The text ends with Z for UTC.
        return column.cast(pa.timestamp("us", "UTC")).cast(pa.string())
    if pa.types.is_binary(kind):
        values = [None if value is None else "\\x" + value.hex() for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
    if pa.types.is_duration(kind):
        micros = column.cast(pa.duration("us")).cast(pa.int64()).to_pylist()
        values = [None if value is None else f"{value} microseconds" for value in micros]
        return pa.chunked_array([pa.array(values, pa.string())])
    texts = column.cast(pa.string())
    return _without_zeros(texts) if pa.types.is_string(kind) else texts


def _without_zeros(texts):
    """Return texts with U+FFFD in place of the character 0, which PostgreSQL's text cannot hold."""
    return pc.replace_substring(texts, "\0", "\ufffd")
