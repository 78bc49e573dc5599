"""Changes added up to the rows that are there."""

from collections import Counter

import pyarrow as pa


def fold(rows: Counter, changes: pa.Table, batch: int) -> None:
    """Add the changes of a micro-batch to rows; the last column says what each change does."""
    for *values, operation in zip(*(column.to_pylist() for column in changes.columns), strict=True):
        rows[tuple(values)] += -1 if operation.startswith("-") else 1
