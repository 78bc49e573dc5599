"""What Delta Lake has recorded in the log of a table.

Relies on: `DeltaLog.forTable(session, path).update(...)` is the newest snapshot, and its `transactions` has the last
version of each application.
"""

from pyspark.sql import SparkSession

from cepsql.spark.jvm.spark_plan import jvm


def last_transaction(spark: SparkSession, path: str, application: str) -> int:
    """Return the last number that Delta Lake knows of an application at a table, -1 if it knows none."""
    java = jvm(spark)
    none = java.scala.Option.empty()
    log = java.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    version = log.update(False, none, none).transactions().get(application)
    return version.get() if version.isDefined() else -1
