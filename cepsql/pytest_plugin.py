"""Fixtures for tests of queries, which pytest loads if cepsql is installed.

All tests of a run share one Spark session, because starting Spark is slow.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.engine import Engine
    from cepsql.testing import Played

_SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # A test waits for micro-batches of a few rows.
    "spark.sql.streaming.pollingDelay": "10ms",
}


@pytest.fixture(scope="session")
def cepsql_conf() -> dict[str, str]:
    """Further settings of the tests' Spark session; a conftest.py may override the fixture."""
    return {}


@pytest.fixture(scope="session")
def cepsql_spark(cepsql_conf: dict[str, str]) -> "Iterator[SparkSession]":
    """A Spark session with two cores, in UTC, for all tests of the run; an active session is reused."""
    from cepsql.spark.jvm.launching.session import active_session, session

    running = active_session()
    spark = running or session(master="local[2]", conf=_SMALL | cepsql_conf)
    yield spark
    if running is None:
        spark.stop()


@pytest.fixture
def cepsql_engine(cepsql_spark: "SparkSession") -> "Iterator[Engine]":
    """An engine on the shared session, with an empty catalog of its own."""
    from cepsql.engine import connect

    with connect(cepsql_spark, catalog="") as engine:
        yield engine


@pytest.fixture
def cepsql_play(cepsql_spark: "SparkSession") -> "Callable[..., Played]":
    """`cepsql.testing.play` on the shared session."""
    from cepsql.testing import play

    return partial(play, spark=cepsql_spark)
