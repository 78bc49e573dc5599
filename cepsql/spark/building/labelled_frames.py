"""Changes as the user sees them, as Spark DataFrames."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from cepsql.analysis.clauses.emit_clause import OPERATION, OPERATIONS
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.operators.changing.change_rows import labelled, net_changes, signs
from cepsql.ordered.operator import Change
from cepsql.spark.frames.arrow_rows import map_rows
from cepsql.spark.frames.worker import settle

_SPOKEN = pa.array([OPERATIONS[change] for change in Change])


def labelled_changes(frame: DataFrame) -> DataFrame:
    """Return changes with OPERATION in place of the hidden columns.

    What SQL made of them keeps the changes of one identity next to each other; it may have left some out.
    """
    return map_rows(frame, _label, StructType(labelled_fields(frame)))


def labelled_fields(frame: DataFrame) -> list[StructField]:
    """Return the columns of `labelled_changes`."""
    shown = [field for field in frame.schema.fields if field.name not in (IDENTITY, CHANGE)]
    return [*shown, StructField(OPERATION, StringType())]


def _label(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    return label(batches)


def label(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task with OPERATION in place of the hidden columns; see `labelled_changes`."""
    waiting: pa.Table | None = None
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        rows = rows if waiting is None else pa.concat_tables([waiting, rows]).combine_chunks()
        owner = _owners(rows)
        # The changes of the last identity may go on in the next batch.
        end = int(np.searchsorted(owner, owner[-1])) if len(owner) else 0
        waiting = rows.slice(end)
        yield from _labelled(rows.slice(0, end), owner[:end])
    if waiting is not None and waiting.num_rows:
        yield from _labelled(waiting, _owners(waiting))


def _owners(rows: pa.Table) -> np.ndarray:
    """Number the identities of rows; rows next to each other that have the same one have one number. A row without
    one is alone."""
    if rows[IDENTITY].null_count == rows.num_rows:
        return np.arange(rows.num_rows)
    codes = rows[IDENTITY].combine_chunks().dictionary_encode()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    numbers = codes.indices.to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(np.diff(numbers) != 0)])[: len(numbers)]


def _labelled(rows: pa.Table, owner: np.ndarray) -> Iterator[pa.RecordBatch]:
    if rows.num_rows == 0:
        return
    rows = rows.combine_chunks()
    shown, weights = rows.drop_columns([IDENTITY, CHANGE]), signs(rows[CHANGE].chunk(0))
    if (weights > 0).all():
        yield from shown.append_column(OPERATION, pa.repeat(_SPOKEN[int(Change.INSERT)], shown.num_rows)).to_batches()
        return
    columns = [column.chunk(0) for column in shown.columns]
    first, total = net_changes(owner - owner[0], columns, weights)
    places, changes = labelled(owner[first], total)
    made = shown.take(pa.array(first[places])).append_column(OPERATION, _SPOKEN.take(changes))
    yield from made.combine_chunks().to_batches()
