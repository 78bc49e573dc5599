"""The readable rows of all partitions as one text of row codes."""

from dataclasses import dataclass

import numpy as np

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.scanning.alphabet import FUTURE, SEPARATOR, Alphabet

_ROW = 2


@dataclass(frozen=True)
class Layout:
    """The codes of the rows [scan, ends) of every partition, then FUTURE codes, then a SEPARATOR.

    text:     uint8.
    alphabet: what the codes mean.
    begins:   for each partition where its rows begin in the text.
    futures:  for each partition how many FUTURE codes follow its rows.
    scan:     for each partition its first row in the text, as an index of `Partitions.rows`.
    """

    text: np.ndarray
    alphabet: Alphabet
    begins: np.ndarray
    futures: np.ndarray
    scan: np.ndarray

    def locate(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the partition, and the index in `Partitions.rows`, of positions in the text."""
        partition = np.searchsorted(self.begins, positions, "right") - 1
        return partition, positions - self.begins[partition] + self.scan[partition]


def lay_out(partitions: Partitions, alphabet: Alphabet, futures: int, within: int | None = None) -> Layout:
    """Lay out the rows; the alphabet has a code for each of `Partitions.rows`.

    futures: how many FUTURE codes a partition gets if rows to come may belong to a match that begins in its rows,
             which span less than `within` microseconds.
    """
    codes, starts, scan, ends = alphabet.codes, partitions.starts, partitions.scan, partitions.ends
    sizes = ends - scan
    is_open = (sizes > 0) & (partitions.bound < END_OF_TIME)
    if within is not None and is_open.any():
        last_times = _times(partitions)[np.maximum(ends - 1, 0)]
        is_open &= partitions.bound < last_times + within - 1
    added = np.where(is_open, futures, 0)
    begins = np.zeros(len(scan), np.int64)
    np.cumsum((sizes + added + 1)[:-1], out=begins[1:])
    counts = np.column_stack([sizes, added, np.ones_like(sizes)])
    text = np.repeat(np.tile(np.array([_ROW, FUTURE, SEPARATOR], np.uint8), len(scan)), counts.ravel())
    readable = np.column_stack([scan - starts[:-1], sizes, starts[1:] - ends])
    if sizes.sum() < len(codes):
        codes = codes[np.repeat(np.tile(np.array([False, True, False]), len(scan)), readable.ravel())]
    text[text == _ROW] = codes
    return Layout(text, alphabet, begins, added, scan)


def read_limits(
    partitions: Partitions, layout: Layout, positions: np.ndarray, within: int | None, frame: int | None = None
) -> np.ndarray:
    """Return for matches that begin at the text's positions where they must end at the latest.

    By WITHIN that is the first row that is `within` microseconds or more after the match's first row, by its frame the
    row behind the `frame` rows that follow the first one. If all readable rows are nearer and rows to come may be, then
    FUTURE codes belong to what a match may read.
    """
    limits = [_deadlines(partitions, layout, positions, within)] if within is not None else []
    limits += [_frame_ends(partitions, layout, positions, frame)] if frame is not None else []
    return np.minimum.reduce(limits)


def _frame_ends(partitions: Partitions, layout: Layout, positions: np.ndarray, frame: int) -> np.ndarray:
    """Return where the frames end that begin at the text's positions; rows to come are FUTURE codes in them."""
    partition, _ = layout.locate(positions)
    size = partitions.ends[partition] - partitions.scan[partition] + layout.futures[partition]
    return np.minimum(positions + frame + 1, layout.begins[partition] + size)


def _deadlines(partitions: Partitions, layout: Layout, positions: np.ndarray, within: int) -> np.ndarray:
    """Return where what spans less than `within` microseconds ends that begins at the text's positions."""
    partition, row = layout.locate(positions)
    times = _times(partitions)
    deadlines = times[row] + within
    stop = np.minimum(_first_rows_from(partitions, times, partition, deadlines), partitions.ends[partition])
    limits = layout.begins[partition] + stop - layout.scan[partition]
    open_ended = (stop == partitions.ends[partition]) & (partitions.bound < deadlines - 1)
    return limits + np.where(open_ended, layout.futures[partition], 0)


def _times(partitions: Partitions) -> np.ndarray:
    return partitions.rows.column("t").to_numpy()


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
