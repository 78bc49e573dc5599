"""How often Spark looks for input while a query has none.

It lists all files of a folder, or asks a broker, a hundred times a second, which takes most of a core. A query that has
been without input for some time can wait a part of that time longer.
"""

import contextlib
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

from cepsql.base.cached_property import cached_property
from cepsql.spark.jvm.stream_execution import polling_delay

_SHARE, _SHORTEST_SECONDS, _LONGEST_SECONDS = 0.05, 0.05, 0.5


class Polling:
    """How long a running query of Spark's waits before it looks for input again.

    Spark takes that from a setting when the query starts, and never changes it: here the field is set that has it.
    Where there is none of that name nothing is changed.
    """

    def __init__(self, query: StreamingQuery):
        self._query = query
        self._usual = self._now = 0

    def be_idle(self, seconds: float) -> None:
        """Let the query, which has been without input for so many seconds, wait longer if that is long."""
        wait = min(seconds * _SHARE, _LONGEST_SECONDS)
        # Between batches that come one after another, telling Java would cost more than it saves.
        if wait < _SHORTEST_SECONDS:
            self.be_quick()
        elif self._set_delay is not None:
            self._wait(max(self._usual, int(1000 * wait)))

    def be_quick(self) -> None:
        """Let the query wait as Spark's setting has it."""
        self._wait(self._usual)

    @cached_property
    def _set_delay(self) -> Callable[[int], object] | None:
        """What sets the field, which few queries need: most have input all the time, or end."""
        with contextlib.suppress(PySparkException, Py4JError, OSError):
            delay, set_delay = polling_delay(self._query)
            self._usual = self._now = delay
            return set_delay
        return None

    def _wait(self, milliseconds: int) -> None:
        # Before the field was asked for, both are 0.
        if milliseconds != self._now and self._set_delay is not None:
            with contextlib.suppress(PySparkException, Py4JError, OSError):
                self._set_delay(milliseconds)
                self._now = milliseconds
