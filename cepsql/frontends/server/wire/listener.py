"""Connections of PostgreSQL clients: bounded in number, size and time, with TLS where there is a certificate."""

import asyncio
import contextlib
import logging
import os
import ssl
import struct
import sys
import threading
from collections.abc import Coroutine, Sequence
from functools import lru_cache
from typing import Any

import pg_mimic
from pg_mimic import messages
from pg_mimic.connection import Connection, _field_specs, encode_row
from pg_mimic.stream import ConnectionClosed, PgStream

from cepsql.engine import Engine
from cepsql.frontends.server.wire.connection import WireSession
from cepsql.frontends.server.wire.following import (
    COPIED,
    COPY_DONE,
    SUBSCRIBES,
    FollowPortal,
    copy_data,
    copy_out_response,
)
from cepsql.frontends.server.wire.limits import Limits
from cepsql.frontends.server.wire.message_stream import MessageStream
from cepsql.frontends.server.wire.reads import Reads
from cepsql.frontends.server.wire.users import Users
from cepsql.language.parse import split

LOG = logging.getLogger("cepsql.server")
_VERSION = "16.0 (cepsql)"
_STARTUP_SECONDS = 20.0
_END_SECONDS = 5.0
_SWITCH_SECONDS = 0.0005
_CANCELLED = {"S": "ERROR", "V": "ERROR", "C": "57014", "M": "canceling statement due to user request"}


class _Connection(Connection):
    """A connection that splits batches of statements as cepsql does with scripts."""

    tx_status: bytes
    _task: asyncio.Task | None = None
    _cancelled = False

    def request_cancel(self) -> None:
        """Cancel the current statement."""
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    async def _command_loop(self) -> None:
        # A task for each message, as in pg-mimic, takes longer than a lookup.
        task = asyncio.current_task()
        assert task is not None
        while True:
            tag, payload = await self.stream.read_message()
            if tag == messages.TERMINATE:
                return
            self._task = task
            try:
                await self._dispatch(tag, payload)
            except asyncio.CancelledError:
                # The server may end the connection meanwhile.
                if not self._cancelled or task.uncancel():
                    raise
                self.stream.write(messages.make_error_response(_CANCELLED))
                if self.tx_status != b"I":
                    self.tx_status = b"E"
                self._ignore_until_sync = True
            finally:
                self._task, self._cancelled = None, False
            if tag in (messages.QUERY, messages.SYNC):
                self.stream.write(messages.make_ready_for_query(self.tx_status))
                self._ignore_until_sync = False
                await self.stream.drain()

    async def _authenticate(self) -> bool:
        async with asyncio.timeout(_STARTUP_SECONDS):
            is_authenticated = await super()._authenticate()
        if is_authenticated and isinstance(self.stream, MessageStream):
            self.stream.begun()
        return is_authenticated

    async def _handle_simple_query(self, sql: str) -> None:
        try:
            parts = [text for _, text in split(sql)]
        except pg_mimic.PgError:
            raise
        except Exception:
            # Executing the statement reports its error.
            parts = [sql] if sql.strip() else []
        if not parts:
            self.stream.write(messages.make_empty_query_response())
        for part in parts:
            copied = COPIED.match(part)
            if copied or SUBSCRIBES.match(part):
                await self._follow(copied[1] if copied else part, copies=copied is not None)
            else:
                await self._execute_one_simple_statement(part)

    async def _handle_describe(self, parsed: Any) -> None:
        entry = None if parsed.kind == messages.TARGET_STATEMENT else self._get_portal(parsed.name)
        if entry is None or entry.columns is None:
            return await super()._handle_describe(parsed)
        columns = tuple([(column.name, column.oid) for column in entry.columns])
        return self.stream.write(_row_description(columns, tuple(entry.result_format_codes)))

    async def _handle_execute(self, parsed: Any) -> None:
        entry = self._get_portal(parsed.portal_name)
        if not isinstance(entry.portal, FollowPortal) or parsed.max_rows > 0:
            return await super()._handle_execute(parsed)
        return await self._write_rows(entry.portal, entry.columns or [], entry.result_format_codes, copies=False)

    async def _follow(self, sql: str, copies: bool) -> None:
        """Execute SUBSCRIBE until the client cancels it; as COPY TO STDOUT, or as a result."""
        statement = await self.session.prepare(sql, [])
        columns = await statement.describe() or []
        if copies:
            self.stream.write(copy_out_response(len(columns)))
        else:
            self.stream.write(messages.make_row_description(_field_specs(columns)))
        await self._write_rows(statement.bind([]), columns, [], copies)

    async def _write_rows(self, portal: pg_mimic.Portal, columns: Sequence, formats: list[int], copies: bool) -> None:
        assert isinstance(portal, FollowPortal)
        try:
            more = True
            while more:
                await self.stream.drain()
                rows, more = await portal.execute(0)
                for row in rows:
                    values = encode_row(row, columns, formats)
                    self.stream.write(copy_data(values) if copies else messages.make_data_row(values))
        finally:
            portal.close()
        if copies:
            self.stream.write(COPY_DONE)
        self.stream.write(messages.make_command_complete("COPY 0" if copies else "SELECT 0"))


