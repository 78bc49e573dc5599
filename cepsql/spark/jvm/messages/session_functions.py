"""Which functions a session has beside those of Spark."""

from collections.abc import Collection

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_SPARKS = "org.apache.spark.sql.catalyst.expressions."
"""Where the classes of Spark's own functions are."""


def user_functions(spark: SparkSession, names: Collection[str]) -> frozenset[str]:
    """Return those of the names for which programs or a catalog have given the session functions.

    Spark's own functions come before those of the same name.
    """
    return frozenset(name for name in names if _is_users(spark, name))


def _is_users(spark: SparkSession, name: str) -> bool:
    try:
        if not spark.catalog.functionExists(name):
            return False
        return not (spark.catalog.getFunction(name).className or "").startswith(_SPARKS)
    except (PySparkException, Py4JError):
        # A function that is broken, or a session that has ended.
        return False
