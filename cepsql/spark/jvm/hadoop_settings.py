"""The settings of Hadoop in a session's Spark.

Relies on: `sparkContext._jsc.hadoopConfiguration()` is the one that readers and tasks copy.
"""

from typing import Any

from pyspark.sql import SparkSession


def hadoop_configuration(spark: SparkSession) -> Any:
    """Return Hadoop's Configuration of a session; raises AttributeError over Spark Connect, TypeError when stopped."""
    return spark.sparkContext._jsc.hadoopConfiguration()
