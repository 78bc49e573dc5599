"""Python workers that have imported what a stage needs before the first query comes to them."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_WARMED: "weakref.WeakSet[SparkContext]" = weakref.WeakSet()


def warm(spark: SparkSession, workers: int = 2) -> None:
    """Run a small job through Python workers, which stay and have imported what a stage needs."""
    parts = spark.range(workers, numPartitions=workers).mapInArrow(_imported, "id BIGINT")
    # No rows come back: Python may end while it runs, and a thread of Arrow's would then break it off.
    parts.write.format("noop").mode("overwrite").save()


def warm_beside(spark: SparkSession) -> None:
    """Begin to start Python for the workers, which takes seconds, while the caller goes on; once for each Spark."""
    if spark.sparkContext in _WARMED:
        return
    _WARMED.add(spark.sparkContext)
    threading.Thread(target=_warm_first, args=(spark,), name="cepsql-warm", daemon=True).start()


def _warm_first(spark: SparkSession) -> None:
    # Spark may be stopped meanwhile; a query that needs Python says what is wrong with it.
    with suppress(PySparkException, Py4JError, OSError):
        # Spark forks all workers from the process that it starts for the first one.
        warm(spark, 1)


def _imported(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pandas  # noqa: F401

    import cepsql.spark.staging.spark_stage  # noqa: F401

    yield from batches
