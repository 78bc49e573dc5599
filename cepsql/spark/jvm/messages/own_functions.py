"""The functions that cepsql adds to Spark SQL."""

import weakref

from pyspark.sql import SparkSession

OWN_FUNCTIONS = {
    "clock_corrected": (
        "(event_ts TIMESTAMP, sent_ts TIMESTAMP, received_ts TIMESTAMP)",
        "event_ts + (received_ts - sent_ts)",
        "clock_corrected(event_ts, sent_ts, received_ts) - Returns event_ts, which a clock of unknown offset showed, "
        "by the clock that showed received_ts: sent_ts is what the first clock showed when the row was sent",
    ),
    "proctime": (
        "()",
        "current_timestamp()",
        "proctime() - Returns the time at which the rows are processed, the same for all rows of a micro-batch",
    ),
}
"""Arguments, body and meaning of each, by name. Spark puts the body in place of the call, and records the time of a
micro-batch in the checkpoint."""


def add_own_functions(spark: SparkSession) -> None:
    """Let the SQL of a session call our functions; one of its own with such a name stays."""
    if spark in _ADDED:
        return
    for name, (arguments, body, _) in OWN_FUNCTIONS.items():
        if not spark.catalog.functionExists(name):
            spark.sql(f"CREATE TEMPORARY FUNCTION {name}{arguments} RETURNS TIMESTAMP RETURN {body}")
    _ADDED.add(spark)


_ADDED: "weakref.WeakSet[SparkSession]" = weakref.WeakSet()
