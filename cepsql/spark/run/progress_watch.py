"""The progress of a standing query, collected from Spark's progress events without loss."""

import datetime
import json
import re
import threading
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import add
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryProgress,
)

from cepsql.catalog.working_for import QUERY
from cepsql.ordered.counts import COUNTS, Counts
from cepsql.ordered.row_layout import END_OF_TIME, IDLE, UNTIMED
from cepsql.readers.kafka.lag import records_behind
from cepsql.spark.checkpoint.control import says_end
from cepsql.spark.checkpoint.operator_progress import WORKED, OperatorTotals, phases
from cepsql.spark.checkpoint.progress import EPOCH, Progress
from cepsql.spark.jvm.query_events import TextListener, remember_names_of_events
from cepsql.spark.run.late_counts import LEFT_OUT
from cepsql.spark.sources.watching.notices import warn
from cepsql.spark.sources.watching.time_alerts import LateAlert, TimeAlerts
from cepsql.spark.staging.observations import BELOW_MATCH, INPUT_COUNTS, OBSERVATION, PART, SAID, STANDING

_COUNTED = {
    "read": "rows_read",
    "used": "rows_used",
    "late": "rows_late",
    "malformed": "rows_malformed",
    "null_time": "rows_null_time",
    "null_key": "rows_null_key",
    "ahead": "rows_ahead",
    "punctuation": "rows_punctuation",
    "matches": "matches",
    "timeouts": "timeouts",
    "misplaced": "misplaced_skips",
    "given_up": "attempts_given_up",
    "timeless": "matches_null_time",
}

_INPUT_COUNT = rf"(?s){INPUT_COUNTS}\d+ (.+) (\w+)"
_OF_INPUT = rf"(?s)cepsql_[a-z]+_\d+(?:{PART}\d+)? (.+)"
"""The name of an observation of a single input, with the input's name."""

_DROPPING = ("symmetricHashJoin", "dedupe", "dedupeWithinWatermark")
"""Spark's operators that count late rows one by one; its aggregations count groups."""

Observed = Mapping[str, Mapping[str, Any]]
"""The observations of a batch by name, each with its values by name."""

_JOINED = {"bound": max, "deadline": min}
_LAST_EVENTS_SECONDS = 10
_RATE_SECONDS = 10.0
"""How long after the end of a batch its rate is still reported as the query's."""
_POLL = 0.005

_TOTALS = ("batches", *_COUNTED.values(), "counters", "inputs")


