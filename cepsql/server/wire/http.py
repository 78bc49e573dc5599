"""Views over HTTP: the rows of a view by the values of columns, and queries, as JSON."""

import asyncio
import base64
import binascii
import datetime
import decimal
import hmac
import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cepsql.catalog import MaterializedView
from cepsql.catalog.create_text import quoted_name
from cepsql.engine import Engine
from cepsql.errors import Error, OperationalError, suggestion
from cepsql.render.jsonlines import json_rows
from cepsql.scalar.types import FRACTIONS, INTEGERS, is_decimal, parse_type
from cepsql.server.wire.answering import Answering, Refused, TooMuch
from cepsql.server.wire.limits import Limits
from cepsql.server.wire.reads import Reads
from cepsql.server.wire.users import User, Users, is_loopback

LOG = logging.getLogger("cepsql.server")
_START_SECONDS = 30.0
_RESERVED = ("limit",)


class _Wrong(Exception):
    """A request that cannot be answered: its status, and what is wrong."""

    def __init__(self, status: int, message: str, hint: str | None = None):
        super().__init__(message)
        self.status, self.message, self.hint = status, message, hint


def application(engine: Engine, users: Users, reads: Reads) -> Starlette:
    """Return the application: GET /views, GET /views/NAME?column=value&limit=n, POST /query."""

    def answered(give: Callable[[Request, Answering], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            try:
                rows = await give(request, Answering(engine, _user(request, users), reads.limits))
                return Response(rows, media_type="application/json")
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

    routes = [
        Route("/views", answered(views), methods=["GET"]),
        Route("/views/{name}", answered(view), methods=["GET"]),
        Route("/query", answered(query), methods=["POST"]),
    ]
    return Starlette(routes=routes)


def _view_json(answering: Answering, engine: Engine, request: Request) -> str:
    name, known = request.path_params["name"], engine.catalog.names.materialized
    view = next((view for view in known if view.name.lower() == name.lower()), None)
    if view is None:
        hint = suggestion(name, [view.name for view in known], "views")
        raise _Wrong(404, f"there is no materialized view {name}", hint)
    return _json(answering, *_selection(view, request.query_params.multi_items()))


def _json(answering: Answering, sql: str, values: list) -> str:
    rows = answering.table(sql, values)
    return "[" + ",".join(json_rows(rows, rows.column_names, "UTC")) + "]"


def _user(request: Request, users: Users) -> User:
    """Return who asks; raises _Wrong for who may not."""
    if users.known is None:
        host = request.url.hostname or ""
        if not is_loopback(host):
            # The page of another site could have this name lead here.
            raise _Wrong(403, f"the server is asked by its own address, not as {host}")
        return User("", users.role)
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            name, _, password = base64.b64decode(given, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            name = password = ""
        user = users.find(name)
        if hmac.compare_digest(users.password(name).encode(), password.encode()) and user is not None:
            return user
    raise _Wrong(401, "a user and a password are needed", "Authorization: Basic ...")


def _selection(view: MaterializedView, given: list[tuple[str, str]]) -> tuple[str, list]:
    """Return the query for the rows of a view in which columns have these values."""
    columns = {column.name.lower(): column for column in view.columns}
    conditions: list[str] = []
    values: list[object] = []
    limit = ""
    for name, text in given:
        column = columns.get(name.lower())
        if column is None and name.lower() in _RESERVED:
            if not text.isdecimal():
                raise _Wrong(400, f"limit is a number of rows, not {text!r}")
            limit = f" LIMIT {int(text)}"
            continue
        if column is None:
            hint = suggestion(name, [one.name for one in columns.values()], "columns")
            raise _Wrong(400, f"view {view.name} has no column {name}", hint)
        values.append(_value(text, column.type, column.name))
        conditions.append(f"{quoted_name(column.name)} = ${len(values)}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT * FROM {quoted_name(view.name)}{where}{limit}", values


def _value(text: str, type: str, name: str) -> object:
    """Return the value of a column that a text stands for; raises _Wrong for one that is none."""
    kind = parse_type(type)
    try:
        if kind in INTEGERS:
            return int(text)
        if kind in FRACTIONS:
            return float(text)
        if is_decimal(kind):
            return decimal.Decimal(text)
        if kind.name == "boolean":
            return {"true": True, "false": False}[text.lower()]
        if kind.name == "date":
            return datetime.date.fromisoformat(text)
        if kind.name in ("timestamp", "timestamp_ntz"):
            return datetime.datetime.fromisoformat(text)
    except (ValueError, KeyError, ArithmeticError):
        raise _Wrong(400, f"{name} is {type.upper()}, and {text!r} is none") from None
    return text


async def _asked(request: Request, limits: Limits) -> tuple[str, list]:
    """Return the query of a request and its parameters."""
    # A page of another site sends this type only if the server said that it may.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise _Wrong(415, "a query is sent as JSON", "Content-Type: application/json")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > limits.bytes:
            raise _Wrong(413, f"a request has at most {limits.bytes} bytes")
    try:
        found = json.loads(body)
        sql, values = found["sql"], found.get("parameters", [])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sql = values = None
    if not isinstance(sql, str) or not isinstance(values, list):
        raise _Wrong(400, 'a query is {"sql": "SELECT ... WHERE city = $1", "parameters": ["Rome"]}')
    return sql, values


def _status(error: Error) -> int:
    kinds = ((Refused, 403), (TooMuch, 413), (OperationalError, 503))
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
        """Begin to listen; raises OSError if the address cannot be used."""
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
        found = self._server.servers[0].sockets[0].getsockname()
        self.address: tuple[str, int] = (found[0], found[1])

    def close(self) -> None:
        """Answer no more requests."""
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
