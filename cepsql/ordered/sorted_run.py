"""The batch job: an operator over rows that come sorted, partition by partition."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.keys import key_changes
from cepsql.ordered.operator import Operator, OrderedRows
from cepsql.ordered.plain_columns import canonical, one_chunk, plain_batch, stack
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME

CHUNK_ROWS = 131_072
"""How many rows of whole partitions are scanned at once, at least, except at the end."""


def run_sorted(
    operator: Operator, batches: Iterable[pa.RecordBatch], chunk_rows: int = CHUNK_ROWS
) -> Iterator[pa.RecordBatch]:
    """Give bounded rows that are sorted by key and then in their order to an operator of one side; yield its output.

    batches: the columns of the operator's layout (k*, v*, m and perhaps t); a partition may span batches and is
             gathered whole. Rows without event time are dropped, as on a stream. No input gives no output.
    """
    (layout,), (marks,) = operator.sides, operator.marks
    for rows, starts in _chunks(batches, layout.key_names, chunk_rows):
        for name, kind in marks.items():
            rows = rows.append_column(name, pa.nulls(rows.num_rows, kind))
        step = operator.advance([OrderedRows(rows, starts, starts[:-1])], {}, BEGINNING, END_OF_TIME)
        yield from (batch for batch in step.output.to_batches() if batch.num_rows)


def _chunks(
    batches: Iterable[pa.RecordBatch], keys: list[str], chunk_rows: int
) -> Iterator[tuple[pa.Table, np.ndarray]]:
    """Yield whole partitions, at least `chunk_rows` rows but for the last, and where they begin."""
    gathered: list[pa.Table] = []
    changes, rows = [np.zeros(1, np.int64)], 0
    for batch in batches:
        table = _prepared(batch, keys)
        if table.num_rows == 0:
            continue
        new = rows + _changes(gathered, table, keys)
        gathered.append(table)
        changes.append(new)
        rows += table.num_rows
        if len(new) and new[-1] >= chunk_rows:
            whole, end = stack(gathered), int(new[-1])
            yield whole.slice(0, end), np.concatenate(changes)
            gathered = [whole.slice(end)]
            changes, rows = [np.zeros(1, np.int64)], rows - end
    if rows:
        yield stack(gathered), np.append(np.concatenate(changes), rows)


def _prepared(batch: pa.RecordBatch, keys: list[str]) -> pa.Table:
    table = pa.Table.from_batches([plain_batch(batch)])
    for i, name in enumerate(table.column_names):
        if name in keys:
            table = table.set_column(i, name, canonical(one_chunk(table[name])))
    if "t" in table.column_names and table["t"].null_count:
        table = table.filter(pc.is_valid(table["t"]))
    return table


def _changes(gathered: list[pa.Table], table: pa.Table, keys: list[str]) -> np.ndarray:
    """Return the positions in `table` where a partition begins, seen from the last row gathered."""
    previous = [gathered[-1].slice(gathered[-1].num_rows - 1)] if gathered else []
    joined = stack([t.select(keys) for t in [*previous, table]])
    return key_changes([c.chunk(0) for c in joined.columns], table.num_rows + len(previous)) - len(previous)
