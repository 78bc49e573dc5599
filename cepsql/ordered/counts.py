"""What became of the rows: the counts that must add up, and those of the operator."""

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Counts:
    """Numbers of rows of an input; read = used + late + malformed + null_time + ahead + punctuation.

    read:      rows that came from the sources.
    used:      rows that entered the order (some may wait there still).
    late:      rows at or below the bound that was released before they came.
    malformed: rows that the source could not parse.
    null_time: rows without event time.
    null_key:  rows, used or late, with a NULL among their keys.
    ahead:     rows whose event time lies too far ahead.
    punctuation: rows that are no data, but say how far the input is.
    """

    read: int = 0
    used: int = 0
    late: int = 0
    malformed: int = 0
    null_time: int = 0
    null_key: int = 0
    ahead: int = 0
    punctuation: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, name) + getattr(other, name) for name in COUNTS))


COUNTS = tuple(field.name for field in fields(Counts))
"""The names of the counts of an input."""


@dataclass(frozen=True)
class Tally:
    """The counts of each input, and the operator's counters by name."""

    inputs: tuple[Counts, ...]
    counters: Mapping[str, int]

    def __add__(self, other: "Tally") -> "Tally":
        inputs = tuple(a + b for a, b in zip(self.inputs, other.inputs, strict=True))
        return Tally(inputs, {name: number + other.counters[name] for name, number in self.counters.items()})

    @property
    def rows(self) -> Counts:
        """The counts of all inputs together."""
        return sum(self.inputs, Counts())
