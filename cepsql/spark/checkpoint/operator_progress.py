"""What each operator of a standing query has done, beside the totals of the query."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from cepsql.render.readable import Brief

TAKEN, GIVEN_OUT, MICROS = "taken", "given_out", "micros"
"""What a stage says of a batch: how many rows of all its inputs it took and gave out, and how long that took its tasks
together."""

WORKED = (TAKEN, GIVEN_OUT, MICROS)

_OURS = "applyInPandasWithState"
"""What Spark calls the operators in which our stages run."""

_PHASES = {
    "latestOffset": "input", "getBatch": "input", "queryPlanning": "planning", "addBatch": "rows",
    "walCommit": "commit", "commitOffsets": "commit",
}  # fmt: skip
"""What Spark calls the parts of a batch, and what they are for."""


@dataclass(frozen=True, repr=False)
class OperatorProgress(Brief):
    """What an operator has done since the query was started here, and what it holds after the last batch.

    operator:     its name in EXPLAIN; of several that share a stage all names, with " + " between. One of Spark's own
                  has the name that Spark gives it.
    rows_in, rows_out: rows that it took and gave out; of one of Spark's own None.
    seconds:      how long its tasks took, added up.
    state_rows, state_bytes: what it holds.
    rows_waiting: rows that wait for the watermark; open: partitions with something undecided.
    """

    operator: str
    rows_in: int | None = None
    rows_out: int | None = None
    seconds: float = 0.0
    state_rows: int = 0
    state_bytes: int = 0
    rows_waiting: int = 0
    open: int = 0

    def __str__(self) -> str:
        """Write it in one line."""
        return f"{self.operator}: {self.said}"

    @property
    def said(self) -> str:
        """What it has done and holds, in words."""
        rows = [] if self.rows_in is None else [f"{_rows(self.rows_in)} in", f"{_rows(self.rows_out or 0)} out"]
        done = ", ".join([*rows, f"{self.seconds:.1f} s"])
        held = [f"{_rows(self.state_rows)} in state ({_size(self.state_bytes)})"]
        held += [f"waiting for the watermark: {self.rows_waiting:,}"] if self.rows_waiting else []
        held += [f"undecided keys: {self.open:,}"] if self.open else []
        return f"{done}; {', '.join(held)}"


class OperatorTotals:
    """Adds up what the operators of a query do.

    observed: the names of the operators of each stage, by the name of its observation.
    """

    def __init__(self, observed: Mapping[str, tuple[str, ...]]):
        self._names = {observation: " + ".join(names) for observation, names in observed.items()}
        self._totals: dict[str, OperatorProgress] = {}

    def add(
        self, event: StreamingQueryProgress, observed: Mapping[str, Mapping[str, Any]]
    ) -> tuple[OperatorProgress, ...]:
        """Return what all operators have done, with the batch of an event."""
        for observation, values in observed.items():
            name = self._names.get(observation.partition(" ")[0])
            if name is not None and values.get("bound") is not None:
                self._add(_of_stage(name, values))
        for number, operator in enumerate(event.stateOperators):
            if operator.operatorName != _OURS:
                millis = operator.allUpdatesTimeMs + operator.allRemovalsTimeMs + operator.commitTimeMs
                held = operator.numRowsTotal, operator.memoryUsedBytes
                name = f"Spark's {operator.operatorName} {number}"
                self._add(OperatorProgress(name, None, None, millis / 1000, *held))
        return tuple(self._totals.values())

    def _add(self, done: OperatorProgress) -> None:
        before = self._totals.get(done.operator, OperatorProgress(done.operator, 0, 0))
        if done.rows_in is not None:
            rows = (before.rows_in or 0) + done.rows_in, (before.rows_out or 0) + (done.rows_out or 0)
            done = replace(done, rows_in=rows[0], rows_out=rows[1])
        self._totals[done.operator] = replace(done, seconds=before.seconds + done.seconds)


def _of_stage(name: str, values: Mapping[str, Any]) -> OperatorProgress:
    def number(key: str) -> int:
        return values.get(key) or 0

    held = number("rows"), number("bytes"), number("waiting"), number("open")
    return OperatorProgress(name, number(TAKEN), number(GIVEN_OUT), number(MICROS) / 1_000_000, *held)


def phases(event: StreamingQueryProgress) -> dict[str, float]:
    """Return the seconds of a batch by what they were spent on: input, planning, rows and commit."""
    seconds: dict[str, float] = {}
    for name, millis in event.durationMs.items():
        if name in _PHASES:
            seconds[_PHASES[name]] = seconds.get(_PHASES[name], 0.0) + millis / 1000
    return seconds


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"


def _size(number: int) -> str:
    """Write a number of bytes for people.

    >>> [_size(n) for n in (0, 2_500, 31_000_000, 4_200_000_000)]
    ['0 kB', '2.5 kB', '31.0 MB', '4.2 GB']
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number / 1000:.1f} kB" if number else "0 kB"
