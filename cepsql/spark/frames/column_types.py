"""The columns of a DataFrame as Spark names their types."""

from functools import cache

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cepsql.catalog import ColumnDefinition


def column_types(frame: DataFrame) -> list[tuple[str, str]]:
    """Return the names of a frame's columns, each with its Spark type, such as `array<int>`."""
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]


@cache
def struct_of(ddl: str) -> StructType:
    """Return the type of the rows that DDL names, which Spark is asked for once: it costs an exchange with Java.

    It must not be changed.
    """
    struct = StructType.fromDDL(ddl)
    assert isinstance(struct, StructType)
    return struct


def frame_columns(frame: DataFrame) -> tuple[ColumnDefinition, ...]:
    """Return the columns of a frame as a catalog has them."""
    return tuple(ColumnDefinition(name, kind) for name, kind in column_types(frame))
