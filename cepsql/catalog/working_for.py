"""The named query that a thread works for: the log of a server, which runs many, names it in each record."""

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context

QUERY: ContextVar[str | None] = ContextVar("query", default=None)
"""The name of the query in lower case; None outside of a query."""


def thread_beside(run: Callable[[], object], name: str) -> threading.Thread:
    """Return a thread that works for the same query as the current one.

    >>> seen, token = [], QUERY.set("fraud")
    >>> beside = thread_beside(lambda: seen.append(QUERY.get()), "beside")
    >>> QUERY.reset(token)
    >>> beside.start(), beside.join(), seen
    (None, None, ['fraud'])
    """
    return threading.Thread(target=copy_context().run, args=(run,), name=name, daemon=True)
