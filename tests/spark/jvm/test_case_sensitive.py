"""A session of the user's that tells capital from small letters; and what pyspark writes of cepsql's errors."""

import logging

import pytest
from pyspark.logger import PySparkLogger

import cepsql
from cepsql.errors import NotSupportedError
from cepsql.spark.jvm.launching.session import hush

PATTERN = "SELECT * FROM pairs MATCH_RECOGNIZE (PARTITION BY {} ORDER BY v MEASURES A.v AS v PATTERN (A))"


@pytest.fixture
def engine(spark):
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield cepsql.connect(spark)
    spark.conf.set("spark.sql.caseSensitive", "false")


def test_names_stay_as_they_are_in_plain_sql(engine):
    pairs = engine.spark.createDataFrame([("x", 1)], ["K", "k"])
    query = engine.query("SELECT * FROM pairs", pairs=pairs)
    assert query.columns == [("K", "string"), ("k", "bigint")]
    assert query.collect()[0].asDict() == {"K": "x", "k": 1}


def test_operators_refuse_names_that_they_would_mix_up(engine):
    pairs = engine.spark.createDataFrame([("x", 1, 2)], ["K", "k", "v"])
    with pytest.raises(NotSupportedError, match="they would not find K") as raised:
        engine.query(PATTERN.format("K"), pairs=pairs).collect()
    assert raised.value.hint == "SET spark.sql.caseSensitive = false"
    small = engine.query(PATTERN.format("k"), pairs=pairs.drop("K")).collect()
    assert [tuple(row) for row in small] == [(1, 2)]


@pytest.mark.parametrize(("caller", "written"), [("cepsql.query", False), ("shop", True)])
def test_pyspark_writes_no_error_of_what_cepsql_asks(caller, written):
    hush()
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    record = logging.LogRecord(logger.name, logging.ERROR, "captured.py", 1, "it failed", None, None)
    names = {"__name__": caller, "ask": lambda: logger.filter(record)}
    exec("answer = ask()", names)
    assert bool(names["answer"]) == written
