"""Hold back matches whose measures read rows that have not arrived: NEXT beyond the last released row."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.backtracking.match_arrays import skip_place
from cepsql.pattern.measures import measure_table
from cepsql.pattern.ordered_rows import Matches, Partitions, ScanResult
from cepsql.pattern.program import MatchProgram, Measure, Navigation


def hold_for_next(program: MatchProgram, partitions: Partitions, result: ScanResult) -> ScanResult:
    """Remove the matches that must wait for a later row of their partition.

    The matches after such a match wait with it; the next scan begins at its start. At the end of time nothing waits.
    """
    sources = [measure.source for measure in program.measures]
    ahead = [source for source in sources if isinstance(source, Navigation) and source.shift > 0]
    if not ahead or partitions.bound == END_OF_TIME or len(result.matches.start) == 0:
        return result
    waits = _furthest(program, partitions, result.matches, ahead) >= partitions.ends[result.matches.partition]
    return without_matches(program, partitions, result, waits) if waits.any() else result


def _furthest(program: MatchProgram, partitions: Partitions, matches: Matches, ahead: list[Navigation]) -> np.ndarray:
    """Return for each match the last row that these navigations read, -1 if they have no row to start from."""
    probes = tuple(Measure(f"p{i}", replace(source, column="row", shift=0)) for i, source in enumerate(ahead))
    numbered = replace(partitions, rows=pa.table({"row": np.arange(partitions.rows.num_rows)}))
    # The last row of a match reads furthest.
    places = measure_table(replace(program, keys=(), measures=probes, all_rows=False), numbered, matches)
    furthest = np.full(len(matches.start), -1, np.int64)
    for source, column in zip(ahead, places.columns, strict=True):
        place = column.combine_chunks().fill_null(-1 - source.shift).to_numpy() + source.shift
        if source.frame is not None:
            place[place > matches.start + source.frame] = -1
        np.maximum(furthest, place, out=furthest)
    return furthest


def without_matches(program: MatchProgram, partitions: Partitions, result: ScanResult, waits: np.ndarray) -> ScanResult:
    """Remove in each partition the first match that waits and all after it, with their misplaced skips and the attempts
    that were given up there."""
    matches, scan, numbers = result.matches, result.scan.copy(), result.numbers.copy()
    waiting, first = np.unique(matches.partition[waits], return_index=True)
    stop = np.flatnonzero(waits)[first]
    scan[waiting] = matches.start[stop]
    numbers[waiting] = matches.number[stop] - 1
    limit = np.full(len(scan), len(waits), np.int64)
    limit[waiting] = stop
    keep = np.arange(len(waits)) < limit[matches.partition]
    remaining = Matches(
        partition=matches.partition[keep],
        start=matches.start[keep],
        length=matches.length[keep],
        number=matches.number[keep],
        complete=matches.complete[keep],
        labels=matches.labels[np.repeat(keep, matches.length)],
    )
    misplaced = result.misplaced - _misplaced(program, matches, ~keep)
    given_up = given_up_before(partitions, result, scan)
    return replace(result, matches=remaining, scan=scan, numbers=numbers, misplaced=misplaced, given_up=given_up)


def given_up_before(partitions: Partitions, result: ScanResult, scan: np.ndarray) -> np.ndarray:
    """Return the attempts that were given up before the row `scan` of each partition."""
    partition = np.searchsorted(partitions.starts, result.given_up, "right") - 1
    return result.given_up[result.given_up < scan[partition]]


def _misplaced(program: MatchProgram, matches: Matches, chosen: np.ndarray) -> int:
    """Return the number of chosen matches whose skip to a variable led nowhere."""
    if not program.skip_to:
        return 0
    ends = np.cumsum(matches.length)
    count = 0
    for i in np.flatnonzero(chosen & matches.complete & (matches.length > 0)).tolist():
        count += not skip_place(program, matches.labels[ends[i] - matches.length[i] : ends[i]].tolist())
    return count
