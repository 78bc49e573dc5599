"""What a standing query has done so far, gathered from Spark's progress events so that none is lost."""

import datetime
import itertools
import json
import re
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import add
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from cepsql.cached_property import cached_property
from cepsql.catalog.working_for import QUERY
from cepsql.kafka.lag import records_behind
from cepsql.ordered.counts import COUNTS, Counts
from cepsql.ordered.row_layout import END_OF_TIME, IDLE, UNTIMED
from cepsql.render.readable import Readable, record
from cepsql.spark.control import says_end
from cepsql.spark.gateway import remember_path
from cepsql.spark.late_counts import LEFT_OUT
from cepsql.spark.notices import warn
from cepsql.spark.operator_progress import WORKED, OperatorProgress, OperatorTotals, phases
from cepsql.spark.time_alerts import LateAlert, TimeAlerts

BELOW_MATCH = "cepsql_below"
"""What the observations of streams begin with whose well-formed rows a match counts."""

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

INPUT_COUNTS = "input"
"""What the names of an operator's counts of a single input begin with; its number and name follow."""

_INPUT_COUNT = rf"(?s){INPUT_COUNTS}\d+ (.+) (\w+)"
_OF_INPUT = r"(?s)cepsql_[a-z]+_\d+ (.+)"
"""An observation of a single input, whose name it has."""

_DROPPING = ("symmetricHashJoin", "dedupe", "dedupeWithinWatermark")
"""Spark's operators that count single rows that they drop for being late; its aggregations count groups."""

Observed = Mapping[str, Mapping[str, Any]]
"""What was observed in a batch: values by name, of each observation by name."""

SAID = "said"
"""What a stage observes: for each bucket a text, its numbers by name as JSON. Of `bound` the greatest counts, of
`deadline` the least, and all others are added."""

STANDING = ("deadline", "rows", "waiting", "open", "bytes")
"""What a bucket says of what it holds (`cepsql.ordered.standing.Standing`), and the bytes of its state."""

