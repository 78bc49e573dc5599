"""The statements of a connection: pg-mimic answers those about PostgreSQL itself, the engine all others."""

import datetime
import decimal
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pg_mimic
from pg_mimic import messages, middleware
from pg_mimic.session import Statement, StaticStatement

from cepsql.engine import Engine
from cepsql.errors import DataError, Error, InterfaceError, NotSupportedError, OperationalError
from cepsql.frontends.server.wire.answering import Answering, Refused, Result, TooMuch, parameter_count
from cepsql.frontends.server.wire.client_catalog import client_catalog
from cepsql.frontends.server.wire.following import SUBSCRIBES, FollowPortal, FollowStatement
from cepsql.frontends.server.wire.reads import Reads
from cepsql.frontends.server.wire.users import User

LOG = logging.getLogger("cepsql.server")

_OIDS = {
    "boolean": pg_mimic.BOOL, "tinyint": pg_mimic.INT2, "smallint": pg_mimic.INT2, "int": pg_mimic.INT4,
    "bigint": pg_mimic.INT8, "float": pg_mimic.FLOAT4, "double": pg_mimic.FLOAT8, "date": pg_mimic.DATE,
    "timestamp": pg_mimic.TIMESTAMPTZ, "timestamp_ntz": pg_mimic.TIMESTAMP, "binary": pg_mimic.BYTEA,
}  # fmt: skip
_READ: dict[int, Callable[[str], Any]] = {
    pg_mimic.INT2: int, pg_mimic.INT4: int, pg_mimic.INT8: int, pg_mimic.FLOAT4: float, pg_mimic.FLOAT8: float,
    pg_mimic.NUMERIC: decimal.Decimal, pg_mimic.DATE: datetime.date.fromisoformat,
    pg_mimic.TIMESTAMP: datetime.datetime.fromisoformat, pg_mimic.TIMESTAMPTZ: datetime.datetime.fromisoformat,
    pg_mimic.BOOL: lambda text: text in ("t", "true", "1", "on"),
}  # fmt: skip
_SAMPLES = {
    pg_mimic.INT2: 0, pg_mimic.INT4: 0, pg_mimic.INT8: 0, pg_mimic.FLOAT4: 0.0, pg_mimic.FLOAT8: 0.0,
    pg_mimic.NUMERIC: decimal.Decimal(0), pg_mimic.DATE: datetime.date(2000, 1, 1), pg_mimic.BOOL: False,
    pg_mimic.TIMESTAMP: datetime.datetime(2000, 1, 1),
    pg_mimic.TIMESTAMPTZ: datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC),
}  # fmt: skip

_OURS = re.compile(
    r"(?is)\s*(?:SHOW\s+(?:STREAMS|TABLES|VIEWS|SINKS|QUERIES|SAVEPOINTS|FUNCTIONS)\b"
    r"|SHOW\s+(?:CREATE|MATERIALIZED|VIEW|QUERY)\b|(?:SET|RESET)\s+(?:cepsql|spark)\."
    r"|(?:EXPLAIN|DESCRIBE|DESC|CREATE|DROP|ALTER|STOP|PAUSE|RESUME|RESTART|INSERT|PRINT|PREPARE|EXECUTE)\b"
    r"|START\s+(?:QUERY|VIEW|MATERIALIZED)\b)"
)
_CLIENT_SETTING = re.compile(r"(?is)\s*SET\s+(?:TIME\s+ZONE|SESSION\s+CHARACTERISTICS|TRANSACTION)\b")
_ISOLATION = re.compile(r"(?is)\s*SHOW\s+TRANSACTION\s+ISOLATION\s+LEVEL\s*;?\s*")
_TIME_ZONE = re.compile(r"(?is)\s*SHOW\s+TIME\s*ZONE\s*;?\s*")
_SAVEPOINT = re.compile(r"(?is)\s*(?:SAVEPOINT|RELEASE(?:\s+SAVEPOINT)?|ROLLBACK\s+TO(?:\s+SAVEPOINT)?)\s+\S+\s*;?\s*$")
VERSION = "PostgreSQL 16.0, spoken by cepsql"
"""The version from which drivers derive features."""

_VERSION_CALL = re.compile(r"(?is)\s*SELECT\s+(?:pg_catalog\.)?version\(\)(?:\s+AS\s+(\w+))?\s*;?\s*")
_QUALIFIED_CALL = re.compile(r"(?i)\bpg_catalog\.(current_schema)\(")
"""Functions that clients also call with the name of their schema."""


