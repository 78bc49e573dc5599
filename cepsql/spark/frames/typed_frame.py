"""A frame whose columns are known before Spark is asked: its analysis takes longer than all else."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from cepsql.base.cached_property import cached_property
from cepsql.spark.jvm.empty_frames import empty_frame


class TypedFrame:
    """Stands for a DataFrame of these columns, which Spark makes when more than they are asked for.

    make: makes it, of rows of a stream; None: it has no rows.
    """

    def __init__(self, spark: SparkSession, schema: StructType, make: Callable[[], DataFrame] | None = None):
        self.sparkSession, self.schema, self._make = spark, schema, make
        self.isStreaming = make is not None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.schema.names

    def toDF(self, *names: str) -> DataFrame:
        """Return the frame with these names of its columns."""
        fields = (StructField(name, field.dataType) for name, field in zip(names, self.schema.fields, strict=True))
        return typed_frame(self.sparkSession, fields, None if self._make is None else lambda: self.made.toDF(*names))

    @cached_property
    def made(self) -> DataFrame:
        """The frame."""
        return empty_frame(self.sparkSession, self.schema) if self._make is None else self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)

    def __getitem__(self, name: str) -> Column:
        return self.made[name]


def typed_frame(
    spark: SparkSession, fields: Iterable[StructField], make: Callable[[], DataFrame] | None = None
) -> DataFrame:
    """Return a frame that has these columns; `make` as in `TypedFrame`."""
    return cast(DataFrame, TypedFrame(spark, StructType(list(fields)), make))


def made(frame: DataFrame) -> DataFrame:
    """Return a frame that Spark has made."""
    return frame.made if isinstance(frame, TypedFrame) else frame
