"""Sessions for concurrent starts of queries, because each start changes settings of a session.

Relies on: `_jsparkSession.cloneSession()` is a copy of a session, and `ensure_callback_server_started` is safe to
call before threads need it.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession


class StartSessions:
    """Copies of a session, one for each concurrent start; they share its Spark.

    session: returns the session to copy; another one after Java has ended.
    Copies are reused, because Spark never frees what it creates for a session.
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
                # Two concurrent starts would both create this server.
                ensure_callback_server_started(session.sparkContext._gateway)
                self._copied, self._free = session, []
            copy = self._free.pop() if self._free else _copy(session)
        try:
            yield copy
        finally:
            with self._lock:
                if session is self._copied:
                    self._free.append(copy)


def _copy(session: SparkSession) -> SparkSession:
    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
