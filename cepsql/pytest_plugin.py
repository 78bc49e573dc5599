"""Fixtures for tests of queries: pytest finds them by itself where cepsql is installed.

All tests of a run share one Spark session, for starting Spark is what takes time.
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
    """Settings of the Spark session of the tests, beside its own; a conftest.py may define the fixture again."""
    return {}


@pytest.fixture(scope="session")
def cepsql_spark(cepsql_conf: dict[str, str]) -> "Iterator[SparkSession]":
    """A Spark session of two cores, in UTC, for all tests of the run; the one that runs already, if there is one."""
    from cepsql.spark.jvm.launching.session import active_session, session

    running = active_session()
    found = running or session(master="local[2]", conf=_SMALL | cepsql_conf)
    yield found
    if running is None:
        found.stop()


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
