"""Ordered rows of many partitions one after another, and the matches in them."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Partitions:
    """Rows sorted by partition and by order inside each; all arrays are int64, one entry a partition unless said.

    rows:    columns as in `cepsql.pattern.program`, each one chunk.
    starts:  where each partition's rows begin, plus the number of rows at the end (n + 1 entries).
    scan:    the first row that may start a match; rows before it are there only for PREV.
    ends:    one past the last row that may be read; rows from there on wait for the watermark.
    numbers: the number of the partition's matches so far.
    bound:   every later row has t > bound (END_OF_TIME: no row follows).
    """

    rows: pa.Table
    starts: np.ndarray
    scan: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray
    bound: int


@dataclass(frozen=True)
class Matches:
    """Matches, ordered by partition and then by start; arrays have one entry a match unless said.

    partition: index of the partition.
    start:     index of the first row in `Partitions.rows`.
    length:    number of rows.
    number:    MATCH_NUMBER().
    complete:  False for a partial match that timed out.
    labels:    the variable index of every row of every match, concatenated (sum of length entries); for a row that
               {- -} excludes from ALL ROWS PER MATCH, that index plus the number of variables.
    """

    partition: np.ndarray
    start: np.ndarray
    length: np.ndarray
    number: np.ndarray
    complete: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class ScanResult:
    """The matches of a scan, and where the next one begins.

    scan:    for each partition the first undecided row, at which the next attempt starts.
    numbers: for each partition the number of matches so far.
    misplaced: the number of skips to a variable that led nowhere, so that matching resumed elsewhere.
    given_up: the first rows, ascending, of attempts that took too many steps; they count as no match.
    """

    matches: Matches
    scan: np.ndarray
    numbers: np.ndarray
    misplaced: int = 0
    given_up: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
