"""Clocks of a time zone: between local times and instants, as Java does it."""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from cepsql.base.cached_property import cached_property

CYCLE = 146_097 * 86_400_000_000
"""400 years of the Gregorian calendar, after which dates fall on the same days of the week."""


@dataclass(frozen=True)
class Zone:
    """A time zone as offsets from UTC, all in microseconds.

    begins:  local times from which each of the offsets but the first holds, ascending.
    offsets: one more than there are `begins`.
    repeats: from here on the last 400 years of `begins` recur, as the calendar does; None: nothing changes any more.
    A time that a clock shows twice is the earlier instant; one that it skips is moved by the length of the gap.
    """

    begins: tuple[int, ...] = ()
    offsets: tuple[int, ...] = (0,)
    repeats: int | None = None

    @property
    def fixed(self) -> bool:
        """Whether clocks never change."""
        return not self.begins

    def instants(self, local: np.ndarray) -> np.ndarray:
        """Return the instants (int64 microseconds since the epoch) at which a clock there shows these times."""
        if self.fixed:
            return local - self.offsets[0] if self.offsets[0] else local
        place = np.searchsorted(np.array(self.begins, np.int64), self._known(local), side="right")
        return local - np.array(self.offsets, np.int64)[place]

    def clocks(self, instants: np.ndarray) -> np.ndarray:
        """Return the local times (int64 microseconds) that a clock there shows at these instants."""
        if self.fixed:
            return instants + self.offsets[0] if self.offsets[0] else instants
        place = np.searchsorted(np.array(self._changes, np.int64), self._known(instants), side="right")
        return instants + np.array(self.offsets, np.int64)[place]

    def instant(self, local: int) -> int:
        """Return one of `instants`."""
        return local - self.offsets[bisect_right(self.begins, self._known_one(local))]

    def clock(self, instant: int) -> int:
        """Return one of `clocks`."""
        return instant + self.offsets[bisect_right(self._changes, self._known_one(instant))]

    def moved(self, instant: int, days: int, micros: int) -> int:
        """Return the instant so many days later on the clock there, and then so many microseconds later."""
        if not days:
            return instant + micros
        local = self.clock(instant) + days * 86_400_000_000
        # Of a time that a clock shows twice the one with the same offset is meant.
        same = local - (self.clock(instant) - instant)
        return (same if self.clock(same) == local else self.instant(local)) + micros

    def _known(self, times: np.ndarray) -> np.ndarray:
        if self.repeats is None or not times.size or times.max() < self.repeats:
            return times
        return times - np.maximum(0, (times - self.repeats) // CYCLE + 1) * CYCLE

    def _known_one(self, time: int) -> int:
        if self.repeats is None or time < self.repeats:
            return time
        return time - ((time - self.repeats) // CYCLE + 1) * CYCLE

    @cached_property
    def _changes(self) -> tuple[int, ...]:
        """The instants from which each of the offsets but the first holds."""
        pairs = zip(self.begins, self.offsets, self.offsets[1:], strict=False)
        return tuple(begin - max(before, after) for begin, before, after in pairs)


UTC = Zone()
