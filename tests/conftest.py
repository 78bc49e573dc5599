"""What the tests share: a small Spark session, --update for tests that read their expectations from files, and seeds.

The whole suite runs in one process more than there are cores, for some tests wait for servers and other processes; each
has a Spark session of its own. What names files or tests, or rewrites expectations, runs in one.

Everyday runs draw the same random examples, so that a failure is one of the change at hand. `--nightly` draws new ones,
more of them, and runs the tests that are marked `nightly`, too. Either way the seed is said at the end, and
`--hypothesis-seed` repeats it (see `chance.py`).
"""

import os
import secrets

import chance
import pytest
from features import FEATURES, features
from hypothesis import core
from quick_java import SUBMIT_OPTIONS

# Commands that tests run must not leave a process behind.
os.environ["CEPSQL_PREPARE"] = "false"
os.environ["SPARK_SUBMIT_OPTS"] = SUBMIT_OPTIONS

MOST_PROCESSES = 4
ONE_PROCESS = ("file_or_dir", "keyword", "markexpr", "lf", "failedfirst", "stepwise", "collectonly", "update")
"""Options with which few tests run, or files are written."""


NIGHT_SECONDS = 3 * 3600
"""How long a test may take that is marked nightly, or tries thirty times as many examples."""


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="rewrite the expectations in data files with what comes out")
    parser.addoption("--nightly", action="store_true", help="draw random examples that no run has drawn before")


def pytest_xdist_auto_num_workers(config):
    if any(config.getoption(name, None) for name in ONE_PROCESS):
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 0 if cores == 1 else min(cores + 1, MOST_PROCESSES)


def pytest_configure(config):
    config.addinivalue_line("markers", "nightly(why): runs with --nightly, with --update, and where tests are named")
    for feature in FEATURES:
        config.addinivalue_line("markers", f"{feature}: tests whose file or name says so")
    if config.option.hypothesis_seed is None:
        nightly = config.getoption("--nightly")
        drawn = str(secrets.randbits(32) if nightly else chance.EVERYDAY_SEED)
        config.option.hypothesis_seed = getattr(config, "workerinput", {}).get("seed", drawn)
    core.global_force_seed = int(config.option.hypothesis_seed)
    chance.begin(core.global_force_seed, config.getoption("--nightly"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        for feature in features(item.nodeid):
            item.add_marker(feature)
        long = config.getoption("--nightly") or item.get_closest_marker("nightly")
        if long and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(NIGHT_SECONDS))
    named = config.option.keyword or any("::" in argument for argument in config.args)
    if named or config.getoption("--nightly") or config.getoption("--update"):
        return
    for item in items:
        if (mark := item.get_closest_marker("nightly")) is not None:
            item.add_marker(pytest.mark.skip(f"{mark.args[0]}: pytest --nightly"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Let all processes draw the same."""
    node.workerinput["seed"] = node.config.option.hypothesis_seed


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"random examples: --hypothesis-seed={core.global_force_seed}")


@pytest.fixture(scope="session")
def update(request) -> bool:
    return request.config.getoption("--update")


@pytest.fixture(scope="session")
def spark():
    from cepsql.spark.jvm.launching.session import session

    shared_session = session(
        master="local[2]",
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "America/New_York",
            # Queries that wait while something else is tested should not keep a core busy.
            "spark.sql.streaming.pollingDelay": "40ms",
        },
    )
    yield shared_session
    shared_session.stop()
