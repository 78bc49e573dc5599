"""Which values of a group come for the first time, for aggregates of distinct values."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepsql.ordered.keys import find_keys, first_places, key_codes
from cepsql.ordered.plain_columns import one_chunk, stack

_VALUE = "value"


class DistinctValues:
    """The distinct values of groups in one column, as a table: the names of the group's keys, and the value.

    stored: what `kept` gave before, None for nothing.
    """

    def __init__(self, stored: pa.Table | None, names: Sequence[str]):
        self.kept, self._names = stored, list(names)

    def take(self, values: pa.Array, starts: np.ndarray, keys: Sequence[pa.Array]) -> pa.Array:
        """Return the values with NULL in place of those that their group had before, and keep the others.

        values: one group's after another's.
        starts: where those of each group begin, and their number at the end.
        keys:   of each group, in the order of the names.
        """
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        owner, known = self._known(keys, values.type)
        every = pa.concat_arrays([known, values])
        groups = np.concatenate([owner, group])
        codes, _ = key_codes([pa.array(groups), every], len(every))
        new = np.zeros(len(every), bool)
        new[first_places(codes)] = True
        new = new[len(known) :] & values.is_valid().to_numpy(zero_copy_only=False)
        chosen = pa.array(new)
        added = {name: key.take(pa.array(group[new])) for name, key in zip(self._names, keys, strict=True)}
        rows = pa.table(added | {_VALUE: values.filter(chosen)})
        self.kept = rows if self.kept is None else stack([self.kept, rows])
        return values.take(pa.array(np.arange(len(values)), mask=~new))

    def forget(self, keys: Sequence[pa.Array]) -> None:
        """Let go of the values of groups."""
        if self.kept is not None and self.kept.num_rows:
            self.kept = self.kept.filter(pa.array(self._owners(keys) < 0))

    def _known(self, keys: Sequence[pa.Array], kind: pa.DataType) -> tuple[np.ndarray, pa.Array]:
        """Return the values that groups have, and the number of the group of each."""
        if self.kept is None or not self.kept.num_rows:
            return np.zeros(0, np.int64), pa.array([], kind)
        owners = self._owners(keys)
        there = np.flatnonzero(owners >= 0)
        return owners[there], one_chunk(self.kept[_VALUE]).take(pa.array(there))

    def _owners(self, keys: Sequence[pa.Array]) -> np.ndarray:
        assert self.kept is not None
        held = [one_chunk(self.kept[name]) for name in self._names]
        return find_keys(held, self.kept.num_rows, list(keys), len(keys[0]))
