"""Sessions in which queries are started side by side, for each start lends its settings to a session.

Relies on: `_jsparkSession.cloneSession()` is a copy of a session, and `ensure_callback_server_started` is safe to
call before threads need it.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession


class StartSessions:
    """Copies of a session, as many as there are starts at once; they share its Spark.

    session: gives the session that is copied; another one once Java has ended.
    A copy is used again, for Spark keeps for ever what it makes for a session.
    """

    def __init__(self, session: Callable[[], SparkSession]):
        self._session, self._lock = session, threading.Lock()
        self._copied: SparkSession | None = None
        self._free: list[SparkSession] = []

    @contextlib.contextmanager
    def lent(self) -> Iterator[SparkSession]:
        """Lend a session that no other start uses."""
        with self._lock:
            session = self._session()
            if session is not self._copied:
                # Two starts would make this server at once.
                ensure_callback_server_started(session.sparkContext._gateway)
                self._copied, self._free = session, []
            found = self._free.pop() if self._free else _copy(session)
        try:
            yield found
        finally:
            with self._lock:
                if session is self._copied:
                    self._free.append(found)


def _copy(session: SparkSession) -> SparkSession:
    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
