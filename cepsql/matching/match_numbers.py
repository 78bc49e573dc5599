"""How many matches each partition has had, for MATCH_NUMBER(): the only thing kept of a partition without rows."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepsql.ordered.columns import one_chunk, stack
from cepsql.ordered.keys import find_keys
from cepsql.pattern.program import MatchNumber, MatchProgram
from cepsql.scalar.tree import leaves

NUMBERS = "numbers"
"""The section that has the keys with matches, and `number` BIGINT, how many."""


def asks_for_number(program: MatchProgram) -> bool:
    """Tell whether a condition or a measure reads MATCH_NUMBER()."""
    sources = [measure.source for measure in program.measures]
    sources += [leaf for condition in program.conditions for leaf in leaves(condition)]
    return any(isinstance(source, MatchNumber) for source in sources)


def read_numbers(stored: pa.Table | None, names: Sequence[str], keys: list[pa.Array], count: int) -> np.ndarray:
    """Return the number of matches of each of `count` distinct keys, 0 where none is stored (int64).

    stored: columns `names` and `number`, None for none.
    """
    numbers = np.zeros(count, np.int64)
    if stored is not None:
        place = _places(stored, names, keys, count)
        known = place >= 0
        numbers[place[known]] = one_chunk(stored["number"]).to_numpy()[known]
    return numbers


def write_numbers(stored: pa.Table | None, names: Sequence[str], keys: list[pa.Array], numbers: np.ndarray) -> pa.Table:
    """Return `stored` with the numbers of these distinct keys in place of their earlier ones."""
    any_match = pa.array(numbers > 0)
    columns = {name: column.filter(any_match) for name, column in zip(names, keys, strict=True)}
    tables = [pa.table({**columns, "number": pa.array(numbers).filter(any_match)})]
    if stored is not None:
        others = pa.array(_places(stored, names, keys, len(numbers)) < 0)
        tables = [stored.filter(others), *tables]
    return stack(tables)


def _places(stored: pa.Table, names: Sequence[str], keys: list[pa.Array], count: int) -> np.ndarray:
    return find_keys([one_chunk(stored[name]) for name in names], stored.num_rows, keys, count)
