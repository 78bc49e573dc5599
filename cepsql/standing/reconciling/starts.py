"""Starts of queries in threads of their own, several at once, while the reconciler looks after other queries."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cepsql.errors import OperationalError

LOG = logging.getLogger("cepsql.standing")


@dataclass(frozen=True)
class Start:
    """A start of a query.

    name:    of the query, lower case.
    call:    starts it.
    suspect: the query is suspected of ending Java.
    """

    name: str
    call: Callable[[], None]
    suspect: bool = False


class Starts:
    """Starts, of which at most `abreast` run at once; the others wait, and can be withdrawn."""

    def __init__(self, abreast: int):
        self._abreast = abreast
        self._changed = threading.Condition()
        self._waiting: deque[Start] = deque()
        self._running: dict[str, Start] = {}
        self._threads = 0

    def __contains__(self, name: str) -> bool:
        """Tell whether a query is being started now."""
        return name in self._running

    @property
    def has_suspect(self) -> bool:
        """Whether a suspect is being started now."""
        with self._changed:
            return any(start.suspect for start in self._running.values())

    def offer(self, starts: Iterable[Start]) -> None:
        """Queue starts, in their order, in place of those that wait."""
        with self._changed:
            self._waiting = deque(start for start in starts if start.name not in self._running)
            for _ in range(min(self._abreast - self._threads, len(self._waiting))):
                self._threads += 1
                threading.Thread(target=self._work, name="cepsql-start", daemon=True).start()

    def withdraw(self) -> frozenset[str]:
        """Remove all waiting starts; return the names of the queries that are being started now."""
        with self._changed:
            self._waiting.clear()
            return frozenset(self._running)

    def wait(self, name: str | None = None) -> None:
        """Wait for the running start of a query, or for all of them; call it when no start waits."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running if name is None else name not in self._running)

    def _work(self) -> None:
        while (start := self._next()) is not None:
            try:
                start.call()
            except OperationalError as error:
                # The catalog is away, which the reconciler reports.
                LOG.debug("query %s: %s", start.name, error.message)
            except Exception as failure:
                LOG.exception("cepsql failed: %s", failure, extra={"query": start.name})
            finally:
                with self._changed:
                    del self._running[start.name]
                    self._changed.notify_all()

    def _next(self) -> Start | None:
        with self._changed:
            if not self._waiting:
                self._threads -= 1
                return None
            start = self._waiting.popleft()
            self._running[start.name] = start
            return start