_JOINED = {"bound": max, "deadline": min}
_OFFSETS = ("startOffset", "endOffset", "latestOffset")
_LAST_EVENTS_SECONDS = 10
_RATE_SECONDS = 10.0
"""How long after the end of a batch its rate is still that of the query."""
_POLL = 0.005
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, repr=False)
class Progress(Readable):
    """Totals: rows_read = used + late + malformed + null_time + ahead + punctuation.

    They go on from what the checkpoint has counted, but for `seconds`, `sink_retries`, `refresh_failures` and
    `late_alerts`, which are those since the query was started here. Well-formed rows that WHERE drops below an operator
    of cepsql are not counted; without one they are used.

    rows_null_key:   rows with a NULL among their keys; they are used or late too.
    rows_ahead:      rows whose event time lies further ahead than the stream's AHEAD AT MOST allows.
    rows_punctuation: rows that only say how far the stream is.
    matches:         complete matches; timeouts: partial ones given out because their deadline passed. Both of every
                     MATCH_RECOGNIZE of the query.
    misplaced_skips: AFTER MATCH SKIP TO a variable without rows, or the match's first row: matching went on elsewhere.
    attempts_given_up: rows from which the pattern took too many steps, so that they count as not matched.
    matches_null_time: matches without event time (empty ones), which a MATCH_RECOGNIZE over them left out.
    rows_out:        rows that the sink was given, in batches that are done.
    sink_retries:    how often the sink was tried again because it did not answer.
    refresh_failures: how often a table with REFRESH EVERY could not be read again.
    late_alerts:     how often a larger share of a stream's rows was late than its WITH LATE ALERT allows.
    waiting:         what the query waits for before it goes on, such as a database that does not answer; None: nothing.
    bound:           event time in microseconds up to which rows were released, None until there is one, and where no
                     operator goes by event time; `watermark` is the same as a time. Neither changes when the input
                     ends, which `ended` tells.
    batch_seconds:   how long the last batch took.
    state_rows, state_bytes: what the query keeps between batches, as of the last batch; of a query without an ordered
                     operator what Spark says.
    rows_waiting:    rows above the watermark, which wait for it.
    open:            partitions with something undecided, such as an open match.
    next_deadline:   event time in microseconds at which the first of them is decided without a new row, None where none
                     is; `deadline` is the same as a time.
    seconds:         time spent in batches.
    rows_per_second: input rows per second of the last batch; 0 if the last one ended ten seconds ago and none runs.
    records_behind:  how many records of Kafka were there after the last batch when it was planned; None without Kafka.
    counters:        what other operators than row patterns count, by name.
    inputs:          where ordered operators read several streams, or one several times, the counts of each by its name;
                     `orders 2` is the second reading of orders.
    operators:       what each operator has done since the query was started here, inner ones first.
    phases:          the seconds of the last batch by what they were spent on: input, planning, rows, commit.
    """

    batches: int = 0
    rows_read: int = 0
    rows_used: int = 0
    rows_late: int = 0
    rows_malformed: int = 0
    rows_null_time: int = 0
    rows_null_key: int = 0
    rows_ahead: int = 0
    rows_punctuation: int = 0
    matches: int = 0
    timeouts: int = 0
    misplaced_skips: int = 0
    attempts_given_up: int = 0
    matches_null_time: int = 0
    rows_out: int = 0
    sink_retries: int = 0
    refresh_failures: int = 0
    late_alerts: int = 0
    waiting: str | None = None
    bound: int | None = None
    ended: bool = False
    batch_seconds: float = 0.0
    state_rows: int = 0
    state_bytes: int = 0
    rows_waiting: int = 0
    open: int = 0
    next_deadline: int | None = None
    seconds: float = 0.0
    rows_per_second: float = 0.0
    records_behind: int | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, Counts] = field(default_factory=dict)
    operators: tuple[OperatorProgress, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)

    @property
    def watermark(self) -> datetime.datetime | None:
        """The event time up to which rows were released, in UTC; None until there is one, and outside years 1-9999."""
        return _time(self.bound)

    @property
    def deadline(self) -> datetime.datetime | None:
        """When, in event time, the first of what is open is decided without a new row, in UTC; None if nothing is."""
        return _time(self.next_deadline)

    def __str__(self) -> str:
        """Write what is known, with a line for each number that is not 0."""
        always = ("batches", "rows_read", "rows_out")
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in _NESTED}
        shown = {name: value for name, value in values.items() if value or name in always}
        moments = {"bound": self.watermark, "next_deadline": self.deadline}
        fields = [(_TITLES.get(name, name), moments.get(name) or value) for name, value in shown.items()]
        fields += [(f"counter {name}", number) for name, number in self.counters.items() if number]
        for name, counts in self.inputs.items():
            numbers = ((key, getattr(counts, key)) for key in COUNTS)
            fields.append((f"input {name}", ", ".join(f"{key} {number}" for key, number in numbers if number)))
        fields += [(f"operator {one.operator}", one.said) for one in self.operators]
        return record((name, f"{value:.1f}" if isinstance(value, float) else value) for name, value in fields)


_NESTED = ("counters", "inputs", "operators", "phases")
_TITLES = {"bound": "watermark", "next_deadline": "deadline"}
"""What stands for numbers that say a time."""


def _time(micros: int | None) -> datetime.datetime | None:
    try:
        return None if micros is None else _EPOCH + datetime.timedelta(microseconds=micros)
    except OverflowError:
        return None


_TOTALS = ("batches", *_COUNTED.values(), "counters", "inputs")


