"""SUBSCRIBE: the rows of a view or query as they arrive, each with the token of its batch."""

import threading
import time
from typing import TYPE_CHECKING

import pyarrow as pa

from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.counted import counted
from cepsql.frontends.runner.stream_rows import StreamRows, stream_rows
from cepsql.frontends.runner.user_choices import UserChoices

if TYPE_CHECKING:
    from cepsql.standing.subscription import Subscription

_TOKEN = "token"


def follow(
    subscription: "Subscription", zone: str, settings: UserChoices, console: Console, stop: threading.Event
) -> None:
    """Write the rows of a subscription until `stop` is set, the limit of rows or the timeout is reached, or the output
    is closed; with `drain`, until there are no new rows. Raises Error."""
    begin, written, shown = time.monotonic(), 0, None
    end = "stopped"
    with subscription:
        if console.live:
            console.status("running; Ctrl-C stops it")
        while not stop.is_set():
            changes = subscription.poll()
            if changes is None:
                if settings.drain:
                    end = "all there is"
                    break
                if settings.timeout is not None and time.monotonic() - begin >= settings.timeout:
                    end = "timeout"
                    break
                subscription.wait(stop)
                continue
            rows = changes.rows
            if settings.limit is not None:
                rows = rows.slice(0, settings.limit - written)
            shown = shown or _begun(subscription, zone, settings, console)
            # A live table reads the operation of a row from its last column.
            shown.write(rows if settings.live else _with_token(rows, changes.token))
            written += rows.num_rows
            if written == settings.limit or console.closed.is_set():
                end = "limit reached" if written == settings.limit else "closed"
                break
    if stop.is_set():
        console.echoed()
    if shown is not None:
        shown.end()
    console.clear()
    console.say(f"{end}: {counted(written, 'row')}, {time.monotonic() - begin:.0f} s")
    if subscription.token is not None and written != settings.limit:
        console.say(f"SUBSCRIBE {subscription.name} SINCE '{subscription.token}' resumes from here")


def _begun(subscription: "Subscription", zone: str, settings: UserChoices, console: Console) -> StreamRows:
    columns = subscription.columns if settings.live else [*subscription.columns, (_TOKEN, "string")]
    shown = stream_rows(columns, zone, settings, console)
    shown.begin()
    return shown


def _with_token(rows: pa.Table, token: str) -> pa.Table:
    return rows.append_column(_TOKEN, pa.repeat(token, rows.num_rows).cast(pa.string()))
