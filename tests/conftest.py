"""What the tests share: one small Spark session, --update for tests that read their expectations from files, and seeds.

Everyday runs draw the same random examples, so that a failure is one of the change at hand. `--nightly` draws new ones.
Either way the seed is said at the end, and `--hypothesis-seed` repeats it.
"""

import secrets

import pytest
from hypothesis import core

EVERYDAY_SEED = 1


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="rewrite the expectations in data files with what comes out")
    parser.addoption("--nightly", action="store_true", help="draw random examples that no run has drawn before")


def pytest_configure(config):
    # Hypothesis' own option sets the same, as a text.
    if core.global_force_seed is None:
        core.global_force_seed = secrets.randbits(32) if config.getoption("--nightly") else EVERYDAY_SEED


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"random examples: --hypothesis-seed={core.global_force_seed}")


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
