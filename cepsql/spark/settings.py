"""Spark settings that our stages want, lent to a session while a query is started or run."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

STAGE_SETTINGS = {
    # Packing works column-wise and likes few large batches.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Any lower limit makes Spark add up the size of the batch anew for every row: a third of the time of a scan.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}


@contextmanager
def stage_settings(spark: SparkSession) -> Iterator[None]:
    """Apply STAGE_SETTINGS that the user has not set; a streaming query keeps what it was started with."""
    given = spark.conf.getAll
    lent = {key: value for key, value in STAGE_SETTINGS.items() if key not in given}
    try:
        for key, value in lent.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key in lent:
            spark.conf.unset(key)