class Watch:
    """The progress of a standing query; `ended` is set after the last event of its present run.

    patterns: its row patterns as text, for warnings.
    begun:    what its checkpoint has counted.
    known:    the number of a batch that was counted before, under another text of the query.
    late_shares: above which share of late rows there is an alert, by the names of streams.
    observed: the names of the operators of each stage, by the name of its observation.
    late_alerts: those of the batch that is about to be committed.
    """

    def __init__(
        self,
        patterns: str = "",
        begun: Progress | None = None,
        known: int | None = None,
        late_shares: Mapping[str, float] | None = None,
        observed: Mapping[str, tuple[str, ...]] | None = None,
    ):
        self._operators = OperatorTotals(observed or {})
        self.progress = self._reached = self._begun = begun or Progress()
        shares = late_shares or {}
        self._alerts = TimeAlerts(shares, _read_and_late(self.progress, shares))
        self.late_alerts: list[LateAlert] = []
        self._shares = shares
        self._known = known
        self.ended = threading.Event()
        self._patterns = patterns
        self._last: int | None = None
        self._added = float("-inf")
        self._works_for = QUERY.get()
        self._due: dict[int, int] = {}
        self._lock = threading.Lock()

    def reach(self, observed: Observed, batch: int, rows_out: int) -> Progress:
        """Return the totals as of the batch that is about to be committed, whose event comes later.

        rows_out: the rows that the sink was given, with those of this batch. They count with the batch: one that is not
                  committed is done again, and no total may go back.
        What Spark's own operators hold is as the last event has it.
        """
        with self._lock:
            self._due[batch] = rows_out
            known = {name: getattr(self.progress, name) for name in ("bound", "state_rows", "state_bytes")}
            reached = counted(replace(self._reached, **known, rows_out=rows_out), observed)
            self._reached = self._uncounted(reached, batch)
            self.late_alerts = self._alerts.judge(_read_and_late(self._reached, self._shares), batch)
            return self._reached

    def add(self, event: StreamingQueryProgress) -> None:
        """Add a batch, unless it was added before, and warn of what it could not do as written."""
        # Events come in a thread of Java's.
        token = QUERY.set(self._works_for)
        try:
            self._add(event)
        finally:
            QUERY.reset(token)

    def rate(self, busy: bool) -> float:
        """Return the input rows per second of the last batch, 0 if none is done any more; `busy`: one runs now."""
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
            reached = add_batch(replace(self.progress, rows_out=rows_out), event, observed)
            progress = self._uncounted(reached, event.batchId)
            self._alerts.compare(progress.bound, event.timestamp)
            operators = self._operators.add(event, observed)
            self.progress = replace(
                progress, late_alerts=self._alerts.raised, operators=operators, phases=phases(event)
            )
            warn(event.batchId, observed, self._patterns)

    def _uncounted(self, progress: Progress, batch: int) -> Progress:
        """Return the totals after a batch, of which a known one changes only what is held."""
        if batch != self._known:
            return progress
        return replace(progress, **{name: getattr(self._begun, name) for name in _TOTALS})

    def catch_up(self, query: StreamingQuery) -> None:
        """Add the batches of a query that runs and has done all there is, of which no event has come yet."""
        if not self._due:
            return
        last = query.lastProgress
        if last is not None and list(self._due) == [last.batchId] and "addBatch" in last.durationMs:
            self.add(last)
        end = time.monotonic() + _LAST_EVENTS_SECONDS
        while self._due and query.isActive and time.monotonic() < end:
            time.sleep(_POLL)

    def complete(self, query: StreamingQuery, limit: int) -> None:
        """Add the batches of a run that has ended of which no event has come yet: events come some tenths of a second
        late. Spark itself remembers the last `limit` batches; only if that is too few, wait for the events.
        """
        recent = query.recentProgress
        if len(recent) >= limit and (self._last is None or recent[0].batchId > self._last + 1):
            self.ended.wait(_LAST_EVENTS_SECONDS)
        for event in recent:
            # A trigger without input leaves an event, too, with the number of the batch that comes later.
            if "addBatch" in event.durationMs:
                self.add(event)


