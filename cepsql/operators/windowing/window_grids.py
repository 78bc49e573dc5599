"""Where windows that follow one another lie: by a fixed length, or by a calendar."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cepsql.base import calendar
from cepsql.scalar.zone import UTC, Zone

_FIRST_YEAR = 1970


class WindowGrid(Protocol):
    """Finds windows by their ends, many at once; all times are microseconds."""

    def moved(self, ends: np.ndarray, windows: np.ndarray | int) -> np.ndarray:
        """Return the ends of the windows so many after those that end at `ends`."""
        ...

    def between(self, ends: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return how many windows after those that end at `ends` end by each time."""
        ...

    def starts(self, ends: np.ndarray) -> np.ndarray:
        """Return where windows begin."""
        ...


@dataclass(frozen=True)
class FixedGrid:
    """Windows that begin every `step`, and last `size`."""

    size: int
    step: int

    def moved(self, ends: np.ndarray, windows: np.ndarray | int) -> np.ndarray:
        return ends + windows * self.step

    def between(self, ends: np.ndarray, times: np.ndarray) -> np.ndarray:
        return (times - ends) // self.step

    def starts(self, ends: np.ndarray) -> np.ndarray:
        return ends - self.size


@dataclass(frozen=True)
class CalendarGrid:
    """Windows that begin where a day does, `offset` microseconds later on the clocks of a zone.

    months: lengths are months, else days.
    size:   how long windows are.
    every:  how often they begin.
    first:  where one of them begins, months or days after 1970-01-01.
    """

    months: bool
    size: int
    every: int
    first: int = 0
    offset: int = 0
    zone: Zone = UTC

    def moved(self, ends: np.ndarray, windows: np.ndarray | int) -> np.ndarray:
        return self._ends(self._numbers(ends) + windows)

    def between(self, ends: np.ndarray, times: np.ndarray) -> np.ndarray:
        return self._numbers(times) - self._numbers(ends)

    def starts(self, ends: np.ndarray) -> np.ndarray:
        return self._begins(self._numbers(ends) * self.every)

    def _ends(self, numbers: np.ndarray) -> np.ndarray:
        return self._begins(numbers * self.every + self.size)

    def _begins(self, lengths: np.ndarray) -> np.ndarray:
        """Return where what is so many months or days after the first window begins."""
        days = lengths + self.first
        if self.months:
            days = calendar.day_number(_FIRST_YEAR + days // 12, days % 12 + 1, 1)
        return self.zone.instants(days * calendar.DAY + self.offset)

    def _numbers(self, times: np.ndarray) -> np.ndarray:
        """Return the numbers of the last windows that end by these times."""
        lengths = (self.zone.clocks(times) - self.offset) // calendar.DAY
        if self.months:
            year, month, _ = calendar.civil(lengths)
            lengths = (year - _FIRST_YEAR) * 12 + month - 1
        numbers = (lengths - self.first - self.size) // self.every
        # Clocks that are put back or on show a time before or after it is reached.
        numbers = numbers + (self._ends(numbers + 1) <= times)
        return numbers - (self._ends(numbers) > times)
