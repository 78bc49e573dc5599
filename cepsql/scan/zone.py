"""Clocks of a time zone: from local times to instants, as Java does it."""

from dataclasses import dataclass

import numpy as np

_CYCLE = 146_097 * 86_400_000_000
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

    def instants(self, local: np.ndarray) -> np.ndarray:
        """Return the instants (int64 microseconds since the epoch) at which a clock there shows these times."""
        if not self.begins:
            return local - self.offsets[0] if self.offsets[0] else local
        known = local
        if self.repeats is not None and local.size and local.max() >= self.repeats:
            cycles = np.maximum(0, (local - self.repeats) // _CYCLE + 1)
            known = local - cycles * _CYCLE
        place = np.searchsorted(np.array(self.begins, np.int64), known, side="right")
        return local - np.array(self.offsets, np.int64)[place]


UTC = Zone()
