"""What rows that are added and taken away do to the aggregates of their groups, of one row or of many.

That is a table with, beside the keys, `ROWS` and WEIGHT, and for each column v{i}, where an aggregate needs them:

    v{i}_count         how many values that are not NULL it gets
    v{i}_limb0, ...    what it adds to their sum, as of `cepsql.operators.exact_sums`
    v{i}_least, v{i}_greatest
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.operators.changing.change_rows import KIND, signs
from cepsql.operators.exact_sums import as_integers, is_added_exactly, limbs
from cepsql.operators.windowing.partial_totals import WORTHWHILE, greatest_places
from cepsql.ordered.keys import key_codes
from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import canonical, integers, marked, one_chunk
from cepsql.ordered.row_layout import COUNTED, REPEATED, ROWS
from cepsql.ordered.sorting import stable_order

WEIGHT = "weight"
"""The BIGINT column that says how many rows a group gets."""

_LEAST, _GREATEST = "_least", "_greatest"
_NO_TIMES = np.zeros(0, np.int64)


@dataclass(frozen=True)
class PartialGroups:
    """A reduction before the shuffle (`cepsql.ordered.row_layout`): what the rows of a group do to it together.

    Rows without KIND are all added.

    types:    of the columns whose values are counted.
    summed:   those of them that are added, which are integers or decimals.
    least, greatest: those of which a value is chosen; then no row is taken away.
    """

    types: tuple[tuple[str, pa.DataType], ...]
    summed: frozenset[str]
    least: frozenset[str] = frozenset()
    greatest: frozenset[str] = frozenset()

    def __call__(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, np.ndarray]:
        around = {name: rows[name] for name in ("bucket", "t") if name in rows.schema.names}
        keys = {name: canonical(rows[name]) for name in rows.schema.names if name.startswith("k") and name != KIND}
        chosen = {name + _LEAST: rows[name] for name in sorted(self.least)}
        chosen |= {name + _GREATEST: rows[name] for name in sorted(self.greatest)}
        added = self._added(rows)
        codes, count = key_codes(list(keys.values()), rows.num_rows)
        if count > rows.num_rows * WORTHWHILE:
            plain = {name: pa.array(numbers) for name, numbers in added.items()}
            return pa.RecordBatch.from_pydict(around | keys | plain | chosen), _NO_TIMES
        order = stable_order(codes)
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        first, sorted_places = pa.array(order[starts]), pa.array(order)
        joined = {name: column.take(first) for name, column in (around | keys).items()}
        joined |= {name: pa.array(np.add.reduceat(numbers[order], starts)) for name, numbers in added.items()}
        ends = np.append(starts, len(order))
        for name in chosen:
            joined[name] = _chosen(chosen[name].take(sorted_places), ends, name.endswith(_LEAST))
        return pa.RecordBatch.from_pydict(joined), _NO_TIMES

    def _added(self, rows: pa.RecordBatch) -> dict[str, np.ndarray]:
        """Return what each row does to numbers."""
        sign = signs(rows[KIND]) if KIND in rows.schema.names else np.ones(rows.num_rows, np.int64)
        totals = {ROWS: np.ones(rows.num_rows, np.int64), WEIGHT: sign}
        if REPEATED in rows.schema.names:
            totals[COUNTED] = (~marked(rows, REPEATED)).astype(np.int64)
        for name, _ in self.types:
            column = rows[name]
            totals[_count(name)] = np.where(column.is_valid().to_numpy(zero_copy_only=False), sign, 0)
            if name in self.summed:
                totals |= {_limb(name, place): limb * sign for place, limb in enumerate(limbs(column))}
        return totals


def partial_groups(calls: Iterable[tuple[str, str]], types: Mapping[str, pa.DataType]) -> PartialGroups | None:
    """Return what adds up rows for aggregates, None where one of them adds in the order of the rows.

    calls: "count", "sum", "avg", "min" or "max", and the column of each.
    types: of the columns.
    """
    columns: dict[str, set[str]] = defaultdict(set)
    for function, column in calls:
        columns["sum" if function == "avg" else function].add(column)
    if not all(is_added_exactly(types[name]) for name in columns["sum"]):
        return None
    return PartialGroups(tuple(types.items()), *(frozenset(columns[name]) for name in ("sum", "min", "max")))


def added_counts(rows: pa.Table, name: str, starts: np.ndarray) -> np.ndarray:
    """Return how many values of a column groups get (int64).

    starts: where the rows of each begin, and how many rows there are.
    """
    return np.add.reduceat(integers(rows[_count(name)]), starts[:-1])


def added_limbs(rows: pa.Table, name: str, starts: np.ndarray) -> list[np.ndarray]:
    """Return what groups add to the sums of a column, as of `cepsql.operators.exact_sums`."""
    names = sorted(one for one in rows.column_names if one.startswith(_limb(name, "")))
    return [np.add.reduceat(integers(rows[limb]), starts[:-1]) for limb in names]


def added_sums(rows: pa.Table, name: str, starts: np.ndarray) -> np.ndarray:
    """Return what groups add to the sums of a column, as Python integers in units of the last digit."""
    return as_integers(added_limbs(rows, name, starts))


def added_choice(rows: pa.Table, name: str, starts: np.ndarray, least: bool) -> pa.Array:
    """Return the least or the greatest value of a column that each group gets."""
    return _chosen(one_chunk(rows[name + (_LEAST if least else _GREATEST)]), starts, least)


def _chosen(column: pa.Array, starts: np.ndarray, least: bool) -> pa.Array:
    """Return the value that each group chooses of its own; NULL where it has none."""
    numbers = ordinals(column, equal_zeros=False)
    order = iter([~numbers if least else numbers])
    place = greatest_places(order, np.asarray(column.is_valid()), starts)
    return column.take(pa.array(np.maximum(place, 0), mask=place < 0))


def _count(name: str) -> str:
    return f"{name}_count"


def _limb(name: str, place: int | str) -> str:
    return f"{name}_limb{place}"
