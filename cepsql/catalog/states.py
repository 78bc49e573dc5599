"""The desired and actual state of a named query, as data."""

from collections.abc import Mapping
from dataclasses import dataclass

from cepsql.render.readable import Brief, Readable, record, utc

RUNNING, PAUSED, STOPPED = "running", "paused", "stopped"
"""Desired states, which are also actual states."""

STARTING, STOPPING, FAILED, FINISHED, LOST = "starting", "stopping", "failed", "finished", "lost"
FAILING, WAITING = "failing", "waiting"
"""Further states. `failing`: it has failed, is started again, and no batch has succeeded since. `failed`: it is not
started again. `waiting`: it runs, but its batch waits, for example for a sink that does not answer. `lost`: the process
that ran it is gone."""

ALIVE = (STARTING, RUNNING, WAITING, FAILING, STOPPING)
"""The states of a query that a process owns."""


@dataclass(frozen=True, repr=False)
class QueryState(Readable):
    """The state of a query, by its name in lower case. Times are seconds since 1970 by the store's clock.

    desired:        RUNNING, PAUSED or STOPPED.
    restarts_asked: how often RESTART QUERY was executed.
    owner, epoch:   the process that runs it now, None without one.
    restarts:       how often it was started again after a failure, or was taken over.
    error:          the last error, without secrets.
    progress:       its progress, as data; None, or only its id, before its first report.
    suspect:        Java ended during its last micro-batch, and no batch has succeeded since.
    """

    name: str
    desired: str
    desired_since: float
    restarts_asked: int
    state: str
    state_since: float
    owner: str | None
    epoch: int | None
    restarts: int
    error: str | None
    error_at: float | None
    progress: Mapping | None
    progress_at: float | None
    now: float
    suspect: bool = False

    @property
    def reason(self) -> str | None:
        """Why it is failing, failed or waiting; None in other states."""
        if self.state in (FAILED, FAILING):
            return self.error
        return (self.progress or {}).get("waiting") if self.state == WAITING else None

    def __str__(self) -> str:
        """Return a line for each known field."""
        progress = self.progress or {}
        fields = [
            ("query", self.name),
            ("desired", self.desired),
            ("state", f"{self.state} since {utc(self.state_since)}"),
            ("owner", self.owner),
            ("restarts", self.restarts or None),
            ("error", self.error if self.error_at is None else f"{utc(self.error_at)} {self.error}"),
            *((name, number) for name, number in progress.items() if isinstance(number, int | str) and number),
        ]
        return record((name, value) for name, value in fields if value is not None)


@dataclass(frozen=True, repr=False)
class HistoryEntry(Brief):
    """A state that a query entered, with a note, or a report of its progress."""

    at: float
    state: str
    note: str | None
    progress: Mapping | None

    def __str__(self) -> str:
        """Return it in one line."""
        counts = ("batches", "rows_read", "rows_out")
        count_texts = [f"{name} {self.progress[name]}" for name in counts if self.progress and name in self.progress]
        return ", ".join([f"{utc(self.at)} {self.state}", *([self.note] if self.note else []), *count_texts])