class Watch:
    """The progress of a standing query; `ended` is set after the last event of its present run.

    patterns: its row patterns as text, for warnings.
    begun:    the counts in its checkpoint.
    counted_batch: the number of a batch that was counted before, under another text of the query.
    late_shares: the share of late rows above which an alert is raised, by stream name.
    observed: the names of the operators of each stage, by the name of its observation.
    late_alerts: alerts of the batch that is about to commit.
    """

    def __init__(
        self,
        patterns: str = "",
        begun: Progress | None = None,
        counted_batch: int | None = None,
        late_shares: Mapping[str, float] | None = None,
        observed: Mapping[str, tuple[str, ...]] | None = None,
    ):
        self._operators = OperatorTotals(observed or {})
        self.progress = self._reached = self._begun = begun or Progress()
        shares = late_shares or {}
        self._alerts = TimeAlerts(shares, _read_and_late(self.progress, shares))
        self.late_alerts: list[LateAlert] = []
        self._shares = shares
        self._counted_batch = counted_batch
        self.ended = threading.Event()
        self._patterns = patterns
        self._last: int | None = None
        self._added = float("-inf")
        self._works_for = QUERY.get()
        self._due: dict[int, int] = {}
        self._spark_bound: int | None = None
        self._lock = threading.Lock()

    def reach(self, observed: Observed, batch: int, rows_out: int) -> Progress:
        """Return the totals as of the batch that is about to commit, whose event comes later.

        rows_out: the rows passed to the sink, with those of this batch. They count with the batch, because a batch
                  without commit is repeated, and no total may decrease.
        The state size of Spark's own operators is that of the last event.
        """
        with self._lock:
            self._due[batch] = rows_out
            values = {name: getattr(self.progress, name) for name in ("bound", "state_rows", "state_bytes")}
            reached = counted(replace(self._reached, **values, rows_out=rows_out), observed)
            self._reached = self._uncounted(reached, batch)
            self.late_alerts = self._alerts.judge(_read_and_late(self._reached, self._shares), batch)
            return self._reached

    def reached_bound(self, observed: Observed) -> int | None:
        """Return the event time up to which a batch with these observations released rows."""
        return _standing(self.progress, _stages(observed)).get("bound", self.progress.bound)

    def bounds_of_parts(self, observed: Observed, staged: Sequence[bool]) -> tuple[int | None, ...]:
        """Return the same for each view of a group, None if unknown.

        staged: whether each view has a stage; for others, Spark has the watermark, as of the previous batch.
        """

        def bound(number: int) -> int | None:
            end = f"{PART}{number}"
            # The name of a stream may follow in the observation's name.
            own = {name: values for name, values in observed.items() if name.partition(" ")[0].endswith(end)}
            return _standing(Progress(), _stages(own)).get("bound")

        return tuple(bound(number) if has else self._spark_bound for number, has in enumerate(staged))

    def add(self, event: StreamingQueryProgress) -> None:
        """Add a batch, unless it was added before, and warn of its problems."""
        # Events arrive in a Java thread.
        token = QUERY.set(self._works_for)
        try:
            self._add(event)
        finally:
            QUERY.reset(token)

    def rate(self, busy: bool) -> float:
        """Return the input rows per second of the last batch, 0 if it is too long ago; `busy`: a batch runs now."""
        recent = busy or time.monotonic() - self._added < _RATE_SECONDS
        return self.progress.rows_per_second if recent else 0.0

    def _add(self, event: StreamingQueryProgress) -> None:
        with self._lock:
            if self._last is not None and event.batchId <= self._last:
                return
            self._last, self._added = event.batchId, time.monotonic()
            rows_out = self._due.get(event.batchId, self.progress.rows_out)
            self._due = {batch: out for batch, out in self._due.items() if batch > event.batchId}
            observed = observed_by(event)
            self._spark_bound = _spark_bound(event) or self._spark_bound
            reached = add_batch(replace(self.progress, rows_out=rows_out), event, observed)
            progress = self._uncounted(reached, event.batchId)
            self._alerts.compare(progress.bound, event.timestamp)
            operators = self._operators.add(event, observed)
            self.progress = replace(
                progress, late_alerts=self._alerts.raised, operators=operators, phases=phases(event)
            )
            warn(event.batchId, observed, self._patterns)

    def _uncounted(self, progress: Progress, batch: int) -> Progress:
        """Return the totals after a batch; a batch that was counted before only changes the state sizes."""
        if batch != self._counted_batch:
            return progress
        return replace(progress, **{name: getattr(self._begun, name) for name in _TOTALS})

    def catch_up(self, query: StreamingQuery) -> None:
        """Add the batches without event of a running query that has processed all input."""
        if not self._due:
            return
        last = query.lastProgress
        if last is not None and list(self._due) == [last.batchId] and "addBatch" in last.durationMs:
            self.add(last)
        end = time.monotonic() + _LAST_EVENTS_SECONDS
        while self._due and query.isActive and time.monotonic() < end:
            time.sleep(_POLL)

    def complete(self, query: StreamingQuery, limit: int) -> None:
        """Add the batches without event of a run that has ended, because events arrive some tenths of a second late.

        Spark keeps the last `limit` batches; only if these are too few, wait for the events.
        """
        recent = query.recentProgress
        if len(recent) >= limit and (self._last is None or recent[0].batchId > self._last + 1):
            self.ended.wait(_LAST_EVENTS_SECONDS)
        for event in recent:
            # A trigger without input also has an event, with the number of the next batch.
            if "addBatch" in event.durationMs:
                self.add(event)


