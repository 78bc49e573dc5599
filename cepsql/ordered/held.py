"""The released rows that a bucket keeps: which must be scanned again, and which to keep after a scan."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.columns import compact, integers, take_rows
from cepsql.ordered.keys import find_keys
from cepsql.pattern.program import END_OF_TIME


@dataclass(frozen=True)
class Held:
    """Held rows and their partitions, one entry a partition (`starts`: and the number of rows at the end).

    rows:    as in `State.held`, one chunk a column.
    starts:  where each partition's rows begin.
    pending: the first row that may start a match; the rows before it are context.
    """

    rows: pa.Table
    starts: np.ndarray
    pending: np.ndarray


def open_held(table: pa.Table) -> Held:
    """Find the partitions in `State.held`."""
    rows = compact(table)
    starts = np.append(np.flatnonzero(integers(rows["first"])), rows.num_rows)
    return Held(rows, starts, starts[:-1] + context_sizes(rows, starts))


def context_sizes(rows: pa.Table, starts: np.ndarray) -> np.ndarray:
    """Return how many rows of each partition are there only for PREV; they are its first rows."""
    if len(starts) == 1 or not pc.any(rows["context"]).as_py():
        return np.zeros(len(starts) - 1, np.int64)
    return np.add.reduceat(integers(rows["context"]).astype(np.int64), starts[:-1])


def to_scan(
    held: Held, keys: Sequence[str], ready: pa.Table | None, within: int | None, old: int, new: int
) -> np.ndarray:
    """Tell for each held partition whether a scan can find more than the last one did.

    That is so if it has new rows, if its oldest undecided row's deadline passes as the bound moves from `old` to
    `new`, or if nothing more will come and a row is undecided.
    """
    undecided = held.pending < held.starts[1:]
    if new == END_OF_TIME:
        return undecided | _touched(held, keys, ready)
    chosen = _touched(held, keys, ready)
    if within is not None and new > old:
        oldest = integers(held.rows["t"])[held.pending[undecided]]
        # The next row comes at new + 1 or later, so a deadline of new + 1 passes too.
        chosen[undecided] |= (oldest + within > old) & (oldest + within <= new + 1)
    return chosen


def divide(held: Held, chosen: np.ndarray) -> tuple[pa.Table | None, pa.Table | None]:
    """Split held rows into those of the chosen partitions, without `first`, and the others as in `State.held`."""
    if chosen.all():
        return held.rows.drop_columns(["first"]), None
    if not chosen.any():
        return None, held.rows
    row_chosen = np.repeat(chosen, np.diff(held.starts))
    return held.rows.filter(pa.array(row_chosen)).drop_columns(["first"]), held.rows.filter(pa.array(~row_chosen))


def retain(rows: pa.Table, starts: np.ndarray, scan: np.ndarray, reach: int) -> pa.Table | None:
    """Return, as `State.held`, the rows of each partition from its `scan` on, and up to `reach` rows before."""
    begins = np.maximum(starts[:-1], scan - reach)
    sizes = starts[1:] - begins
    total = int(sizes.sum())
    if total == 0:
        return None
    partition = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.cumsum(sizes) - sizes
    places = np.arange(total) + (begins - offsets)[partition]
    first = np.zeros(total, bool)
    first[offsets[sizes > 0]] = True
    kept = rows if total == rows.num_rows else take_rows(rows, places)
    kept = kept.append_column("context", pa.array(places < scan[partition]))
    return kept.append_column("first", pa.array(first))


def _touched(held: Held, keys: Sequence[str], ready: pa.Table | None) -> np.ndarray:
    count = len(held.starts) - 1
    if ready is None or ready.num_rows == 0:
        return np.zeros(count, bool)
    firsts = held.rows.select(list(keys))
    if count < held.rows.num_rows:
        firsts = take_rows(firsts, held.starts[:-1])
    left = [c.chunk(0) for c in firsts.columns]
    right = [ready[k].chunk(0) for k in keys]
    return find_keys(left, count, right, ready.num_rows) >= 0
