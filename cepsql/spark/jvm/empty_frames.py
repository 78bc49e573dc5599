"""Frames without rows, of which only the types of their columns matter.

Relies on: `parseDataType` and `createDataFrame` of a session of Java's; Python's own way to them takes a job's time.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cepsql.spark.jvm.classic import has_java
from cepsql.spark.jvm.spark_plan import jvm


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """Return a frame without rows that has these columns."""
    if not has_java(spark):
        return spark.createDataFrame([], schema)
    java = spark._jsparkSession
    return DataFrame(java.createDataFrame(jvm(spark).java.util.ArrayList(), java.parseDataType(schema.json())), spark)
