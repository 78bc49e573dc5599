"""Which partitions have a key that meets nobody in a join."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepsql.ordered.operator import OrderedRows


def null_keys(ordered: OrderedRows, names: Sequence[str]) -> np.ndarray:
    """Tell for each partition whether it has rows whose key has a NULL; `names` are the key columns."""
    null = np.zeros(len(ordered.starts) - 1, bool)
    filled = np.flatnonzero(np.diff(ordered.starts))
    for name in names:
        column = ordered.rows[name].chunk(0)
        if column.null_count:
            null[filled] |= column.take(pa.array(ordered.starts[filled])).is_null().to_numpy(zero_copy_only=False)
    return null
