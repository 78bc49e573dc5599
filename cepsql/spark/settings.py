"""Spark settings that our stages want, lent to a session while a query is started or run."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

STAGE_SETTINGS = {
    # Packing works column-wise and likes few large batches.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Any lower limit makes Spark add up the size of the batch anew for every row: a third of the time of a scan.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}


CHAIN_SETTINGS = {"spark.sql.streaming.unsupportedOperationCheck": "false"}
"""What a query with several of our stages needs: Spark's check knows no operator of its kind that can stand twice."""


@contextmanager
def stage_settings(spark: SparkSession, frame: DataFrame | None = None) -> Iterator[None]:
    """Apply STAGE_SETTINGS that the user has not set; a streaming query keeps what it was started with.

    frame: what is to be started; CHAIN_SETTINGS are applied if it needs them.
    """
    given = spark.conf.getAll
    wanted = STAGE_SETTINGS | (CHAIN_SETTINGS if frame is not None and is_chain(frame) else {})
    lent = {key: value for key, value in wanted.items() if key not in given}
    try:
        for key, value in lent.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key in lent:
            spark.conf.unset(key)


def is_chain(frame: DataFrame) -> bool:
    """Tell whether a streaming frame has more than one of our stages."""
    if not hasattr(frame, "_jdf"):
        return False
    plan = frame._jdf.queryExecution().analyzed().toString()
    return plan.count("FlatMapGroupsInPandasWithState") > 1
