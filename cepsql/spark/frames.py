"""What a DataFrame that a program made tells of itself."""

import hashlib
import re
from collections.abc import Sequence
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import DataType

from cepsql.catalog import ColumnDefinition, Registered, Watermark
from cepsql.spark.failures import translate_failure

_PASSING = re.compile(r"#\d+L?|@[0-9a-f]+|0x[0-9a-f]+|\bplan_id=\d+|__cepsql_\d+|\[id=#?\d+\]")
"""What differs in the texts of a plan from one session to the next: numbers of columns, addresses."""


def frame_watermark(frame: DataFrame) -> Watermark | None:
    """Return what withWatermark said of a streaming frame: Spark marks the column so."""
    for field in frame.schema.fields if frame.isStreaming else ():
        if "spark.watermarkDelayMs" in field.metadata:
            return Watermark(field.name, int(field.metadata["spark.watermarkDelayMs"]) * 1000)
    return None


def frame_columns(frame: DataFrame) -> tuple[ColumnDefinition, ...]:
    """Return the columns of a frame with their Spark types."""
    return tuple(ColumnDefinition(field.name, field.dataType.simpleString()) for field in frame.schema.fields)


def alike(frames: Sequence[DataFrame]) -> list[DataFrame]:
    """Return frames of the same columns by name with the types that UNION ALL gives them; further hidden ones stay.

    Raises ProgrammingError if a column has types that do not go together.
    """
    plain = [frame.select(*(f"`{name}`" for name in frame.columns if not name.startswith("__"))) for frame in frames]
    try:
        types = {field.name: field.dataType for field in reduce(DataFrame.union, plain).schema.fields}
    except AnalysisException as failure:
        raise translate_failure(failure) from failure
    return [frame.select(*(_typed(frame, name, types.get(name)) for name in frame.columns)) for frame in frames]


def _typed(frame: DataFrame, name: str, kind: DataType | None) -> Column:
    column = frame[f"`{name}`"]
    return column if kind in (None, frame.schema[name].dataType) else column.cast(kind).alias(name)


def frame_identity(relation: Registered) -> str:
    """Return a hash that tells the frame of a relation from frames of another plan, the same in every session."""
    plan = relation.frame._jdf.queryExecution().analyzed().toString()
    return hashlib.sha256(_PASSING.sub("", plan).encode()).hexdigest()
