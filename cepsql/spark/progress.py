"""What a standing query has done so far, gathered from Spark's progress events so that none is lost."""

import threading
import weakref
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

_COUNTED = {
    "read": "rows_read",
    "used": "rows_used",
    "late": "rows_late",
    "malformed": "rows_malformed",
    "null_time": "rows_null_time",
    "null_key": "rows_null_key",
    "matches": "matches",
    "timeouts": "timeouts",
    "misplaced": "misplaced_skips",
}


@dataclass(frozen=True)
class Progress:
    """Totals since the query was started here: rows_read = used + late + malformed + null_time.

    rows_null_key:   rows with a NULL among their keys; they are used or late too.
    matches:         complete matches; timeouts: partial ones given out because their deadline passed.
    misplaced_skips: AFTER MATCH SKIP TO a variable without rows, or the match's first row: matching went on elsewhere.
    rows_out:        rows that the sink was given.
    watermark:       event time in microseconds up to which rows were released, None until there is one.
    seconds:         time spent in batches.
    rows_per_second: input rows per second of the last batch.
    """

    batches: int = 0
    rows_read: int = 0
    rows_used: int = 0
    rows_late: int = 0
    rows_malformed: int = 0
    rows_null_time: int = 0
    rows_null_key: int = 0
    matches: int = 0
    timeouts: int = 0
    misplaced_skips: int = 0
    rows_out: int = 0
    watermark: int | None = None
    seconds: float = 0.0
    rows_per_second: float = 0.0


class Watch:
    """The progress of one run of one streaming query; `ended` is set after its last event."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.ended = threading.Event()

    def add(self, event: StreamingQueryProgress) -> None:
        """Add a batch."""
        self.progress = add_batch(self.progress, event)


def watch(spark: SparkSession, name: str, progress: Progress) -> Watch:
    """Follow the streaming query that will be started next under this name, counting on from `progress`."""
    with _LOCK:
        if spark not in _LISTENERS:
            _LISTENERS[spark] = _Listener()
            spark.streams.addListener(_LISTENERS[spark])
    found = Watch(progress)
    _LISTENERS[spark].expected[name] = found
    return found


def add_batch(progress: Progress, event: StreamingQueryProgress) -> Progress:
    """Return the totals with those of one batch added."""
    totals = {
        "batches": progress.batches + 1,
        "seconds": progress.seconds + event.batchDuration / 1000,
        "rows_per_second": event.processedRowsPerSecond or 0.0,
    }
    matched = [row.asDict() for row in event.observedMetrics.values() if "bound" in row.asDict()]
    if matched and event.batchDuration:
        # Spark may have counted files instead.
        totals["rows_per_second"] = sum(row.get("read") or 0 for row in matched) * 1000 / event.batchDuration
    for observed in event.observedMetrics.values():
        values = observed.asDict()
        if matched and "bound" not in values:
            # A match counts the rows that reach it; those of its stream that do not are malformed.
            values["read"] = values.get("malformed")
        # A plain source counts only what it reads and what is malformed.
        values.setdefault("used", (values.get("read") or 0) - (values.get("malformed") or 0))
        for metric, field in _COUNTED.items():
            totals[field] = totals.get(field, getattr(progress, field)) + (values.get(metric) or 0)
        if values.get("bound") is not None:
            totals["watermark"] = max(values["bound"], totals.get("watermark", values["bound"]))
    return replace(progress, **totals)


class _Listener(StreamingQueryListener):
    """The one listener of a session, for every listener is told of every query."""

    def __init__(self):
        self.expected: dict[str, Watch] = {}
        self._running: dict[str, Watch] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        if found := self.expected.pop(event.name, None):
            self._running[str(event.runId)] = found

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        if found := self._running.get(str(event.progress.runId)):
            found.add(event.progress)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        if found := self._running.pop(str(event.runId), None):
            found.ended.set()


_LISTENERS: "weakref.WeakKeyDictionary[SparkSession, _Listener]" = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()