def _go_on(connection: Any) -> None:
    """Accept statements again in a failed transaction."""
    if connection.tx_status == b"E":
        connection.tx_status = b"T"


async def _settings_of_clients(context: middleware.MiddlewareContext) -> Statement | None:
    if _CLIENT_SETTING.match(context.sql):
        return StaticStatement(context.sql, None, [])
    if _SAVEPOINT.match(context.sql):
        # There is nothing to undo: each statement is a transaction of its own.
        return StaticStatement(context.sql, None, [], partial(_go_on, context.connection))
    if match := _VERSION_CALL.fullmatch(context.sql):
        columns = [pg_mimic.ResultColumn(match[1] or "version", pg_mimic.TEXT)]
        return StaticStatement(context.sql, columns, [(VERSION,)])
    if _TIME_ZONE.fullmatch(context.sql):
        return StaticStatement(context.sql, [pg_mimic.ResultColumn("TimeZone", pg_mimic.TEXT)], [("UTC",)])
    if _ISOLATION.fullmatch(context.sql):
        columns = [pg_mimic.ResultColumn("transaction_isolation", pg_mimic.TEXT)]
        return StaticStatement(context.sql, columns, [("read committed",)])
    return None


class _WireStatement(pg_mimic.Statement):
    """A statement that the engine executes."""

    def __init__(self, session: "WireSession", sql: str, param_oids: list[int | None]):
        self._session, self.sql, self.param_oids = session, sql, param_oids
        self._columns: list[pg_mimic.ResultColumn] | None = None
        self._asked = False

    async def describe(self) -> list[pg_mimic.ResultColumn] | None:
        """Return its columns."""
        if not self._asked:
            self._columns, self._asked = await self._session.columns(self.sql, self.param_oids), True
        return self._columns

    def bind(self, params: list[Any]) -> pg_mimic.Portal:
        """Return it with values."""
        oids = [*self.param_oids, *[None] * len(params)]
        values = [_value(value, oid) for value, oid in zip(params, oids, strict=False)]
        return _WirePortal(self._session, self.sql, values, acts=self._asked and self._columns is None)


class _WirePortal(pg_mimic.Portal):
    """A statement with values, which is executed when rows are first asked for."""

    def __init__(self, session: "WireSession", sql: str, values: Sequence[object], acts: bool):
        self._session, self._sql, self._values, self._acts = session, sql, values, acts
        self._rows: Sequence[tuple] | None = None
        self._sent = 0

    async def execute(self, max_rows: int) -> tuple[list[tuple], bool]:
        """Return the next rows, and whether there are more."""
        if self._rows is None:
            self._rows = await self._session.rows(self._sql, self._values, self._acts)
        end = len(self._rows) if max_rows <= 0 else self._sent + max_rows
        rows = list(self._rows[self._sent : end])
        self._sent += len(rows)
        return rows, self._sent < len(self._rows)


