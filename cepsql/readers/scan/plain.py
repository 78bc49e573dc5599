"""The rows of plain SQL over one stream, computed by the tasks that read its files or records."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.readers.scan.chunk import Chunk
from cepsql.readers.scan.layout import FileLayout
from cepsql.readers.scan.projection import Projection
from cepsql.scalar.arrow.arrow_expressions import evaluate
from cepsql.scalar.expressions import Node

COLUMN = "c"
"""The prefix of the names of columns, before their numbers."""

READ, MALFORMED, TIME = "read", "malformed", "time"
"""The columns after them: the numbers of rows and of malformed rows read, only in a row that counts; and the last event
time of the rows that were read together."""

_TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class PlainScan:
    """All that a task needs to read files, or records, into the rows of a query; picklable.

    time: the event time of the stream, or None.
    """

    layout: FileLayout
    projection: Projection
    time: Node | None

    @property
    def schema(self) -> pa.Schema:
        """The schema of `plain_rows`."""
        counts = [(READ, pa.int64()), (MALFORMED, pa.int64())]
        return pa.schema([*self.projection.schema, *counts, *([] if self.time is None else [(TIME, _TIME)])])


def plain_rows(scan: PlainScan, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query, and a last row that only counts the rows read."""
    read = malformed = 0
    schema = scan.schema
    last: int | None = None
    for chunk in chunks:
        read, malformed = read + chunk.rows + chunk.malformed, malformed + chunk.malformed
        if scan.time is not None and chunk.rows:
            times = evaluate(scan.time, chunk.columns, chunk.rows, scan.projection.session)
            newest = pc.max(times.view(pa.int64())).as_py()
            last = newest if last is None or (newest is not None and newest > last) else last
        rows = scan.projection.rows(chunk.columns, chunk.rows)
        if rows.num_rows:
            yield _with([None, None, last], rows.columns, rows.num_rows, schema)
    if read:
        empty = [pa.nulls(1, field.type) for field in scan.projection.schema]
        yield _with([read, malformed, last], empty, 1, schema)


def _with(behind: list[int | None], columns: list[pa.Array], rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows with the values `behind` in the columns after theirs."""
    fields = list(schema)[len(columns) :]
    repeated = [pa.repeat(pa.scalar(value, pa.int64()), rows) for value in behind[: len(fields)]]
    cast = [values.view(field.type) for values, field in zip(repeated, fields, strict=True)]
    return pa.RecordBatch.from_arrays([*columns, *cast], schema=schema)
