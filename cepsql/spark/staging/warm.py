"""Python workers that have imported what a stage needs before the first query comes to them."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession


def warm(spark: SparkSession) -> None:
    """Run a small job through Python workers, which stay and have imported what a stage needs."""
    parts = spark.range(2, numPartitions=2)
    parts.mapInArrow(_imported, "id BIGINT").toArrow()


def _imported(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pandas  # noqa: F401

    import cepsql.spark.staging.spark_stage  # noqa: F401

    yield from batches
