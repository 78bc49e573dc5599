"""One number for each key, as an operator remembers it beside rows."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepsql.ordered.keys import find_keys
from cepsql.ordered.plain_columns import one_chunk, stack

NUMBER = "number"
"""The BIGINT column beside the key columns."""


def read_numbers(
    stored: pa.Table | None, names: Sequence[str], keys: list[pa.Array], count: int, absent: int = 0
) -> np.ndarray:
    """Return the number of each of `count` distinct keys, `absent` where none is stored (int64).

    stored: columns `names` and NUMBER, None for none.
    """
    numbers = np.full(count, absent, np.int64)
    if stored is not None and stored.num_rows:
        place = _places(stored, names, keys, count)
        has_number = place >= 0
        numbers[place[has_number]] = one_chunk(stored[NUMBER]).to_numpy()[has_number]
    return numbers


def write_numbers(
    stored: pa.Table | None, names: Sequence[str], keys: list[pa.Array], numbers: np.ndarray, chosen: np.ndarray
) -> pa.Table:
    """Return `stored` with the numbers of the chosen ones of these distinct keys, and without the others."""
    mask = pa.array(chosen)
    columns = {name: column.filter(mask) for name, column in zip(names, keys, strict=True)}
    tables = [pa.table({**columns, NUMBER: pa.array(numbers).filter(mask)})]
    if stored is not None:
        others = pa.array(_places(stored, names, keys, len(numbers)) < 0)
        tables = [stored.filter(others), *tables]
    return stack(tables)


def _places(stored: pa.Table, names: Sequence[str], keys: list[pa.Array], count: int) -> np.ndarray:
    return find_keys([one_chunk(stored[name]) for name in names], stored.num_rows, keys, count)
