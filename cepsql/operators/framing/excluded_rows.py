"""Frames of window functions without some of their rows: EXCLUDE CURRENT ROW, GROUP and TIES."""

from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

from cepsql.operators.framing.spans import Spans, lesser


class Exclusion(StrEnum):
    """What a frame leaves out: its row, the rows that are equal to it in the order, or these without itself."""

    CURRENT_ROW = "current row"
    GROUP = "group"
    TIES = "ties"


def without(frames: Spans, excluded: Exclusion, rows: np.ndarray, peers: Spans) -> Spans:
    """Return the frames of rows without what they exclude.

    rows:  the place of the row of each frame.
    peers: the places of the rows that are equal to it in the order, itself among them.
    """
    cut = Spans(rows, rows + 1) if excluded == Exclusion.CURRENT_ROW else peers
    before = Spans(frames.begins, np.minimum(frames.ends, cut.begins))
    after = Spans(np.minimum(np.maximum(frames.begins, cut.ends), frames.ends), frames.ends)
    if excluded != Exclusion.TIES:
        return _Parts((before, after))
    inside = (frames.begins <= rows) & (rows < frames.ends)
    return _Parts((before, Spans(rows, rows + inside), after))


class _Parts(Spans):
    """Frames that are several ranges of places each, one after another."""

    def __init__(self, parts: Sequence[Spans]):
        super().__init__(parts[0].begins, parts[0].begins)
        self._parts = parts
        self.sizes = np.sum([part.sizes for part in parts], axis=0)

    def differences(self, values: np.ndarray) -> np.ndarray:
        total = self._parts[0].differences(values)
        for part in self._parts[1:]:
            total = total + part.differences(values)
        return total

    def end(self, chosen: np.ndarray | None, last: bool) -> np.ndarray:
        place = np.full(len(self.sizes), -1)
        for part in self._parts[::-1] if last else self._parts:
            place = np.where(place < 0, part.end(chosen, last), place)
        return place

    def least(self, values: np.ndarray, valid: np.ndarray) -> np.ndarray:
        place = np.full(len(self.sizes), -1)
        for part in self._parts:
            place = lesser(values, place, part.least(values, valid))
        return place

    def nth(self, number: int | np.ndarray, chosen: np.ndarray | None) -> np.ndarray:
        place, left = np.full(len(self.sizes), -1), np.full(len(self.sizes), number)
        for part in self._parts:
            place = np.where((place < 0) & (left >= 1), part.nth(np.maximum(left, 1), chosen), place)
            left = left - (part.sizes if chosen is None else part.counts(chosen))
        return place

    def places(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        of_parts = [part.places(begin, end) for part in self._parts]
        owner, places = (np.concatenate([part[i] for part in of_parts]) for i in (0, 1))
        order = np.argsort(owner, kind="stable")
        return owner[order], places[order]

    def _in_order(self, add: Callable[[np.ndarray, np.ndarray], None]) -> None:
        for part in self._parts:
            part._in_order(add)

    def _series(self, values: np.ndarray) -> np.ndarray | None:
        return None
