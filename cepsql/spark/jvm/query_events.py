"""Spark's events of streaming queries, taken from Java as one text each.

Relies on: `addListener` hands Java the `_jlistener` of a listener, a `PythonStreamingQueryListenerWrapper`, which calls
`onQueryProgress` of a `JStreamingQueryListener`; `progress().json()` has all of an event; `fromJson` reads it.
"""

import itertools
import json
from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryProgressEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from cepsql.base.cached_property import cached_property
from cepsql.spark.jvm.gateway import remember_path

_OFFSETS = ("startOffset", "endOffset", "latestOffset")


class TextListener(StreamingQueryListener):
    """A listener for whose events pyspark does not ask Java for every number."""

    @cached_property
    def _jlistener(self) -> Any:
        assert SparkContext._jvm is not None
        return SparkContext._jvm.PythonStreamingQueryListenerWrapper(_JavaListener(self))


class _JavaListener(JStreamingQueryListener):
    """What Java calls."""

    def onQueryProgress(self, jevent: Any) -> None:
        event = json.loads(jevent.progress().json())
        for source, offset in itertools.product(event["sources"], _OFFSETS):
            if not isinstance(source[offset], str):
                source[offset] = json.dumps(source[offset])
        self.pylistener.onQueryProgress(QueryProgressEvent(StreamingQueryProgress.fromJson(event)))

    def onQueryIdle(self, jevent: Any) -> None:
        """Nobody asks for idle triggers."""


def remember_names_of_events() -> None:
    """Look up once what pyspark names at every metric of every batch."""
    if SparkContext._jvm is not None:
        remember_path(SparkContext._jvm, "PythonSQLUtils")
