"""The changes of a view as server-sent events."""

import json
import time
from collections.abc import AsyncIterator

import pyarrow as pa

from cepsql.errors import Error
from cepsql.frontends.server.wire.answering import TooMuch
from cepsql.frontends.server.wire.reads import Reads
from cepsql.render.jsonlines import json_rows
from cepsql.standing.subscription import Subscription
from cepsql.views.view_subscription import Changes

_ROWS_OF_AN_EVENT = 1000
_SILENCE_SECONDS = 15.0
"""After this long without an event, a comment keeps proxies from closing the connection."""


async def events(subscription: Subscription, reads: Reads) -> AsyncIterator[str]:
    """Yield events until the client is gone: `rows` for the first rows, then `changes`; an error ends them.

    The last event of a batch has its token as id, from which a client resumes with `Last-Event-ID`.
    """
    said = time.monotonic()
    with subscription:
        while not reads.closed:
            try:
                changes = await reads.run(subscription.poll)
            except TooMuch:
                # Requests for an answer go first.
                changes = None
            except Error as error:
                failure = {"error": error.message} | ({"hint": error.hint} if error.hint else {})
                yield f"event: error\ndata: {json.dumps(failure)}\n\n"
                return
            if changes is not None:
                said = time.monotonic()
                for text in _events(changes):
                    yield text
                continue
            await subscription.change()
            if time.monotonic() - said >= _SILENCE_SECONDS:
                said = time.monotonic()
                yield ":\n\n"


def _events(changes: Changes) -> list[str]:
    kind = "rows" if changes.snapshot else "changes"
    parts = [
        changes.rows.slice(at, _ROWS_OF_AN_EVENT) for at in range(0, max(1, changes.rows.num_rows), _ROWS_OF_AN_EVENT)
    ]
    texts = [f"event: {kind}\ndata: [{_json(part)}]\n\n" for part in parts]
    # A client that loses the connection before this gets the batch again.
    texts[-1] = f"id: {changes.token}\n{texts[-1]}"
    return texts


def _json(rows: pa.Table) -> str:
    return ",".join(json_rows(rows, rows.column_names, "UTC"))
