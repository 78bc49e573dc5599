"""A status line while something takes long."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cepsql.frontends.runner.console_streams import Console
from cepsql.render.bar import bar

_FIRST, _EVERY = 1.0, 1.0
_MANY_TASKS = 4


def share_of(tasks: tuple[int, int] | None) -> str:
    """Draw the share of finished Spark tasks; "" for few tasks.

    >>> share_of((5, 20))
    ' [#####...............] 5 of 20 tasks'
    """
    if tasks is None or tasks[1] < _MANY_TASKS:
        return ""
    done, total = tasks
    return f" {bar(done / total)} {done} of {total} tasks"


@contextmanager
def working(console: Console, what: Callable[[], str] = lambda: "working") -> Iterator[None]:
    """Show what is being done, and for how long, while the block takes more than a second.

    It never replaces a status of other code.
    """
    if not console.live:
        yield
        return
    ended, begin = threading.Event(), time.monotonic()

    def tell() -> None:
        before, wait = "", _FIRST
        while not ended.wait(wait):
            text = f"{what()} · {time.monotonic() - begin:.0f} s"
            if not console.replace_status(before, text):
                return
            before, wait = text, _EVERY

    teller = threading.Thread(target=tell, name="cepsql-working", daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
        console.clear()