def _read_and_late(progress: Progress, streams: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the rows read and the late ones of streams; a query that tells no inputs apart reads one."""
    whole = (progress.rows_read, progress.rows_late)
    inputs = {name: (counts.read, counts.late) for name, counts in progress.inputs.items()}
    return {name: inputs.get(name, whole) for name in streams}


def watch(spark: SparkSession, name: str, found: Watch) -> None:
    """Follow the streaming query that will be started next under this name, counting on from what was found."""
    with _LOCK:
        if spark not in _LISTENERS:
            _LISTENERS[spark] = _Listener()
            spark.streams.addListener(_LISTENERS[spark])
            if SparkContext._jvm is not None:
                # pyspark names it at every metric of every batch.
                remember_path(SparkContext._jvm, "PythonSQLUtils")
    found.ended.clear()
    _LISTENERS[spark].expected[name] = found


def add_batch(progress: Progress, event: StreamingQueryProgress, observed: Observed) -> Progress:
    """Return the totals with those of one batch added, and how it went."""
    totals: dict[str, Any] = {
        "seconds": progress.seconds + event.batchDuration / 1000,
        "rows_per_second": event.processedRowsPerSecond or 0.0,
        "batch_seconds": event.batchDuration / 1000,
    }
    behind = [records_behind(source.endOffset, source.latestOffset) for source in event.sources]
    totals["records_behind"] = sum(filter(None, behind)) if any(lag is not None for lag in behind) else None
    matched = [values for name, values in observed.items() if "late" in values and not name.startswith(LEFT_OUT)]
    if matched and event.batchDuration:
        # Spark may have counted files instead.
        totals["rows_per_second"] = sum(values.get("read") or 0 for values in matched) * 1000 / event.batchDuration
    if not _stages(observed):
        text = (event.eventTime or {}).get("watermark")
        totals["ended"] = text is not None and says_end(text)
        # Before it has one, Spark says that its watermark is the epoch.
        micros = None if text is None or totals["ended"] else _micros(datetime.datetime.fromisoformat(text))
        totals["bound"] = micros or progress.bound
        totals["state_rows"] = sum(operator.numRowsTotal for operator in event.stateOperators)
        totals["state_bytes"] = sum(operator.memoryUsedBytes for operator in event.stateOperators)
    return counted(replace(progress, **totals), observed)


def observed_by(event: StreamingQueryProgress) -> Observed:
    """Return what was observed in a batch, as `cepsql.spark.observed.observed_in` does."""
    dropped = [
        operator.numRowsDroppedByWatermark for operator in event.stateOperators if operator.operatorName in _DROPPING
    ]
    found = {name: gathered(row.asDict()) for name, row in event.observedMetrics.items()}
    return found | {f"{LEFT_OUT} {number}": {"late": late} for number, late in enumerate(dropped)}


def gathered(values: dict[str, Any]) -> dict[str, Any]:
    """Return what was observed under one name; what the buckets of a stage said in one, as SAID tells."""
    if SAID not in values:
        return values
    totals: dict[str, int] = {}
    for said in map(json.loads, values[SAID]):
        for name, number in said.items():
            if number is not None:
                totals[name] = _JOINED.get(name, add)(totals[name], number) if name in totals else number
    return totals


def counted(progress: Progress, observed: Observed) -> Progress:
    """Return the totals with those of one batch added, and what it left held."""
    totals: dict[str, Any] = {"batches": progress.batches + 1}
    for name, given in observed.items():
        values = dict(given)
        unused = {name: values.get(name) or 0 for name in ("malformed", "ahead", "punctuation")}
        if name.startswith(LEFT_OUT):
            # The counts of sources take what operators of Spark leave out for used.
            values["used"] = -(values.get("late") or 0) - (values.get("null_time") or 0)
        elif name.startswith(BELOW_MATCH):
            # What moves the watermark comes to the match, which counts it.
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
    """Return what our stages have observed; one without input observes nothing."""
    return [values for values in observed.values() if values.get("bound") is not None]


def _standing(progress: Progress, stages: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how far the stages of a query have come after a batch, and what they hold."""
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
    return (time - _EPOCH) // datetime.timedelta(microseconds=1)


def _others(values: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, Counts]]:
    """Return the numbers of an operator beyond those that have a name in `Progress`: counters, and counts of inputs."""
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


class _Listener(StreamingQueryListener):
    """The one listener of a session, for every listener is told of every query."""

    def __init__(self):
        self.expected: dict[str, Watch] = {}
        self._running: dict[str, Watch] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        if found := self.expected.pop(event.name or "", None):
            self._running[str(event.runId)] = found

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        if found := self._running.get(str(event.progress.runId)):
            found.add(event.progress)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        if found := self._running.pop(str(event.runId), None):
            found.ended.set()

    @cached_property
    def _jlistener(self) -> Any:
        assert SparkContext._jvm is not None
        return SparkContext._jvm.PythonStreamingQueryListenerWrapper(_JavaListener(self))


class _JavaListener(JStreamingQueryListener):
    """What Java calls: it takes each event as one text, where pyspark asks Java for every number of it."""

    def onQueryProgress(self, jevent: Any) -> None:
        event = json.loads(jevent.progress().json())
        for source, offset in itertools.product(event["sources"], _OFFSETS):
            if not isinstance(source[offset], str):
                source[offset] = json.dumps(source[offset])
        self.pylistener.onQueryProgress(QueryProgressEvent(StreamingQueryProgress.fromJson(event)))

    def onQueryIdle(self, jevent: Any) -> None:
        """Nobody asks for idle triggers."""


_LISTENERS: "weakref.WeakKeyDictionary[SparkSession, _Listener]" = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()
