"""The rows of several frames in one: each has the number of its frame, and its columns in a struct of their own."""

from collections.abc import Iterator, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepsql.language.tokens import quoted
from cepsql.spark.frames.pieces import Pieces

PART = "__part"
"""INT column with the number of the frame."""


def side_by_side(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of frames with PART and, for each frame, a struct, which is NULL in the rows of others.

    The rows of a partition stay together, in their order.
    """
    kinds = [frame.schema for frame in frames]

    def placed(number: int, frame: DataFrame) -> DataFrame:
        own = F.struct(*(F.col(quoted(name)) for name in frame.columns))
        columns = [own if at == number else F.lit(None).cast(kind) for at, kind in enumerate(kinds)]
        named = [column.alias(_struct(at)) for at, column in enumerate(columns)]
        return frame.select(F.lit(number).alias(PART), *named)

    return reduce(DataFrame.unionAll, (placed(number, frame) for number, frame in enumerate(frames)))


def part_of(frame: DataFrame, number: int) -> DataFrame:
    """Return a frame with the columns of one of those that stand side by side, for their types."""
    return frame.select(f"{_struct(number)}.*")


class PartPieces:
    """The rows of one of the frames that stand side by side, in order, as often as they are asked for."""

    def __init__(self, pieces: Pieces, number: int):
        self._pieces, self._number = pieces, number

    def __iter__(self) -> Iterator[pa.Table]:
        for table in self._pieces:
            rows = table.filter(pc.equal(table[PART], self._number))
            if rows.num_rows:
                structs = rows[_struct(self._number)].combine_chunks()
                yield pa.Table.from_arrays(structs.flatten(), names=[field.name for field in structs.type])


def _struct(number: int) -> str:
    return f"__rows_{number}"
