"""The clock by which a standing query measures silence."""

import datetime
import logging
import time

from cepsql.calendar import time_text
from cepsql.spark.checkpoint.control import Heartbeat

LOGGER = logging.getLogger("cepsql")

LONGEST_PAUSE = 3_600_000_000
"""How many microseconds between two runs of a query count at most: only the system clock knows them, and it may be
wrong."""

_STEP = 10_000_000
"""Microseconds by which the system clock may differ from the monotonic one without having been set."""


class SteadyClock:
    """A clock in microseconds since 1970 that goes on with the monotonic clock while the query runs.

    A wrong system clock would make rows late that are not. Event times may lie far from what this clock shows: only the
    time between two of its readings counts.
    last: the last heartbeat of an earlier run, from which it goes on; None: there was none.
    """

    def __init__(self, last: Heartbeat | None):
        self._begun, self._wall = _monotonic(), _system()
        self._start = self._wall if last is None else last.clock + _pause(last.system, self._wall)

    def read(self) -> Heartbeat:
        """Return what the clock shows, and the system clock; warn once of each step of the latter."""
        passed, system = _monotonic() - self._begun, _system()
        step = system - self._wall - passed
        if abs(step) >= _STEP:
            self._wall += step
            LOGGER.warning(
                "the system clock stepped %s by %s: it was set, or the machine was suspended; heartbeats continue as "
                "if it had not",
                "ahead" if step > 0 else "back",
                _span(abs(step)),
            )
        return Heartbeat(self._start + passed, system)


def _pause(before: int, now: int) -> int:
    """Return how many microseconds a query counts between its runs, by what the system clock showed."""
    pause = now - before
    if pause <= -_STEP:
        LOGGER.warning(
            "the system clock shows %s UTC, and showed %s UTC at the last heartbeat: it was set back; heartbeats "
            "continue from there",
            _moment(now),
            _moment(before),
        )
    if pause > LONGEST_PAUSE:
        LOGGER.warning(
            "the last heartbeat was %s ago by the system clock, which may be wrong: %s of that count as silence",
            _span(pause),
            _span(LONGEST_PAUSE),
        )
    return min(max(pause, 0), LONGEST_PAUSE)


def _moment(micros: int) -> str:
    return time_text(micros // 1_000_000 * 1_000_000)


def _span(micros: int) -> str:
    return str(datetime.timedelta(seconds=micros // 1_000_000))


def _monotonic() -> int:
    return time.monotonic_ns() // 1000


def _system() -> int:
    return time.time_ns() // 1000
