"""SUBSCRIBE over PostgreSQL's protocol: a result without end, which a client stops with a cancel request."""

import contextlib
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import pg_mimic

from cepsql.errors import Error
from cepsql.frontends.server.wire.answering import TooMuch, tuples
from cepsql.frontends.server.wire.reads import Reads
from cepsql.standing.subscription import Subscription
from cepsql.views.view_subscription import TOKEN

SUBSCRIBES = re.compile(r"(?is)\s*SUBSCRIBE\b")
COPIED = re.compile(r"(?is)\s*COPY\s*\(\s*(SUBSCRIBE\b.*)\)\s*TO\s+STDOUT\s*;?\s*\Z")
_ROWS_AT_ONCE = 1000


class FollowPortal(pg_mimic.Portal):
    """The rows of a subscription; `execute` waits until there are some.

    is_gone: tells whether the client has left.
    """

    def __init__(self, subscription: Subscription, reads: Reads, is_gone: Callable[[], bool], translated: Callable):
        self._subscription, self._reads, self._is_gone = subscription, reads, is_gone
        self._translated = translated
        self._rows: deque[tuple] = deque()

    async def execute(self, max_rows: int) -> tuple[list[tuple], bool]:
        """Return the next rows, at most `max_rows`, and True: there are always more."""
        while not self._rows:
            if self._is_gone() or self._reads.closed:
                self._subscription.close()
                return [], False
            with contextlib.suppress(TooMuch):
                self._rows.extend(await self._polled())
            if not self._rows:
                await self._subscription.change()
        most = max_rows if max_rows > 0 else _ROWS_AT_ONCE
        return [self._rows.popleft() for _ in range(min(most, len(self._rows)))], True

    async def _polled(self) -> list[tuple]:
        try:
            changes = await self._reads.run(self._subscription.poll)
        except TooMuch:
            raise
        except Error as error:
            raise self._translated(error, "") from error
        return [] if changes is None else [(*row, changes.token) for row in tuples(changes.rows)]

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()


class FollowStatement(pg_mimic.Statement):
    """SUBSCRIBE, which starts when it is bound."""

    def __init__(self, sql: str, columns: Sequence[pg_mimic.ResultColumn], bound: Callable[[], FollowPortal]):
        self.sql, self._bound = sql, bound
        self.param_oids: list[int | None] = []
        self._columns = [*columns, pg_mimic.ResultColumn(TOKEN, pg_mimic.TEXT)]

    async def describe(self) -> list[pg_mimic.ResultColumn] | None:
        """Return its columns."""
        return self._columns

    def bind(self, params: list[Any]) -> FollowPortal:
        """Return it as a portal."""
        return self._bound()


def copy_out_response(columns: int) -> bytes:
    """Return the message that begins COPY TO STDOUT, as text."""
    body = b"\0" + columns.to_bytes(2, "big") + b"\0\0" * columns
    return b"H" + (len(body) + 4).to_bytes(4, "big") + body


def copy_data(values: Sequence[bytes | None]) -> bytes:
    """Return the message of a row of COPY, as text.

    >>> copy_data([b"a\\tb", None])
    b'd\\x00\\x00\\x00\\x0ca\\\\tb\\t\\\\N\\n'
    """
    line = b"\t".join(b"\\N" if value is None else _ESCAPED.sub(_escape, value) for value in values) + b"\n"
    return b"d" + (len(line) + 4).to_bytes(4, "big") + line


COPY_DONE = b"c\0\0\0\4"
_ESCAPED = re.compile(rb"[\\\n\r\t]")
_LETTERS = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}


def _escape(match: re.Match[bytes]) -> bytes:
    return _LETTERS[match[0]]
