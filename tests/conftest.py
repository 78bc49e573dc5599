"""What the tests share: one small Spark session, and --update for tests that read their expectations from files."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="rewrite the expectations in data files with what comes out")


@pytest.fixture(scope="session")
def update(request) -> bool:
    return request.config.getoption("--update")


@pytest.fixture(scope="session")
def spark():
    from cepsql.spark.session import session

    found = session(
        master="local[2]",
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "America/New_York",
            # Tests are many short queries: compiling each as a whole (but see tests/spark), the JVM's second compiler
            # and its parallel collector only cost time.
            "spark.sql.codegen.wholeStage": "false",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        },
    )
    yield found
    found.stop()