@lru_cache(1000)
def _row_description(columns: tuple[tuple[str, int], ...], formats: tuple[int, ...]) -> bytes:
    """Return the message with names and types of columns."""
    described = [pg_mimic.ResultColumn(name, oid) for name, oid in columns]
    return messages.make_row_description(_field_specs(described, list(formats)))


class _PasswordOf(pg_mimic.IdentityProvider):
    """The passwords of the users; an unknown user has a random one."""

    def __init__(self, users: Users):
        self._users = users

    async def get_password(self, username: str) -> str | None:
        return self._users.password(username)


class _WireServer(pg_mimic.PgServer):
    """The server of pg-mimic with our connections."""

    def __init__(self, engine: Engine, users: Users, reads: Reads, tls: ssl.SSLContext | None):
        asks = pg_mimic.TrustAuthPlugin if users.by_name is None else pg_mimic.ScramSha256AuthPlugin
        super().__init__(lambda: WireSession(engine, users, reads), lambda name: asks(), _PasswordOf(users), _VERSION)
        self._reads, self._tls = reads, tls

    async def ended(self) -> None:
        """Stop listening, and wait until all connections have ended."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        self.close()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), _END_SECONDS)

    async def _handle_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._served(MessageStream(reader, writer, self._reads.limits.bytes))
        except (ConnectionError, ConnectionClosed, TimeoutError, OSError):
            # The client is gone, too slow, or does not speak the protocol.
            return
        except (ValueError, IndexError, struct.error, UnicodeDecodeError, pg_mimic.PgError):
            LOG.info("a connection sent what is not PostgreSQL's protocol")

    async def _served(self, stream: MessageStream) -> None:
        async with asyncio.timeout(_STARTUP_SECONDS):
            startup = await self._negotiate_startup(stream)
        if startup is None:
            return
        if len(self._connections) >= self._reads.limits.connections:
            said = {"S": "FATAL", "V": "FATAL", "C": "53300", "M": "too many connections"}
            stream.write(messages.make_error_response(said))
            await stream.drain()
            return
        pid, secret = self._allocate_pid(), struct.unpack("!i", os.urandom(4))[0]
        connection = _Connection(stream, self.session_factory(), self, pid, secret, startup)
        self._connections[pid] = connection
        try:
            await connection.run()
        finally:
            self._connections.pop(pid, None)

    async def _negotiate_startup(self, stream: PgStream) -> dict[str, str] | None:
        code, payload = await stream.read_startup_packet()
        while code in (messages.SSL_REQUEST_CODE, messages.GSSENC_REQUEST_CODE):
            secured = code == messages.SSL_REQUEST_CODE and self._tls is not None
            stream.write(b"S" if secured else b"N")
            await stream.drain()
            if secured:
                assert self._tls is not None
                await stream.writer.start_tls(self._tls)
            code, payload = await stream.read_startup_packet()
        if code == messages.CANCEL_REQUEST_CODE:
            pid, secret = messages.parse_cancel_request(payload)
            self.cancel(pid, secret)
            return None
        if code >> 16 != 3:
            raise ConnectionClosed
        return messages.parse_startup_message(payload)


class Listener:
    """Serves PostgreSQL's protocol in a thread of its own, until it is closed.

    address: host and port that it listens on.
    """

    def __init__(
        self, engine: Engine, host: str, port: int, users: Users, limits: Limits, tls: ssl.SSLContext | None = None
    ):
        """Start to listen; raises OSError if the address cannot be used."""
        self._reads = Reads(limits)
        # Other threads of this process write; Python lets a thread run for five milliseconds while this one waits.
        sys.setswitchinterval(min(_SWITCH_SECONDS, sys.getswitchinterval()))
        self._loop = asyncio.new_event_loop()
        self._server = _WireServer(engine, users, self._reads, tls)
        self._thread = threading.Thread(target=self._loop.run_forever, name="cepsql-wire", daemon=True)
        self._thread.start()
        try:
            self._wait(self._server.start_server(host, port))
        except OSError:
            self.close()
            raise
        address = self._server.sockets()[0].getsockname()
        self.address: tuple[str, int] = (address[0], address[1])

    def close(self) -> None:
        """End all connections."""
        self._reads.close()
        with contextlib.suppress(TimeoutError, RuntimeError):
            self._wait(self._server.ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _wait(self, action: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(action, self._loop).result(30)
