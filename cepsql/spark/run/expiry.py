"""When a standing query must be told the time, so that rows leave it whose time is over."""

from dataclasses import dataclass

from cepsql.operators.changing.temporal_filter import EXPIRED
from cepsql.spark.checkpoint.progress import Progress


@dataclass
class Expiry:
    """What was known of a query when it was last told the time.

    arrival:  rows leave by the system clock; else by event time, which goes on by itself.
    progress: of the query.
    """

    arrival: bool
    progress: Progress

    def is_due(self, progress: Progress, system: int) -> bool:
        """Tell whether the query must be told the time, which the system clock shows in microseconds; remember it.

        By the system clock that is when a row's time is over, or rows have come since, whose time may be. By event
        time it is when more rows were to leave than a micro-batch takes.
        """
        due, now = progress.next_deadline, system if self.arrival else progress.bound
        over = due is not None and now is not None and due <= now
        if self.arrival:
            found = over or progress.rows_read > self.progress.rows_read
        else:
            found = over and _expired(progress) > _expired(self.progress)
        if found:
            self.progress = progress
        return found


def _expired(progress: Progress) -> int:
    return progress.counters.get(EXPIRED, 0)
