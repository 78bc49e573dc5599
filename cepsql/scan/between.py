"""What an operator gives out as the rows of another one in the same stage, without Spark."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.columns import one_chunk
from cepsql.scalar.columns import arrow_type
from cepsql.scalar.types import Type
from cepsql.scan.projection import Projection


@dataclass(frozen=True)
class RowsBetween:
    """Makes rows of the second operator's layout from the first one's output; picklable.

    types: of the columns of the output that are read.
    """

    projection: Projection
    types: tuple[tuple[str, Type], ...]

    def __call__(self, output: pa.Table) -> pa.Table:
        columns = {name: pc.cast(one_chunk(output[name]), arrow_type(type)) for name, type in self.types}
        return pa.Table.from_batches([self.projection.rows(columns, output.num_rows)])
