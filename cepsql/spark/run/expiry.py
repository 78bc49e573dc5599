"""When a standing query needs the current time, so that expired rows leave it."""

from dataclasses import dataclass

from cepsql.operators.changing.temporal_filter import EXPIRED
from cepsql.spark.checkpoint.progress import Progress


@dataclass
class Expiry:
    """The progress of a query when it last got the time.

    arrival:  rows expire by the system clock; else by event time, which advances by itself.
    progress: of the query.
    """

    arrival: bool
    progress: Progress

    def is_due(self, progress: Progress, system: int) -> bool:
        """Tell whether the query needs the time; if so, remember its progress.

        system: the system clock in microseconds.
        By the system clock, the query needs the time when a row has expired, or rows have come since, which may have.
        By event time, it does when more rows expired than one micro-batch takes.
        """
        due, now = progress.next_deadline, system if self.arrival else progress.bound
        over = due is not None and now is not None and due <= now
        if self.arrival:
            is_due = over or progress.rows_read > self.progress.rows_read
        else:
            is_due = over and _expired(progress) > _expired(self.progress)
        if is_due:
            self.progress = progress
        return is_due


def _expired(progress: Progress) -> int:
    return progress.counters.get(EXPIRED, 0)
