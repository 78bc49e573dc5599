"""The fixtures that cepsql gives to the tests of its users."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

import cepsql.pytest_plugin
from cepsql.errors import ProgrammingError

pytest_plugins = ["cepsql.pytest_plugin"]

STREAM = "CREATE STREAM s (at TIMESTAMP, x INT, WATERMARK FOR at AS at) USING csv OPTIONS (path 'in')"


@pytest.fixture(scope="session")
def cepsql_conf(spark):
    """Let the session of this suite run first, and be the active one, which is then shared."""
    # A test before may have left another one active.
    spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
    SparkSession._activeSession = spark
    return {}


def test_pytest_finds_them():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    (module,) = project["entry-points"]["pytest11"].values()
    assert import_module(module) is cepsql.pytest_plugin


def test_all_share_one_session(cepsql_spark, cepsql_engine, spark):
    assert cepsql_spark is cepsql_engine.spark is spark


@pytest.mark.parametrize("run", [1, 2])
def test_each_test_has_an_empty_catalog(run, cepsql_engine):
    with pytest.raises(ProgrammingError):
        cepsql_engine.sql("DESCRIBE s")
    cepsql_engine.sql(STREAM)


def test_play_needs_no_session(cepsql_play):
    played = cepsql_play(f"{STREAM}; SELECT x FROM s WHERE x > 1", [[("2026-01-01 00:00:00", 2)]])
    assert [row for rows in played for row in rows] == [Row(x=2)]
