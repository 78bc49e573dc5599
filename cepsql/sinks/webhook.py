"""Rows sent to a web address by HTTP POST, as JSON."""

import contextlib
import email.utils
import hashlib
import http.client
import re
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from functools import partial
from urllib.parse import SplitResult, urlsplit

import pyarrow as pa
from pyspark.sql import DataFrame

from cepsql.base.secrets import redact
from cepsql.catalog import Sink
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.render.sound_text import sound_text
from cepsql.sinks.added_columns import fitted_columns, key_columns
from cepsql.sinks.fitted import PATIENCE_SECONDS, FittedSink, Unavailable
from cepsql.sinks.limited_request import LimitedHTTP, LimitedHTTPS, TimeOver, time_limit
from cepsql.sinks.plain_values import json_objects
from cepsql.sinks.sink_options import Options
from cepsql.sinks.writer import Batch, WriterIdentity
from cepsql.spark.frames.column_types import column_types

OPTIONS = ("url", "per", "timeout", "retry_for", "header.")

_PASSING = (408, 425, 429)
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_OWN_HEADERS = {
    "connection", "content-length", "expect", "host", "idempotency-key", "keep-alive", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that say where a request ends and to whom it goes, or what a row is known by."""
_CONNECTION_FAILURES = (urllib.error.URLError, http.client.HTTPException, OSError)


def _without_redirects() -> urllib.request.OpenerDirector:
    """Return what makes requests. One that is sent elsewhere is not accepted: what follows a redirect is a GET without
    rows."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        LimitedHTTP,
        LimitedHTTPS,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


_OPENER = _without_redirects()


class WebhookSink(FittedSink):
    """Posts each row as a JSON object, or each batch as a JSON array of them, with the header Idempotency-Key.

    The key of a row is made of the columns of the sink's key, but for changes, of which one follows the other under
    their key; else of the batch and of the row itself. Whoever receives a request a second time, after a failure, knows
    it by its key. What is not accepted for good ends the query.

    Options: url, per ('row' or 'batch'), timeout of a whole request (default 30 seconds), retry_for (default 10
    minutes), and 'header.NAME' for headers, whose values are secret.
    """

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__(sink, writer)
        options = Options(sink, OPTIONS)
        self._url = options.needed("url", "https://example.org/alerts")
        place = self._checked(self._url)
        # The rest of an address is often what lets one in.
        self._host = f"{place.scheme}://{place.hostname}"
        self._whole = options.choice("per", ["row", "batch"]) == "batch"
        self._timeout = options.seconds("timeout", 30, least=0.001)
        self._patience = options.seconds("retry_for", PATIENCE_SECONDS)
        headers = options.below("header.")
        for name, value in headers.items():
            if name.lower() in _OWN_HEADERS:
                raise ProgrammingError(
                    f"sink {sink.name} cannot set the header {name}",
                    hint="it is made from the address and the rows of each request",
                )
            if not _HEADER_NAME.fullmatch(name):
                raise ProgrammingError(f"the option header.{name} of sink {sink.name} does not name a header")
            if not (value.isprintable() and value.isascii()):
                raise ProgrammingError(
                    f"the option header.{name} of sink {sink.name} has a line break, or letters beyond ASCII"
                )
        self._headers = {"Content-Type": "application/json", "User-Agent": "cepsql", **headers}
        # An answer may repeat a part of it.
        self._secrets += [self._url, place.path.strip("/"), place.query, *headers.values()]
        self._secrets += [word for value in headers.values() for word in value.split()[1:]]

    def _checked(self, url: str) -> SplitResult:
        """Return the parts of an address to which requests can be made."""
        begin = f"the option url of sink {self.sink.name}"
        try:
            place = urlsplit(url)
            if place.scheme not in ("http", "https") or not place.hostname:
                raise ProgrammingError(f"{begin} does not begin with http:// or https://")
            if place.port == 0:
                raise ValueError
            # What has an empty or too long part between its dots is refused only when a request is made.
            place.hostname.encode("idna")
        except ValueError:
            raise ProgrammingError(f"{begin} is no address: its host or port cannot be") from None
        if place.username is not None:
            raise ProgrammingError(
                f"{begin} has a user in it", hint="'header.Authorization' 'Basic ${NAME}', of user:password in base64"
            )
        if not (url.isascii() and url.isprintable()) or " " in url:
            raise ProgrammingError(
                f"{begin} has characters that no address has", hint="a space is %20, ä is %C3%A4, or xn-- in a host"
            )
        return place

    def write(self, frame: DataFrame, batch: int) -> int:
        """Post the rows of a micro-batch; rows that were accepted before one was not are not sent again."""
        columns = column_types(frame)
        key = [] if self.changes else key_columns(self.sink, fitted_columns(self.sink, columns))
        name = Batch(self.writer, batch).key
        with self.collected(frame) as pieces:
            if not pieces.rows:
                return 0
            tables = map(sound_text, pieces)
            for body, idempotency in self._whole_batch(tables, name) if self._whole else _rows(tables, key, name):
                self.persistently(partial(self._post, body, idempotency), self._patience)
            return pieces.rows

    def _whole_batch(self, tables: Iterator[pa.Table], name: str) -> Iterator[tuple[str, str]]:
        yield "[" + ",".join(text for rows in tables for text in json_objects(rows)) + "]", _digest(name)

    def _post(self, body: str, key: str) -> int:
        """Post a body; raise Unavailable where a later try may do better."""
        headers = self._headers | {"Idempotency-Key": key}
        request = urllib.request.Request(self._url, body.encode(), headers, method="POST")
        try:
            with time_limit(self._timeout), _OPENER.open(request, timeout=self._timeout) as answer:
                # The code says all; what comes after it may be broken, or never end.
                with contextlib.suppress(*_CONNECTION_FAILURES, ValueError, OverflowError):
                    answer.read1()
                return 1
        except urllib.error.HTTPError as failure:
            said = redact(f"{self._host} answers {failure.code} {failure.reason}", self._secrets)
            if failure.code >= 500 or failure.code in _PASSING:
                raise Unavailable(said, seconds=_seconds_asked(failure.headers.get("Retry-After"))) from failure
            raise OperationalError(
                f"sink {self.sink.name}: {said}", hint="the next start resumes with this batch"
            ) from failure
        except TimeOver as failure:
            raise Unavailable(f"{self._host}: no answer within {self._timeout:g} seconds") from failure
        except _CONNECTION_FAILURES as failure:
            raise Unavailable(f"{self._host}: {getattr(failure, 'reason', None) or failure}") from failure


def _seconds_asked(retry_after: str | None) -> float:
    """Return for how long a header Retry-After, a number or a date, asks for a pause; 0 for what is neither."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        text = (retry_after or "").strip()
        wait = float(text) if text.isdecimal() else email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        return max(wait, 0.0)
    return 0.0


def _rows(tables: Iterator[pa.Table], key: list[str], name: str) -> Iterator[tuple[str, str]]:
    """Yield each row as JSON with its key, which does not depend on the order of the rows."""
    seen: Counter[str] = Counter()
    for rows in tables:
        keys = json_objects(rows.select(key)) if key else None
        for text in json_objects(rows):
            if keys is not None:
                yield text, _digest(next(keys))
                continue
            seen[text] += 1
            yield text, _digest(f"{name}/{seen[text]}/{text}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
