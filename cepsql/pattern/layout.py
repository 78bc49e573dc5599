"""The readable rows of all partitions as one text of row codes."""

from dataclasses import dataclass

import numpy as np

from cepsql.pattern.alphabet import FUTURE, SEPARATOR, Alphabet
from cepsql.pattern.rows import Partitions

_ROW = 2


@dataclass(frozen=True)
class Layout:
    """The codes of the rows [scan, ends) of every partition, then FUTURE codes, then a SEPARATOR.

    text:     uint8.
    alphabet: what the codes mean.
    begins:   for each partition where its rows begin in the text.
    ends:     for each partition where its rows end in the text.
    futures:  how many FUTURE codes follow the rows of each partition.
    scan:     for each partition its first row in the text, as an index of `Partitions.rows`.
    """

    text: np.ndarray
    alphabet: Alphabet
    begins: np.ndarray
    ends: np.ndarray
    futures: int
    scan: np.ndarray

    def locate(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the partition, and the index in `Partitions.rows`, of positions in the text."""
        partition = np.searchsorted(self.begins, positions, "right") - 1
        return partition, positions - self.begins[partition] + self.scan[partition]


def lay_out(partitions: Partitions, alphabet: Alphabet, futures: int) -> Layout:
    """Lay out the rows; the alphabet has a code for each of `Partitions.rows`."""
    codes, starts, scan, ends = alphabet.codes, partitions.starts, partitions.scan, partitions.ends
    sizes = ends - scan
    begins = np.zeros(len(scan), np.int64)
    np.cumsum(sizes[:-1] + futures + 1, out=begins[1:])
    counts = np.column_stack([sizes, np.full_like(sizes, futures), np.ones_like(sizes)])
    text = np.repeat(np.tile(np.array([_ROW, FUTURE, SEPARATOR], np.uint8), len(scan)), counts.ravel())
    readable = np.column_stack([scan - starts[:-1], sizes, starts[1:] - ends])
    if readable[:, 1].sum() < len(codes):
        codes = codes[np.repeat(np.tile(np.array([False, True, False]), len(scan)), readable.ravel())]
    text[text == _ROW] = codes
    return Layout(text, alphabet, begins, begins + sizes, futures, scan)


def read_limits(partitions: Partitions, layout: Layout, positions: np.ndarray, within: int) -> np.ndarray:
    """Return for matches that begin at the text's positions where they must end, by WITHIN, at the latest.

    That is the first row that is `within` microseconds or more after the match's first row. If all readable rows are
    nearer and rows to come may be, then the FUTURE codes belong to what a match may read.
    """
    partition, row = layout.locate(positions)
    times = partitions.rows.column("t").to_numpy()
    deadlines = times[row] + within
    stop = np.minimum(_first_rows_from(partitions, times, partition, deadlines), partitions.ends[partition])
    limits = layout.begins[partition] + stop - layout.scan[partition]
    open_ended = (stop == partitions.ends[partition]) & (partitions.bound < deadlines - 1)
    return limits + np.where(open_ended, layout.futures, 0)


def _first_rows_from(
    partitions: Partitions, times: np.ndarray, partition: np.ndarray, deadlines: np.ndarray
) -> np.ndarray:
    """Return for each (partition, deadline) the partition's first row whose time is the deadline or later."""
    starts = partitions.starts
    least = int(times.min(initial=0))
    span = int(times.max(initial=0)) - least + 2
    if span * (len(starts) - 1) < 2**62:
        # One sorted key for all partitions: one search instead of one for each.
        keys = np.repeat(np.arange(len(starts) - 1) * span, np.diff(starts)) + (times - least)
        return np.searchsorted(keys, partition * span + np.minimum(deadlines - least, span - 1))
    rows = np.empty(len(partition), np.int64)
    for p in np.unique(partition):
        mine = partition == p
        rows[mine] = starts[p] + np.searchsorted(times[starts[p] : starts[p + 1]], deadlines[mine])
    return rows
