"""A query is told the time when a row's time is over, or may be, and not more often."""

from dataclasses import replace

from cepsql.spark.checkpoint.progress import Progress
from cepsql.spark.run.expiry import Expiry


def test_by_the_system_clock():
    expiry, progress = Expiry(True, Progress()), Progress(next_deadline=50)
    assert not expiry.is_due(progress, 49)
    assert expiry.is_due(progress, 50)
    progress = replace(progress, next_deadline=None, rows_read=3)
    # Rows have come since, whose time may be over.
    assert expiry.is_due(progress, 51) and not expiry.is_due(progress, 52)


def test_by_event_time_while_rows_wait_to_leave():
    expiry = Expiry(False, Progress())
    waiting = Progress(bound=100, next_deadline=40, counters={"expired": 5})
    assert expiry.is_due(waiting, 0) and not expiry.is_due(waiting, 0)
    assert expiry.is_due(replace(waiting, counters={"expired": 10}), 0)
    assert not expiry.is_due(replace(waiting, counters={"expired": 12}, next_deadline=101), 0)
