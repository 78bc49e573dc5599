"""A function over the rows of tasks that is sent to Java once for many frames.

Relies on: `Column._jc` is Java's column, and `Dataset.mapInArrow` of `DataFrame._jdf` takes it. `DataFrame.mapInArrow`
makes the same call after twenty others for each frame. `DataFrame._collect_as_arrow` returns the batches that `toArrow`
joins, without its calls for types and settings.
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
    """Return the rows of a frame with Java, in the batches of Spark's tasks."""
    untyped: Any = frame
    batches: list[pa.RecordBatch] = untyped._collect_as_arrow()
    return batches


class TaskFunction:
    """Maps the rows of each task, for frames of one session whose columns have plain names.

    function, schema: as in `DataFrame.mapInArrow`.
    """

    def __init__(self, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: StructType):
        self._function, self._schema = function, schema
        self._cached: tuple[list[str], Any] = ([], None)

    def collected(self, frame: DataFrame) -> pa.Table:
        """Return the function's output over a frame as a table in memory, without columns if it has no rows.

        All columns must have the same type in Arrow and Spark.
        """
        made = self.over(frame)
        if not frame_has_java(frame):
            return made.toArrow()
        batches = collected_batches(made)
        return pa.Table.from_batches(batches) if batches else pa.table({})

    def over(self, frame: DataFrame) -> DataFrame:
        """Return the function's output over a frame."""
        if not frame_has_java(frame):
            return frame.mapInArrow(self._function, self._schema)
        names, column = self._cached
        if column is None or names != frame.columns:
            names, kind = frame.columns, PythonEvalType.SQL_MAP_ARROW_ITER_UDF
            made: Any = F.pandas_udf(self._function, self._schema, kind)  # type: ignore[call-overload]
            column = made(*map(F.col, names))
            self._cached = names, column
        return DataFrame(frame._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)
