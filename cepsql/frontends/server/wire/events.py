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
"""After so long without an event a comment keeps proxies from closing the connection."""


async def events(subscription: Subscription, reads: Reads) -> AsyncIterator[str]:
    """Yield events until the client is gone: `rows` is what there was, `changes` what became of it; an error ends them.

    The last event of a batch has its token as id, from which a client goes on by `Last-Event-ID`.
    """
    said = time.monotonic()
    with subscription:
        while not reads.closed:
            try:
                found = await reads.run(subscription.poll)
            except TooMuch:
                # Those who ask for an answer go before.
                found = None
            except Error as error:
                failure = {"error": error.message} | ({"hint": error.hint} if error.hint else {})
                yield f"event: error\ndata: {json.dumps(failure)}\n\n"
                return
            if found is not None:
                said = time.monotonic()
                for text in _events(found):
                    yield text
                continue
            await subscription.change()
            if time.monotonic() - said >= _SILENCE_SECONDS:
                said = time.monotonic()
                yield ":\n\n"


def _events(found: Changes) -> list[str]:
    kind = "rows" if found.snapshot else "changes"
    parts = [found.rows.slice(at, _ROWS_OF_AN_EVENT) for at in range(0, max(1, found.rows.num_rows), _ROWS_OF_AN_EVENT)]
    texts = [f"event: {kind}\ndata: [{_json(part)}]\n\n" for part in parts]
    # Who loses the connection before gets the batch again.
    texts[-1] = f"id: {found.token}\n{texts[-1]}"
    return texts


def _json(rows: pa.Table) -> str:
    return ",".join(json_rows(rows, rows.column_names, "UTC"))
