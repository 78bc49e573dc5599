"""Views over HTTP: the rows of a view by the values of columns, and queries, as JSON."""

import asyncio
import base64
import binascii
import hmac
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pyarrow as pa
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from cepsql.catalog import MaterializedView
from cepsql.catalog.create_text import quoted_name
from cepsql.engine import Engine
from cepsql.errors import Error, OperationalError, suggestion
from cepsql.frontends.server.wire.answering import Answering, Refused, TooMuch
from cepsql.frontends.server.wire.events import events
from cepsql.frontends.server.wire.limits import Limits
from cepsql.frontends.server.wire.put_rows import Repeated, put_rows
from cepsql.frontends.server.wire.reads import Reads
from cepsql.frontends.server.wire.text_values import text_value
from cepsql.frontends.server.wire.users import User, Users, is_loopback
from cepsql.render.jsonlines import json_rows

LOG = logging.getLogger("cepsql.server")
_START_SECONDS = 30.0
_RESERVED = ("limit",)
_LINES = ("application/x-ndjson", "application/jsonl", "application/json")


class _Wrong(Exception):
    """A request that cannot be answered: its status and error message."""

    def __init__(self, status: int, message: str, hint: str | None = None):
        super().__init__(message)
        self.status, self.message, self.hint = status, message, hint


