"""Hashes in their order, which are looked up by bisection."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_LONG_RUNS = 2
"""From so many equal hashes in a row on, in the mean, runs of them are sorted instead."""


@dataclass(frozen=True)
class SortedHashes:
    """Hashes in ascending order, equal ones in that in which they came.

    hashes: uint32.
    places: where each one was (int32).
    """

    hashes: np.ndarray
    places: np.ndarray


def sorted_hashes(hashes: np.ndarray) -> SortedHashes:
    """Sort hashes (uint32)."""
    begins = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    if len(begins) * _LONG_RUNS > len(hashes):
        return _sorted(hashes)
    runs = _sorted(hashes[begins])
    sizes = np.diff(begins, append=len(hashes))[runs.places]
    places = ranges(begins[runs.places], sizes).astype(np.int32)
    return SortedHashes(np.repeat(runs.hashes, sizes), places)


def _sorted(hashes: np.ndarray) -> SortedHashes:
    # NumPy sorts 16-bit numbers stably by counting.
    places = np.argsort(hashes.astype(np.uint16), kind="stable")
    places = places[np.argsort((hashes >> np.uint32(16)).astype(np.uint16)[places], kind="stable")]
    return SortedHashes(hashes[places], places.astype(np.int32))


def ranges(begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the whole numbers from each beginning on, so many each, one after another."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - sizes), sizes)


def distinct(hashes: np.ndarray) -> np.ndarray:
    """Return the hashes, each once, in ascending order."""
    return _once(np.sort(hashes))


def united(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return ascending hashes of several parts, each once, in ascending order."""
    parts = [np.zeros(0, np.uint32), *map(_once, parts)]
    # A stable sort merges what is ascending.
    return _once(np.sort(np.concatenate(parts), kind="stable"))


def _once(ordered: np.ndarray) -> np.ndarray:
    return ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]


def contained(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Tell which of the wanted hashes are among the ascending ones."""
    return places_of(hashes, wanted)[1]


def places_of(hashes: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where those of the wanted hashes are that are among the ascending ones, and which these are."""
    if not len(hashes):
        return np.zeros(0, np.int64), np.zeros(len(wanted), bool)
    places = np.searchsorted(hashes, wanted)
    there = hashes[np.minimum(places, len(hashes) - 1)] == wanted
    return places[there], there
