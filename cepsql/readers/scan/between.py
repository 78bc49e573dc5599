"""What an operator gives out as the rows of another one, without Spark."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.plain_columns import one_chunk
from cepsql.readers.scan.projection import Projection
from cepsql.scalar.arrow.column_values import arrow_type


@dataclass(frozen=True)
class RowsBetween:
    """Makes rows of the second operator's layout from the first one's output, in the same stage; picklable."""

    projection: Projection

    def __call__(self, output: pa.Table) -> pa.Table:
        return pa.Table.from_batches([projected_rows(self.projection, output)])


def projected_rows(projection: Projection, output: pa.Table) -> pa.RecordBatch:
    """Return what a projection makes of rows that an operator gives out."""
    read = projection.inputs
    columns = {one.leaf: pc.cast(one_chunk(output[one.leaf]), arrow_type(one.type)) for one in read}
    return projection.rows(columns, output.num_rows)
