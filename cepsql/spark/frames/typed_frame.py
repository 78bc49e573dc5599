"""A frame without rows whose columns are known before Spark is asked: its analysis takes longer than all else."""

from collections.abc import Iterable
from typing import Any, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from cepsql.base.cached_property import cached_property
from cepsql.spark.jvm.empty_frames import empty_frame


class TypedFrame:
    """Stands for a DataFrame of these columns without rows; Spark makes it when more than they are asked for."""

    isStreaming = False

    def __init__(self, spark: SparkSession, schema: StructType):
        self.sparkSession, self.schema = spark, schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.schema.names

    @cached_property
    def _made(self) -> DataFrame:
        return empty_frame(self.sparkSession, self.schema)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)

    def __getitem__(self, name: str) -> Column:
        return self._made[name]


def typed_frame(spark: SparkSession, fields: Iterable[StructField]) -> DataFrame:
    """Return a frame without rows that has these columns."""
    return cast(DataFrame, TypedFrame(spark, StructType(list(fields))))