def application(engine: Engine, users: Users, reads: Reads) -> Starlette:
    """Return the application: GET /views, GET /views/NAME?column=value&limit=n, GET /views/NAME/changes, POST /query,
    POST /streams/NAME, GET /call/NAME?parameter=value."""
    following = 0

    def answered(give: Callable[[Request, Answering], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            try:
                rows = await give(request, Answering(engine, _user(request, users), reads.limits))
                return rows if isinstance(rows, Response) else Response(rows, media_type="application/json")
            except _Wrong as wrong:
                return _failed(wrong.status, wrong.message, wrong.hint)
            except Error as error:
                return _failed(_status(error), error.message, error.hint)
            except Exception as failure:
                LOG.exception("a request failed: %s", failure)
                return _failed(500, "cepsql failed; the server's log tells more")

        return answer

    async def views(request: Request, answering: Answering) -> str:
        names = await reads.run(lambda: [view.name for view in engine.catalog.names.materialized])
        return json.dumps(sorted(names))

    async def view(request: Request, answering: Answering) -> str:
        return await reads.run(_view_json, answering, engine, request)

    async def query(request: Request, answering: Answering) -> str:
        sql, values = await _asked(request, reads.limits)
        return await reads.run(_json, answering, sql, values)

    async def changes(request: Request, answering: Answering) -> Response:
        nonlocal following
        view = _view_named(engine, request.path_params["name"])
        since = request.query_params.get("since") or request.headers.get("last-event-id")
        if following >= reads.limits.connections // 2:
            raise _Wrong(503, f"{following} clients follow views already", "try again, or raise --max-connections")
        subscription = await reads.run(engine.subscribe, view.name, since)

        async def followed() -> AsyncIterator[str]:
            nonlocal following
            following += 1
            try:
                async for text in events(subscription, reads):
                    yield text
            finally:
                following -= 1

        return StreamingResponse(followed(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def put(request: Request, answering: Answering) -> str:
        answering.check_owner()
        if request.headers.get("content-type", "").partition(";")[0].strip() not in _LINES:
            raise _Wrong(415, "rows are sent as lines of JSON", f"Content-Type: {_LINES[0]}")
        body = await _body(request, reads.limits)
        key = request.headers.get("idempotency-key")
        return json.dumps(await reads.run(put_rows, engine, request.path_params["name"], body, key, limited=False))

    async def call(request: Request, answering: Answering) -> str:
        return await reads.run(_called, answering, request.path_params["name"], dict(request.query_params))

    routes = [
        Route("/views/{name}/changes", answered(changes), methods=["GET"]),
        Route("/streams/{name}", answered(put), methods=["POST"]),
        Route("/call/{name}", answered(call), methods=["GET"]),
        Route("/views", answered(views), methods=["GET"]),
        Route("/views/{name}", answered(view), methods=["GET"]),
        Route("/query", answered(query), methods=["POST"]),
    ]
    return Starlette(routes=routes)


def _view_json(answering: Answering, engine: Engine, request: Request) -> str:
    view = _view_named(engine, request.path_params["name"])
    return _json(answering, *_selection(view, request.query_params.multi_items()))


def _view_named(engine: Engine, name: str) -> MaterializedView:
    views = engine.catalog.names.materialized
    view = next((one for one in views if one.name.lower() == name.lower()), None)
    if view is None:
        hint = suggestion(name, [one.name for one in views], "views")
        raise _Wrong(404, f"there is no materialized view {name}", hint)
    return view


def _json(answering: Answering, sql: str, values: list) -> str:
    return _rows_json(answering.table(sql, values))


def _called(answering: Answering, name: str, arguments: dict[str, str]) -> str:
    return _rows_json(answering.called(name, arguments))


def _rows_json(rows: pa.Table) -> str:
    return "[" + ",".join(json_rows(rows, rows.column_names, "UTC")) + "]"


def _user(request: Request, users: Users) -> User:
    """Return the user of a request; raises _Wrong if the request is refused."""
    if users.by_name is None:
        host = request.url.hostname or ""
        if not is_loopback(host):
            # A page of another site could let this name lead here.
            raise _Wrong(403, f"the server is asked by its own address, not as {host}")
        return User("", users.role)
    kind, _, credentials = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            name, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            name = password = ""
        user = users.find(name)
        if hmac.compare_digest(users.password(name).encode(), password.encode()) and user is not None:
            return user
    raise _Wrong(401, "a user and a password are needed", "Authorization: Basic ...")


def _selection(view: MaterializedView, parameters: list[tuple[str, str]]) -> tuple[str, list]:
    """Return the query for the rows of a view with these values of columns."""
    columns = {column.name.lower(): column for column in view.columns}
    conditions: list[str] = []
    values: list[object] = []
    limit = ""
    for name, text in parameters:
        column = columns.get(name.lower())
        if column is None and name.lower() in _RESERVED:
            if not text.isdecimal():
                raise _Wrong(400, f"limit is a number of rows, not {text!r}")
            limit = f" LIMIT {int(text)}"
            continue
        if column is None:
            hint = suggestion(name, [one.name for one in columns.values()], "columns")
            raise _Wrong(400, f"view {view.name} has no column {name}", hint)
        values.append(text_value(text, column.type, column.name))
        conditions.append(f"{quoted_name(column.name)} = ${len(values)}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT * FROM {quoted_name(view.name)}{where}{limit}", values


async def _body(request: Request, limits: Limits) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > limits.bytes:
            raise _Wrong(413, f"a request has at most {limits.bytes} bytes", "send it in parts")
    return body


async def _asked(request: Request, limits: Limits) -> tuple[str, list]:
    """Return the query of a request and its parameters."""
    # A page of another site cannot send this type without permission from the server.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise _Wrong(415, "a query is sent as JSON", "Content-Type: application/json")
    body = await _body(request, limits)
    try:
        request_data = json.loads(body)
        sql, values = request_data["sql"], request_data.get("parameters", [])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sql = values = None
    if not isinstance(sql, str) or not isinstance(values, list):
        raise _Wrong(400, 'a query is {"sql": "SELECT ... WHERE city = $1", "parameters": ["Rome"]}')
    return sql, values


def _status(error: Error) -> int:
    kinds = ((Refused, 403), (TooMuch, 413), (Repeated, 409), (OperationalError, 503))
    return next((status for kind, status in kinds if isinstance(error, kind)), 400)


def _failed(status: int, message: str, hint: str | None = None) -> Response:
    said: Mapping[str, str] = {"error": message} | ({"hint": hint} if hint else {})
    headers = {"WWW-Authenticate": 'Basic realm="cepsql"'} if status == 401 else {}
    return Response(json.dumps(said), status, headers, "application/json")


class HttpListener:
    """Serves views over HTTP in a thread of its own, until it is closed.

    address: host and port that it listens on.
    """

    def __init__(
        self,
        engine: Engine,
        host: str,
        port: int,
        users: Users,
        limits: Limits,
        certificate: tuple[str, str | None] | None = None,
    ):
        """Start to listen; raises OSError if the address cannot be used."""
        self._reads = Reads(limits)
        certfile, keyfile = certificate or (None, None)
        config = uvicorn.Config(
            application(engine, users, self._reads), host, port, log_config=None, access_log=False, lifespan="off",
            ssl_certfile=certfile, ssl_keyfile=keyfile, limit_concurrency=limits.connections, timeout_keep_alive=20,
        )  # fmt: skip
        socket = config.bind_socket() if port else None
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(socket,), name="cepsql-http", daemon=True)
        self._begun = threading.Event()
        self._thread.start()
        self._begun.wait(_START_SECONDS)
        if not self._server.servers:
            raise OSError(f"{host}:{port} cannot be used")
        address = self._server.servers[0].sockets[0].getsockname()
        self.address: tuple[str, int] = (address[0], address[1])

    def close(self) -> None:
        """Answer no more requests, and end the subscriptions to views."""
        self._reads.closed = True
        self._server.should_exit = True
        self._thread.join(10)
        self._reads.close()

    def _run(self, socket: Any) -> None:
        async def serve() -> None:
            serving = asyncio.ensure_future(self._server.serve([socket] if socket is not None else None))
            while not self._server.started and not serving.done():
                await asyncio.sleep(0.01)
            self._begun.set()
            await serving

        try:
            asyncio.run(serve())
        except SystemExit:
            LOG.error("the address of --http cannot be used")
        finally:
            self._begun.set()
