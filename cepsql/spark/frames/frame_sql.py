"""Spark SQL over DataFrames that have names only within it."""

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from cepsql.spark.jvm.bloom_functions import add_bloom_functions
from cepsql.spark.jvm.classic import has_java


def frame_sql(spark: SparkSession, text: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return what a statement gives that names these DataFrames as tables; no name of a table, column or text is alike.

    Raises what Spark raises.
    """
    if not has_java(spark):
        # Spark Connect looks names up when rows are asked for, and then a view of the session must still be there.
        return spark.sql(_template(text, frames), None, **frames)
    add_bloom_functions(spark, text)
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    try:
        return spark.sql(text)
    finally:
        for name in frames:
            spark.catalog.dropTempView(name)


def _template(text: str, frames: Mapping[str, DataFrame]) -> str:
    """Return the statement with places for the DataFrames, as `SparkSession.sql` takes it."""
    text = text.replace("{", "{{").replace("}", "}}")
    for name in frames:
        text = re.sub(rf"`{name}`|\b{name}\b", f"{{{name}}}", text)
    return text
