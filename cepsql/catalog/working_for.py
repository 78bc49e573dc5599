"""Which query a thread works for, of those under names: a server runs many, and its log says of which one it tells."""

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context

QUERY: ContextVar[str | None] = ContextVar("query", default=None)
"""Its name in lower case; None for none."""


def thread_beside(run: Callable[[], object], name: str) -> threading.Thread:
    """Return a thread that works for the same query as the present one.

    >>> found, token = [], QUERY.set("fraud")
    >>> beside = thread_beside(lambda: found.append(QUERY.get()), "beside")
    >>> QUERY.reset(token)
    >>> beside.start(), beside.join(), found
    (None, None, ['fraud'])
    """
    return threading.Thread(target=copy_context().run, args=(run,), name=name, daemon=True)
