"""Spark settings that our stages want, lent to a session while a query is started or run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

STAGE_SETTINGS = {
    # Packing works column-wise and likes few large batches.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Any lower limit makes Spark add up the size of the batch anew for every row: a third of the time of a scan.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}


UNCHECKED_SETTINGS = {"spark.sql.streaming.unsupportedOperationCheck": "false"}
"""What starts a streaming query that has operators which Spark would refuse but which are right as they are used."""


MEANING_SETTINGS = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
)
"""Settings of Spark's with which the same text means something else."""


def meaning_settings(spark: SparkSession) -> dict[str, str]:
    """Return what a session says of MEANING_SETTINGS."""
    return {key: setting(spark, key) for key in MEANING_SETTINGS}


def setting(spark: SparkSession, key: str) -> str:
    """Return what a session says of a setting of Spark's that has a default."""
    value = spark.conf.get(key)
    assert value is not None
    return value


@contextmanager
def stage_settings(spark: SparkSession, unchecked: bool = False) -> Iterator[None]:
    """Apply STAGE_SETTINGS that the user has not set; a streaming query keeps what it was started with.

    unchecked: UNCHECKED_SETTINGS too, whatever is set.
    """
    given = spark.conf.getAll
    lent = {key: value for key, value in STAGE_SETTINGS.items() if key not in given}
    with lent_settings(spark, lent | UNCHECKED_SETTINGS if unchecked else lent):
        yield


@contextmanager
def lent_settings(spark: SparkSession, lent: Mapping[str, str]) -> Iterator[None]:
    """Apply settings to a session, and set back what it said before."""
    given = spark.conf.getAll
    before = {key: given[key] for key in lent if key in given}
    try:
        for key, value in lent.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key in lent:
            if key in before:
                spark.conf.set(key, before[key])
            else:
                spark.conf.unset(key)


def is_chain(frame: DataFrame) -> bool:
    """Tell whether a streaming frame has more than one of our stages."""
    if not hasattr(frame, "_jdf"):
        return False
    plan = frame._jdf.queryExecution().analyzed().toString()
    return plan.count("FlatMapGroupsInPandasWithState") > 1