class WireSession(pg_mimic.Session):
    """The statements of one connection."""

    middleware = (
        _settings_of_clients,
        *(client_catalog if one is middleware.pg_catalog else one for one in middleware.DEFAULT_MIDDLEWARE),
        middleware.static_select,
    )

    def __init__(self, engine: Engine, users: Any, reads: Reads):
        self._engine, self._users, self._reads = engine, users, reads
        self._answering: Answering | None = None

    async def init(self, connection: Any) -> None:
        """Take the user who has connected."""
        user = self._users.find(connection.username) or User(connection.username, "reader")
        self._answering = Answering(self._engine, user, self._reads.limits)

    async def prepare(self, sql: str, param_oids: list[int | None]) -> Statement:
        """Return a statement that is executed later."""
        if len(sql.encode()) > self._reads.limits.bytes:
            raise pg_mimic.PgError("54000", f"a statement has at most {self._reads.limits.bytes} bytes")
        if not sql.strip(" \t\r\n;"):
            # JDBC tests a connection with an empty statement.
            return StaticStatement(sql, None, [])
        if SUBSCRIBES.match(sql):
            return await self._following(sql)
        if not _OURS.match(sql):
            asked = _QUALIFIED_CALL.sub(r"\1(", sql)
            statement = await middleware.resolve(self._connection, asked, param_oids, self.middleware)
            if statement is not None:
                return statement
        missing = parameter_count(sql) - len(param_oids)
        return _WireStatement(self, sql, [*param_oids, *[None] * missing])

    async def _following(self, sql: str) -> Statement:
        """Return SUBSCRIBE as a statement; errors are raised at once."""
        first = await self._asked(lambda sql, _: self._answers.subscription(sql), sql, ())
        columns = [pg_mimic.ResultColumn(name, _oid(kind)) for name, kind in first.columns]
        if not columns:
            raise pg_mimic.PgError("55000", f"no row of query {first.name} was seen yet, so its columns are not known")
        reader = self._connection.stream.reader
        return FollowStatement(sql, columns, lambda: FollowPortal(first, self._reads, reader.at_eof, _translated))

    async def columns(self, sql: str, oids: Sequence[int | None]) -> list[pg_mimic.ResultColumn] | None:
        """Return the columns of a statement, None for one that only acts."""
        samples = [_SAMPLES.get(oid or 0, "") for oid in oids]
        columns = await self._asked(self._answers.columns, sql, samples)
        return None if columns is None else [pg_mimic.ResultColumn(name, _oid(kind)) for name, kind in columns]

    async def rows(self, sql: str, values: Sequence[object], acts: bool = False) -> Sequence[tuple]:
        """Execute a statement, and return its rows; its message goes to the client as a notice.

        acts: it defines or controls something, without a time limit.
        """
        # Handing a lookup to a thread takes longer than the lookup.
        with _translating(sql):
            rows = self._answers.rows_at_once(sql, values)
        if rows is not None:
            self._reads.keep_recent(self._engine.catalog)
            return rows
        result: Result = await self._asked(self._answers.result, sql, values, limited=not acts)
        if result.message:
            notice = {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": result.message}
            self._connection.stream.write(messages.make_notice_response(notice))
        return result.rows

    async def schema(self) -> dict | None:
        """Return the views, for queries of clients over PostgreSQL's own catalog."""
        return await self._reads.run(self._schema)

    def _schema(self) -> dict[str, dict[str, str]]:
        views = self._engine.catalog.names.materialized
        return {view.name: {column.name: _declared(column.type) for column in view.columns} for view in views}

    @property
    def _answers(self) -> Answering:
        assert self._answering is not None
        return self._answering

    async def _asked(self, action, sql: str, values: Sequence[object], limited: bool = True) -> Any:
        with _translating(sql):
            return await self._reads.run(action, sql, values, limited=limited)


def _oid(kind: str) -> int:
    return pg_mimic.NUMERIC if kind.startswith("decimal") else _OIDS.get(kind, pg_mimic.TEXT)


def _declared(kind: str) -> str:
    """Return the name of the PostgreSQL type for a Spark type."""
    names = {
        "tinyint": "smallint", "smallint": "smallint", "int": "integer", "bigint": "bigint", "float": "real",
        "double": "double precision", "boolean": "boolean", "date": "date", "binary": "bytea",
        "timestamp": "timestamp with time zone", "timestamp_ntz": "timestamp without time zone",
    }  # fmt: skip
    kind = kind.lower()
    return "numeric" if kind.startswith("decimal") else names.get(kind, "text")


def _value(value: Any, oid: int | None) -> Any:
    """Return a parameter as a value of its type."""
    read = _READ.get(oid or 0)
    if read is None or not isinstance(value, str):
        return value
    try:
        return read(value)
    except (ValueError, ArithmeticError):
        raise pg_mimic.PgError("22P02", f"{value!r} is no value of the type of its parameter") from None


@contextmanager
def _translating(sql: str) -> Iterator[None]:
    """Raise a failure of a statement as a PostgreSQL error."""
    try:
        yield
    except Error as error:
        raise _translated(error, sql) from error
    except Exception as failure:
        LOG.exception("a statement failed: %s", failure)
        raise pg_mimic.PgError("XX000", "cepsql failed; the server's log tells more") from failure


def _translated(error: Error, sql: str) -> pg_mimic.PgError:
    """Return an error as a PostgreSQL error."""
    states = ((Refused, "42501"), (TooMuch, "54000"), (NotSupportedError, "0A000"), (DataError, "22000"),
              (OperationalError, "58000"), (InterfaceError, "42601"))  # fmt: skip
    state = next((code for kind, code in states if isinstance(error, kind)), "42601")
    fields = {"H": error.hint} if error.hint else {}
    if error.span is not None and error.text == sql:
        fields["P"] = str(error.span.start + 1)
    return pg_mimic.PgError(state, error.message, **fields)
