"""What a standing query has done so far, as numbers."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from cepsql.ordered.counts import COUNTS, Counts
from cepsql.render.readable import Readable, record
from cepsql.spark.checkpoint.operator_progress import OperatorProgress

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


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
        return None if micros is None else EPOCH + datetime.timedelta(microseconds=micros)
    except OverflowError:
        return None
