"""How often Spark looks for input while a query has none.

It lists all files of a folder, or asks a broker, a hundred times a second, which takes most of a core. A query that has
been without input for some time can wait a part of that time longer.
"""

import contextlib
import functools
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

_SHARE, _SHORTEST_SECONDS, _LONGEST_SECONDS = 0.05, 0.05, 0.5
_CLASS, _FIELD = "StreamExecution", "pollingDelayMs"


class Polling:
    """How long a running query of Spark's waits before it looks for input again.

    Spark takes that from a setting when the query starts, and never changes it: here the field is set that has it.
    Where there is none of that name nothing is changed.
    """

    def __init__(self, query: StreamingQuery):
        self._set_long: Callable[[int], object] | None = None
        self._given = self._now = 0
        with contextlib.suppress(PySparkException, Py4JError, OSError):
            execution = query._jsq.streamingQuery()
            kind = execution.getClass()
            while kind.getSimpleName() != _CLASS:
                kind = kind.getSuperclass()
            field = kind.getDeclaredField(_FIELD)
            field.setAccessible(True)
            self._given = self._now = field.getLong(execution)
            self._set_long = functools.partial(field.setLong, execution)

    def be_idle(self, seconds: float) -> None:
        """Let the query, which has been without input for so many seconds, wait longer if that is long."""
        wait = min(seconds * _SHARE, _LONGEST_SECONDS)
        # Between batches that come one after another, telling Java would cost more than it saves.
        self._wait(max(self._given, int(1000 * wait)) if wait >= _SHORTEST_SECONDS else self._given)

    def be_quick(self) -> None:
        """Let the query wait as Spark's setting has it."""
        self._wait(self._given)

    def _wait(self, milliseconds: int) -> None:
        if self._set_long is not None and milliseconds != self._now:
            with contextlib.suppress(PySparkException, Py4JError, OSError):
                self._set_long(milliseconds)
                self._now = milliseconds
