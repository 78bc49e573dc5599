"""What became of the rows: the counts that must add up."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Counts:
    """Numbers of rows and matches; read = used + late + malformed + null_time.

    read:      rows that came from the sources.
    used:      rows that entered the order (some may wait there still).
    late:      rows at or below the bound that was released before they came.
    malformed: rows that the source could not parse.
    null_time: rows without event time.
    null_key:  rows, used or late, with a NULL among their keys.
    matches:   matches given out.
    timeouts:  partial matches given out because their deadline passed.
    misplaced: skips to a variable that led nowhere, so that matching went on after the match or at its second row.
    given_up:  attempts to match that took too many steps, so that their first rows count as not matched.
    """

    read: int = 0
    used: int = 0
    late: int = 0
    malformed: int = 0
    null_time: int = 0
    null_key: int = 0
    matches: int = 0
    timeouts: int = 0
    misplaced: int = 0
    given_up: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))