def _read_and_late(progress: Progress, streams: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the rows read and the late rows of each stream; a query without named inputs reads one stream."""
    whole = (progress.rows_read, progress.rows_late)
    inputs = {name: (counts.read, counts.late) for name, counts in progress.inputs.items()}
    return {name: inputs.get(name, whole) for name in streams}


def watch(spark: SparkSession, name: str, following: Watch) -> None:
    """Watch the next streaming query that starts under this name, and add to the totals in `following`."""
    with _LOCK:
        if spark not in _LISTENERS:
            _LISTENERS[spark] = _Listener()
            spark.streams.addListener(_LISTENERS[spark])
            remember_names_of_events()
    following.ended.clear()
    _LISTENERS[spark].expected[name] = following


def add_batch(progress: Progress, event: StreamingQueryProgress, observed: Observed) -> Progress:
    """Return the totals with those of one batch added, and the batch's own figures."""
    totals: dict[str, Any] = {
        "seconds": progress.seconds + event.batchDuration / 1000,
        "rows_per_second": event.processedRowsPerSecond or 0.0,
        "batch_seconds": event.batchDuration / 1000,
    }
    behind = [records_behind(source.endOffset, source.latestOffset) for source in event.sources]
    totals["records_behind"] = sum(filter(None, behind)) if any(lag is not None for lag in behind) else None
    matched = [values for name, values in observed.items() if "late" in values and not name.startswith(LEFT_OUT)]
    if matched and event.batchDuration:
        # Spark may have counted files instead of rows.
        totals["rows_per_second"] = sum(values.get("read") or 0 for values in matched) * 1000 / event.batchDuration
    if not _stages(observed):
        text = (event.eventTime or {}).get("watermark")
        totals["ended"] = text is not None and says_end(text)
        totals["bound"] = _spark_bound(event) or progress.bound
        totals["state_rows"] = sum(operator.numRowsTotal for operator in event.stateOperators)
        totals["state_bytes"] = sum(operator.memoryUsedBytes for operator in event.stateOperators)
    return counted(replace(progress, **totals), observed)


def _spark_bound(event: StreamingQueryProgress) -> int | None:
    """Return Spark's watermark in microseconds, None without one or at the end of time."""
    text = (event.eventTime or {}).get("watermark")
    # Without a watermark, Spark reports the epoch.
    return None if text is None or says_end(text) else _micros(datetime.datetime.fromisoformat(text)) or None


def observed_by(event: StreamingQueryProgress) -> Observed:
    """Return the observations of a batch, as `cepsql.spark.run.observed.observed_in` does."""
    dropped = [
        operator.numRowsDroppedByWatermark for operator in event.stateOperators if operator.operatorName in _DROPPING
    ]
    observed = gathered({name: row.asDict() for name, row in event.observedMetrics.items()})
    return observed | {f"{LEFT_OUT} {number}": {"late": late} for number, late in enumerate(dropped)}


def gathered(observed: Observed) -> dict[str, dict[str, Any]]:
    """Return the observations, with those of each stage's buckets combined, as SAID defines."""
    counts = {name: dict(values) for name, values in observed.items() if SAID not in values}
    for said in (json.loads(text) for values in observed.values() for text in values.get(SAID, ())):
        totals = counts.setdefault(said.pop(OBSERVATION), {})
        for name, number in said.items():
            if number is not None:
                totals[name] = _JOINED.get(name, add)(totals[name], number) if name in totals else number
    return counts


def counted(progress: Progress, observed: Observed) -> Progress:
    """Return the totals with those of one batch added, and the state sizes after it."""
    totals: dict[str, Any] = {"batches": progress.batches + 1}
    for name, observation in observed.items():
        values = dict(observation)
        unused = {name: values.get(name) or 0 for name in ("malformed", "ahead", "punctuation")}
        if name.startswith(LEFT_OUT):
            # Sources count rows as used that Spark's operators drop.
            values["used"] = -(values.get("late") or 0) - (values.get("null_time") or 0)
        elif name.startswith(BELOW_MATCH):
            # Rows that advance the watermark reach the match, which counts them.
            values |= {"read": unused["malformed"] + unused["ahead"], "used": 0, "punctuation": 0}
        elif "late" not in values:
            values["used"] = (values.get("read") or 0) - sum(unused.values())
        for metric, total in _COUNTED.items():
            totals[total] = totals.get(total, getattr(progress, total)) + (values.get(metric) or 0)
        counters, inputs = _others(values)
        if given_name := re.fullmatch(_OF_INPUT, name):
            inputs[given_name[1]] = Counts(**{count: values.get(count) or 0 for count in COUNTS})
        for counter, number in counters.items():
            totals["counters"] = totals.get("counters", dict(progress.counters))
            totals["counters"][counter] = totals["counters"].get(counter, 0) + number
        for label, counts in inputs.items():
            totals["inputs"] = totals.get("inputs", dict(progress.inputs))
            totals["inputs"][label] = totals["inputs"].get(label, Counts()) + counts
    return replace(progress, **totals, **_standing(progress, _stages(observed)))


def _stages(observed: Observed) -> list[Mapping[str, Any]]:
    """Return the observations of our stages; a stage without input has none."""
    return [values for values in observed.values() if values.get("bound") is not None]


def _standing(progress: Progress, stages: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the watermarks and state sizes of a query's stages after a batch."""
    if not stages:
        return {}
    bounds = [values["bound"] for values in stages]
    times = [bound for bound in bounds if IDLE < bound < END_OF_TIME]
    deadlines = [values["deadline"] for values in stages if values.get("deadline") is not None]
    return {
        "bound": None if max(bounds) == UNTIMED else max(times, default=progress.bound),
        "ended": END_OF_TIME in bounds,
        "state_rows": sum(values.get("rows") or 0 for values in stages),
        "state_bytes": sum(values.get("bytes") or 0 for values in stages),
        "rows_waiting": sum(values.get("waiting") or 0 for values in stages),
        "open": sum(values.get("open") or 0 for values in stages),
        "next_deadline": min(deadlines, default=None),
    }


def _micros(time: datetime.datetime) -> int:
    return (time - EPOCH) // datetime.timedelta(microseconds=1)


def _others(values: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, Counts]]:
    """Return the values of an operator without a field in `Progress`: counters, and counts of inputs."""
    counters: dict[str, int] = {}
    inputs: dict[str, dict[str, int]] = {}
    for name in values if values.get("bound") is not None else ():
        if name in ("bound", *WORKED, *STANDING) or name in _COUNTED:
            continue
        if count := re.fullmatch(_INPUT_COUNT, name):
            inputs.setdefault(count[1], {})[count[2]] = values[name]
        else:
            counters[name] = values[name]
    return counters, {name: Counts(**counts) for name, counts in inputs.items()}


class _Listener(TextListener):
    """The only listener of a session, because every listener gets the events of all queries."""

    def __init__(self):
        self.expected: dict[str, Watch] = {}
        self._running: dict[str, Watch] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        if following := self.expected.pop(event.name or "", None):
            self._running[str(event.runId)] = following

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        if following := self._running.get(str(event.progress.runId)):
            following.add(event.progress)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        if following := self._running.pop(str(event.runId), None):
            following.ended.set()


_LISTENERS: "weakref.WeakKeyDictionary[SparkSession, _Listener]" = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()
