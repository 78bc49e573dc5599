"""What a DataFrame that a program made tells of itself."""

from pyspark.sql import DataFrame

from cepsql.catalog import ColumnDefinition, Watermark


def frame_watermark(frame: DataFrame) -> Watermark | None:
    """Return what withWatermark said of a streaming frame: Spark marks the column so."""
    for field in frame.schema.fields if frame.isStreaming else ():
        if "spark.watermarkDelayMs" in field.metadata:
            return Watermark(field.name, int(field.metadata["spark.watermarkDelayMs"]) * 1000)
    return None


def frame_columns(frame: DataFrame) -> tuple[ColumnDefinition, ...]:
    """Return the columns of a frame with their Spark types."""
    return tuple(ColumnDefinition(field.name, field.dataType.simpleString()) for field in frame.schema.fields)
