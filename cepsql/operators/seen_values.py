"""Which values a key might have had before: two Bloom filters, of which the older one goes when the newer is full.

So memory stays bounded over a stream without end, and what was there among the last values is always known.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

_LISTED, _FILTER = b"\0", b"\1"

_BLOCK = 1024
"""Rows that are looked at together, at least."""


class SeenValues:
    """Tells of hashes, in the order of the rows of each key, whether the key might have had them before.

    expected: how many different values of a key are remembered at least; at most twice as many are.
    error:    how often a value that a key never had may be taken for one that it had, at most.

    What is remembered of a key is two texts of bytes, the newer filter and the older one. A filter with few values is
    the list of their hashes.
    """

    def __init__(self, expected: int, error: float):
        # A value is looked for in two filters.
        each = error / 2
        self.expected = expected
        self.bits = max(1024, int(np.ceil(-expected * np.log(each) / np.log(2) ** 2 / 64)) * 64)
        self.functions = max(1, round(-np.log2(each)))

    def asked(
        self, hashes: np.ndarray, valid: np.ndarray, starts: np.ndarray, newer: pa.Array, older: pa.Array
    ) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return for each row whether its value might have been there, NULL for NULL, and both filters of each key.

        hashes, valid: of the rows; starts: where those of each key begin, and the end of all.
        newer, older:  what is remembered of each key, NULL for nothing.
        """
        seen = np.zeros(len(hashes), bool)
        stored_filters: tuple[list[bytes], list[bytes]] = ([], [])
        for key, (begin, end) in enumerate(pairwise(starts)):
            rows = np.flatnonzero(valid[begin:end]) + begin
            filters = [_Filter(self, newer[key].as_py()), _Filter(self, older[key].as_py())]
            seen[rows], filters = self._of_key(hashes[rows], filters)
            for texts, one in zip(stored_filters, filters, strict=True):
                texts.append(one.text())
        return (
            pa.array(seen, mask=~valid),
            pa.array(stored_filters[0], pa.large_binary()),
            pa.array(stored_filters[1], pa.large_binary()),
        )

    def _of_key(self, hashes: np.ndarray, filters: "Sequence[_Filter]") -> "tuple[np.ndarray, list[_Filter]]":
        newer, older = filters
        seen, begin = np.zeros(len(hashes), bool), 0
        while begin < len(hashes):
            ahead = hashes[begin : begin + max(self.expected, _BLOCK)]
            places = self.places(ahead)
            held = _set_before(places, newer)
            added = np.cumsum(~held)
            # Rows up to the one that fills the newer filter are told from these filters.
            full = int(np.searchsorted(added, self.expected - newer.count)) + 1
            size = min(full, len(held))
            seen[begin : begin + size] = held[:size] | older.holds(places[:size])
            fresh = ~held[:size]
            newer.add(ahead[:size][fresh], places[:size][fresh])
            begin += size
            if newer.count >= self.expected:
                newer, older = _Filter(self, None), newer
        return seen, [newer, older]

    def places(self, hashes: np.ndarray) -> np.ndarray:
        """Return the bits of each hash, a row each."""
        whole = hashes.astype(np.int64).view(np.uint64)
        low, high = whole & np.uint64(0xFFFFFFFF), (whole >> np.uint64(32)) | np.uint64(1)
        steps = np.arange(self.functions, dtype=np.uint64)
        return ((low[:, None] + steps * high[:, None] + steps * steps) % np.uint64(self.bits)).astype(np.int64)


class _Filter:
    """A set of values, of which bits are set.

    count: how many values were added.
    """

    def __init__(self, kind: SeenValues, text: bytes | None):
        self._kind = kind
        body = b"" if not text else text[1:]
        self._bits: np.ndarray | None = None
        self._hashes = np.zeros(0, np.int64)
        if text and text[:1] == _FILTER:
            self.count = int.from_bytes(body[:8], "little")
            self._bits = np.frombuffer(body[8:], np.uint8).copy()
        else:
            self._hashes = np.frombuffer(body, np.int64)
            self.count = len(self._hashes)

    def holds(self, places: np.ndarray) -> np.ndarray:
        """Tell of each row of places whether all of its bits are set."""
        return np.all(self.is_set(places), axis=1)

    def is_set(self, places: np.ndarray) -> np.ndarray:
        """Tell of each place whether its bit is set."""
        if not self.count:
            return np.zeros(places.shape, bool)
        bits = self.set_bits()
        return ((bits[places >> 3] >> (places & 7).astype(np.uint8)) & 1).astype(bool)

    def add(self, hashes: np.ndarray, places: np.ndarray) -> None:
        """Add values."""
        if len(hashes):
            _set(self.set_bits(), places)
            if self._listed:
                self._hashes = np.concatenate([self._hashes, hashes.astype(np.int64)])
            self.count += len(hashes)

    @property
    def _listed(self) -> bool:
        return len(self._hashes) == self.count

    def set_bits(self) -> np.ndarray:
        """Return the bits, eight in a byte."""
        if self._bits is None:
            self._bits = np.zeros(self._kind.bits // 8, np.uint8)
            _set(self._bits, self._kind.places(self._hashes))
        return self._bits

    def text(self) -> bytes:
        """Return what is kept of it: the shorter of both forms."""
        if self._listed and len(self._hashes) * 64 < self._kind.bits:
            return _LISTED + self._hashes.tobytes()
        return _FILTER + self.count.to_bytes(8, "little") + self.set_bits().tobytes()


def _set(bits: np.ndarray, places: np.ndarray) -> None:
    flat = places.ravel()
    np.bitwise_or.at(bits, flat >> 3, (1 << (flat & 7)).astype(np.uint8))


def _set_before(places: np.ndarray, newer: _Filter) -> np.ndarray:
    """Tell of each row whether all of its bits are set by a filter and the rows before it."""
    rows, width = places.shape
    _, first, inverse = np.unique(places.ravel(), return_index=True, return_inverse=True)
    own = np.repeat(np.arange(rows), width).reshape(rows, width)
    earlier = (first // width)[inverse].reshape(rows, width) < own
    return (earlier | newer.is_set(places)).all(axis=1)
