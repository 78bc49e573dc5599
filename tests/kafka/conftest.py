"""A broker for the tests of this folder; without one they are skipped, unless CEPSQL_TEST_SERVERS is "required"."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

from kafka_broker import running_broker
from kafka_topics import Topics
from skipping import or_skipped


@pytest.fixture(scope="session")
def broker():
    """The address of a broker."""
    pytest.importorskip("confluent_kafka")
    with or_skipped(running_broker) as address:
        yield address


@pytest.fixture
def topics(broker):
    """Make topics and fill them: see `Topics`."""
    return Topics(broker)
