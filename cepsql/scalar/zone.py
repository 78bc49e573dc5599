"""Conversions between instants and local times of a time zone, as in Java."""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from cepsql.base.cached_property import cached_property

CYCLE = 146_097 * 86_400_000_000
"""400 years of the Gregorian calendar, after which dates fall on the same days of the week."""


@dataclass(frozen=True)
class Zone:
    """A time zone as offsets from UTC, all in microseconds.

    begins:  the local times from which each offset except the first holds, ascending.
    offsets: the offsets, one more than `begins`.
    repeats: from here on the last 400 years of `begins` recur, as the calendar does; None: no further changes.
    An ambiguous local time is the earlier instant; a skipped one is moved by the length of the gap.
    """

    begins: tuple[int, ...] = ()
    offsets: tuple[int, ...] = (0,)
    repeats: int | None = None

    @property
    def fixed(self) -> bool:
        """Whether the offset never changes."""
        return not self.begins

    def instants(self, local: np.ndarray) -> np.ndarray:
        """Return the instants (int64 microseconds since the epoch) of local times."""
        if self.fixed:
            return local - self.offsets[0] if self.offsets[0] else local
        place = np.searchsorted(np.array(self.begins, np.int64), self._in_cycle(local), side="right")
        return local - np.array(self.offsets, np.int64)[place]

    def clocks(self, instants: np.ndarray) -> np.ndarray:
        """Return the local times (int64 microseconds) of instants."""
        if self.fixed:
            return instants + self.offsets[0] if self.offsets[0] else instants
        place = np.searchsorted(np.array(self._changes, np.int64), self._in_cycle(instants), side="right")
        return instants + np.array(self.offsets, np.int64)[place]

    def instant(self, local: int) -> int:
        """Return the instant of one local time; see `instants`."""
        return local - self.offsets[bisect_right(self.begins, self._one_in_cycle(local))]

    def clock(self, instant: int) -> int:
        """Return the local time of one instant; see `clocks`."""
        return instant + self.offsets[bisect_right(self._changes, self._one_in_cycle(instant))]

    def moved(self, instant: int, days: int, micros: int) -> int:
        """Return the instant some days later in local time, and then some microseconds later."""
        if not days:
            return instant + micros
        local = self.clock(instant) + days * 86_400_000_000
        # An ambiguous local time keeps the offset.
        same = local - (self.clock(instant) - instant)
        return (same if self.clock(same) == local else self.instant(local)) + micros

    def _in_cycle(self, times: np.ndarray) -> np.ndarray:
        if self.repeats is None or not times.size or times.max() < self.repeats:
            return times
        return times - np.maximum(0, (times - self.repeats) // CYCLE + 1) * CYCLE

    def _one_in_cycle(self, time: int) -> int:
        if self.repeats is None or time < self.repeats:
            return time
        return time - ((time - self.repeats) // CYCLE + 1) * CYCLE

    @cached_property
    def _changes(self) -> tuple[int, ...]:
        """The instants from which each offset except the first holds."""
        pairs = zip(self.begins, self.offsets, self.offsets[1:], strict=False)
        return tuple(begin - max(before, after) for begin, before, after in pairs)


UTC = Zone()
