"""What the time of now is in a query over streams."""

from enum import StrEnum


class Clock(StrEnum):
    """What the time of now is where rows leave by time.

    EVENT_TIME: the watermark of the streams that the rows come from.
    ARRIVAL:    the system clock, which the checkpoint records.
    """

    EVENT_TIME = "event time"
    ARRIVAL = "arrival"
