"""The output rows of a MATCH_RECOGNIZE."""

from dataclasses import dataclass

import numpy as np

from cepsql.pattern.ordered_rows import Matches, Partitions, ScanResult
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.scanning.labels import ranges

COVERED = "covered"
"""The column that marks rows covered by a match of an earlier scan."""


JUMPED = "jumped"
"""The prefix of the columns that mark rows over which a match of a window jumps."""


@dataclass(frozen=True)
class OutputRows:
    """One entry an output row.

    match: the index of its match, -1 for an unmatched row.
    row:   its row in `Partitions.rows`.
    seen:  how many rows of the match a RUNNING measure sees: those up to this row, none in an empty match.
    """

    match: np.ndarray
    row: np.ndarray
    seen: np.ndarray


def output_rows(program: MatchProgram, partitions: Partitions, matches: Matches, unmatched: np.ndarray) -> OutputRows:
    """Return the output rows: one a match, or with ALL ROWS PER MATCH one a row, in the order of rows.

    unmatched: the unmatched rows to emit (WITH UNMATCHED ROWS), or those at which no match begins.
    """
    count = len(matches.start)
    if not program.all_rows:
        return OutputRows(np.arange(count), matches.start + np.maximum(matches.length - 1, 0), matches.length)
    if gives_each_row(program):
        nothing = np.zeros(len(unmatched), np.int64)
        row = np.concatenate([matches.start, unmatched])
        order = np.argsort(row)
        match = np.concatenate([np.arange(count), nothing - 1])
        return OutputRows(match[order], row[order], np.concatenate([matches.length, nothing])[order])
    match = np.repeat(np.arange(count), matches.length)
    row = ranges(matches.start, matches.length)
    seen = row - matches.start[match] + 1
    # Rows inside an exclusion count in measures but are not emitted.
    shown = matches.labels < len(program.variables)
    empty = np.flatnonzero(matches.length == 0) if program.empty != "omit" else np.zeros(0, np.int64)
    match = np.concatenate([match[shown], empty, np.full(len(unmatched), -1)])
    row = np.concatenate([row[shown], matches.start[empty], unmatched])
    seen = np.concatenate([seen[shown], np.zeros(len(empty) + len(unmatched), np.int64)])
    # Matches may overlap: each keeps its rows together.
    first = np.where(match >= 0, matches.start[match] if count else row, row)
    order = np.lexsort((row, match, first))
    return OutputRows(match[order], row[order], seen[order])


def gives_each_row(program: MatchProgram) -> bool:
    """Tell whether the program emits each row once, with the match that begins there."""
    return program.all_rows and program.empty == "each"


def rows_without_match(partitions: Partitions, result: ScanResult) -> np.ndarray:
    """Return the rows decided by this scan at which no match begins."""
    begun = np.zeros(partitions.rows.num_rows, bool)
    begun[result.matches.start] = True
    return unmatched_rows(partitions, result, begun)


def asks_for_unmatched(program: MatchProgram) -> bool:
    """Tell whether the program emits rows that no match covers."""
    return program.all_rows and program.empty == "unmatched"


def covered_rows(partitions: Partitions, matches: Matches) -> np.ndarray:
    """Return for each row whether a match of this scan, or of an earlier one (column COVERED), covers it.

    The row of an empty match counts as covered, and so do the rows of a partial match that timed out.
    """
    depth = np.zeros(partitions.rows.num_rows + 1, np.int64)
    np.add.at(depth, matches.start, 1)
    np.add.at(depth, matches.start + np.maximum(matches.length, 1), -1)
    covered = np.cumsum(depth)[:-1] > 0
    if COVERED in partitions.rows.column_names:
        covered |= partitions.rows[COVERED].to_numpy()
    return covered


def unmatched_rows(partitions: Partitions, result: ScanResult, covered: np.ndarray) -> np.ndarray:
    """Return the rows decided by this scan that no match covers."""
    decided = ranges(partitions.scan, np.maximum(result.scan - partitions.scan, 0))
    return decided[~covered[decided]]
