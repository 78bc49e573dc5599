"""The rows of plain SQL over one stream, computed where its files or records are read."""

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
"""What the names of the rows' columns begin with; their numbers follow."""

READ, MALFORMED, TIME = "read", "malformed", "time"
"""The columns behind them: how many rows were read, and not as declared, which only a row that counts has; and the last
event time of the rows that were read together."""

_TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class PlainScan:
    """All that a task needs to read files, or records, into the rows of a query; picklable.

    time: the event time of the stream, None if it has none.
    """

    layout: FileLayout
    projection: Projection
    time: Node | None

    @property
    def schema(self) -> pa.Schema:
        """The columns of what `plain_rows` gives."""
        counts = [(READ, pa.int64()), (MALFORMED, pa.int64())]
        return pa.schema([*self.projection.schema, *counts, *([] if self.time is None else [(TIME, _TIME)])])


def plain_rows(scan: PlainScan, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query, and at last one that only counts what was read."""
    read = malformed = 0
    schema = scan.schema
    last: int | None = None
    for chunk in chunks:
        read, malformed = read + chunk.rows + chunk.malformed, malformed + chunk.malformed
        if scan.time is not None and chunk.rows:
            times = evaluate(scan.time, chunk.columns, chunk.rows, scan.projection.session)
            found = pc.max(times.view(pa.int64())).as_py()
            last = found if last is None or (found is not None and found > last) else last
        rows = scan.projection.rows(chunk.columns, chunk.rows)
        if rows.num_rows:
            yield _with([None, None, last], rows.columns, rows.num_rows, schema)
    if read:
        empty = [pa.nulls(1, field.type) for field in scan.projection.schema]
        yield _with([read, malformed, last], empty, 1, schema)


def _with(behind: list[int | None], columns: list[pa.Array], rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows with these values in the columns behind theirs."""
    fields = list(schema)[len(columns) :]
    repeated = [pa.repeat(pa.scalar(value, pa.int64()), rows) for value in behind[: len(fields)]]
    cast = [values.view(field.type) for values, field in zip(repeated, fields, strict=True)]
    return pa.RecordBatch.from_arrays([*columns, *cast], schema=schema)
