"""A function over the rows of tasks, of which Java is told once for many frames.

Relies on: `Column._jc` is Java's column, and `Dataset.mapInArrow` of `DataFrame._jdf` takes it, as
`DataFrame.mapInArrow` does, which tells Java of the function in twenty calls for each frame.
`DataFrame._collect_as_arrow` gives what `toArrow` puts together, which asks Java for types and settings before.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from pyspark.util import PythonEvalType

from cepsql.spark.jvm.classic import frame_has_java


def collected_batches(frame: DataFrame) -> list[pa.RecordBatch]:
    """Return the rows of a frame that has Java, as Spark's tasks give them."""
    found: Any = frame
    batches: list[pa.RecordBatch] = found._collect_as_arrow()
    return batches


class TaskFunction:
    """Maps the rows of each task of frames of one session, whose columns have plain names.

    function, schema: as of `DataFrame.mapInArrow`.
    """

    def __init__(self, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: StructType):
        self._function, self._schema = function, schema
        self._known: tuple[list[str], Any] = ([], None)

    def collected(self, frame: DataFrame) -> pa.Table:
        """Return what the function makes of the rows of a frame, in memory; a table without columns if that is no row.

        No column is of a type that Arrow has otherwise than Spark.
        """
        made = self.over(frame)
        if not frame_has_java(frame):
            return made.toArrow()
        batches = collected_batches(made)
        return pa.Table.from_batches(batches) if batches else pa.table({})

    def over(self, frame: DataFrame) -> DataFrame:
        """Return what the function makes of the rows of a frame."""
        if not frame_has_java(frame):
            return frame.mapInArrow(self._function, self._schema)
        names, column = self._known
        if column is None or names != frame.columns:
            names, kind = frame.columns, PythonEvalType.SQL_MAP_ARROW_ITER_UDF
            made: Any = F.pandas_udf(self._function, self._schema, kind)  # type: ignore[call-overload]
            column = made(*map(F.col, names))
            self._known = names, column
        return DataFrame(frame._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)
