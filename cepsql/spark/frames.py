"""What a DataFrame that a program made tells of itself."""

import hashlib
import re

from pyspark.sql import DataFrame

from cepsql.catalog import ColumnDefinition, Registered, Watermark

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


def frame_identity(relation: Registered) -> str:
    """Return a hash that tells the frame of a relation from frames of another plan, the same in every session."""
    plan = relation.frame._jdf.queryExecution().analyzed().toString()
    return hashlib.sha256(_PASSING.sub("", plan).encode()).hexdigest()
