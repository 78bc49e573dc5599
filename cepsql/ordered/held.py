"""The released rows that a bucket keeps: which must be seen again, and which to keep afterwards."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.keys import find_keys
from cepsql.ordered.operator import NEVER, Keep, OrderedRows
from cepsql.ordered.plain_columns import compact, count_flags, integers, take_rows
from cepsql.ordered.row_layout import END_OF_TIME

FIRST, CONTEXT = "first", "context"
"""Columns of kept rows: BOOLEAN `first` begins a partition, `context` is kept only for what comes after it."""


def open_held(table: pa.Table) -> OrderedRows:
    """Find the partitions in kept rows; their columns FIRST and CONTEXT stay."""
    rows = compact(table)
    starts = np.append(np.flatnonzero(integers(rows[FIRST])), rows.num_rows)
    return OrderedRows(rows, starts, starts[:-1] + context_sizes(rows, starts))


def context_sizes(rows: pa.Table, starts: np.ndarray) -> np.ndarray:
    """Return how many rows of each partition are context; they are its first rows."""
    if len(starts) == 1 or not pc.any(rows[CONTEXT]).as_py():
        return np.zeros(len(starts) - 1, np.int64)
    return count_flags(integers(rows[CONTEXT]), starts)


def is_due(deadlines: np.ndarray, old: int, new: int) -> np.ndarray:
    """Tell which deadlines pass as the bound moves from `old` to `new`."""
    return deadlines < NEVER if new == END_OF_TIME else (deadlines > old) & (deadlines <= new)


def has_key(held: OrderedRows, keys: Sequence[str], others: Sequence[pa.Table]) -> np.ndarray:
    """Tell for each partition whether one of the others, each one chunk a column, has a row of its key."""
    count = len(held.starts) - 1
    occurs = np.zeros(count, bool)
    firsts = held.rows.select(list(keys))
    if count < held.rows.num_rows:
        firsts = take_rows(firsts, held.starts[:-1])
    left = [c.chunk(0) for c in firsts.columns]
    for other in others:
        occurs |= find_keys(left, count, [other[k].chunk(0) for k in keys], other.num_rows) >= 0
    return occurs


def divide(held: OrderedRows, chosen: np.ndarray) -> tuple[pa.Table | None, pa.Table | None]:
    """Split kept rows into those of the chosen partitions, without FIRST, and the others as they are kept."""
    if chosen.all():
        return held.rows.drop_columns([FIRST]), None
    if not chosen.any():
        return None, held.rows
    row_chosen = np.repeat(chosen, np.diff(held.starts))
    return held.rows.filter(pa.array(row_chosen)).drop_columns([FIRST]), held.rows.filter(pa.array(~row_chosen))


def retain(ordered: OrderedRows, keep: Keep) -> pa.Table | None:
    """Return the rows of each partition that are to be kept, with FIRST and CONTEXT, None for none."""
    rows, starts = ordered.rows, ordered.starts
    for name, values in keep.marks.items():
        rows = rows.set_column(rows.column_names.index(name), name, values)
    if keep.among is not None:
        chosen = np.flatnonzero(keep.among & (np.arange(rows.num_rows) >= np.repeat(keep.pending, np.diff(starts))))
        return _without_context(take_rows(rows, chosen), chosen, starts) if len(chosen) else None
    begins = np.maximum(starts[:-1], keep.pending - keep.reach)
    sizes = starts[1:] - begins
    total = int(sizes.sum())
    if total == 0:
        return None
    partition = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.cumsum(sizes) - sizes
    places = np.arange(total) + (begins - offsets)[partition]
    first = np.zeros(total, bool)
    first[offsets[sizes > 0]] = True
    retained = rows if total == rows.num_rows else take_rows(rows, places)
    retained = retained.append_column(CONTEXT, pa.array(places < keep.pending[partition]))
    return retained.append_column(FIRST, pa.array(first))


def _without_context(rows: pa.Table, places: np.ndarray, starts: np.ndarray) -> pa.Table:
    """Return rows that stood at these places, none for what comes after it, with FIRST and CONTEXT."""
    partition = np.searchsorted(starts, places, "right")
    first = np.concatenate([[True], np.diff(partition) != 0])
    rows = rows.append_column(CONTEXT, pa.array(np.zeros(len(places), bool)))
    return rows.append_column(FIRST, pa.array(first))
