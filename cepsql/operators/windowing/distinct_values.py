"""Which values of a group come for the first time, for aggregates of distinct values."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepsql.ordered.keys import find_keys, first_places, key_codes
from cepsql.ordered.plain_columns import one_chunk, stack

_VALUE = "value"


class DistinctValues:
    """The distinct values of groups in one column, as a table: the names of the group's keys, and the value.

    stored: what `rows` gave before, None for nothing.
    """

    def __init__(self, stored: pa.Table | None, names: Sequence[str]):
        self.rows, self._names = stored, list(names)

    def take(self, values: pa.Array, starts: np.ndarray, keys: Sequence[pa.Array]) -> pa.Array:
        """Return the values with NULL in place of those that their group had before, and keep the others.

        values: one group's after another's.
        starts: where those of each group begin, and their number at the end.
        keys:   of each group, in the order of the names.
        """
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        owner, values_before = self._values_before(keys, values.type)
        every = pa.concat_arrays([values_before, values])
        groups = np.concatenate([owner, group])
        codes, _ = key_codes([pa.array(groups), every], len(every))
        new = np.zeros(len(every), bool)
        new[first_places(codes)] = True
        new = new[len(values_before) :] & values.is_valid().to_numpy(zero_copy_only=False)
        chosen = pa.array(new)
        added = {name: key.take(pa.array(group[new])) for name, key in zip(self._names, keys, strict=True)}
        rows = pa.table(added | {_VALUE: values.filter(chosen)})
        self.rows = rows if self.rows is None else stack([self.rows, rows])
        return values.take(pa.array(np.arange(len(values)), mask=~new))

    def forget(self, keys: Sequence[pa.Array]) -> None:
        """Let go of the values of groups."""
        if self.rows is not None and self.rows.num_rows:
            self.rows = self.rows.filter(pa.array(self._owners(keys) < 0))

    def _values_before(self, keys: Sequence[pa.Array], kind: pa.DataType) -> tuple[np.ndarray, pa.Array]:
        """Return the values that groups have, and the number of the group of each."""
        if self.rows is None or not self.rows.num_rows:
            return np.zeros(0, np.int64), pa.array([], kind)
        owners = self._owners(keys)
        there = np.flatnonzero(owners >= 0)
        return owners[there], one_chunk(self.rows[_VALUE]).take(pa.array(there))

    def _owners(self, keys: Sequence[pa.Array]) -> np.ndarray:
        assert self.rows is not None
        held = [one_chunk(self.rows[name]) for name in self._names]
        return find_keys(held, self.rows.num_rows, list(keys), len(keys[0]))
