"""Whether Spark's Java is beside this process, which it is not over Spark Connect.

Relies on: sessions and DataFrames of `pyspark.sql.classic` have `_jsparkSession` and `_jdf`, others don't.
"""

from pyspark.sql import DataFrame, SparkSession


def has_java(spark: SparkSession) -> bool:
    """Tell whether a session is of a Spark whose Java is beside this process."""
    return hasattr(spark, "_jsparkSession")


def frame_has_java(frame: DataFrame) -> bool:
    """Tell whether a DataFrame is of such a session."""
    return hasattr(frame, "_jdf")
