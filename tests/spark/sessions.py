"""Further sessions beside the one that all tests share."""

from pyspark.sql import SparkSession

COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""How Spark makes code of plans by default."""


def in_mode(spark: SparkSession, ansi: bool) -> SparkSession:
    """Return a new session in ANSI mode, or without it, with the time zone and the code generation of another."""
    session = spark.newSession()
    for key in ("spark.sql.session.timeZone", *COMPILED):
        session.conf.set(key, spark.conf.get(key))
    session.conf.set("spark.sql.ansi.enabled", ansi)
    return session
