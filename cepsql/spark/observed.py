"""What Spark observed while a bounded DataFrame was computed."""

from pyspark.sql import DataFrame

from cepsql.spark.spark_plan import jvm


def observed_sum(frame: DataFrame, metric: str) -> int:
    """Return the sum of a metric over all observations of the last action on `frame`; 0 where nothing was observed."""
    if not hasattr(frame, "_jdf"):
        return 0
    spark = frame.sparkSession
    java = jvm(spark).scala.jdk.javaapi.CollectionConverters.asJava
    rows = [entry.getValue() for entry in java(frame._jdf.queryExecution().observedMetrics()).entrySet()]
    fields = [(row, list(row.schema().fieldNames())) for row in rows]
    return sum(row.get(names.index(metric)) for row, names in fields if metric in names)
