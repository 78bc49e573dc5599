"""A broker for the tests of this folder; without one they are skipped, unless CEPSQL_TEST_SERVERS is "required"."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

from kafka_broker import Unavailable, running_broker
from kafka_topics import Topics


@pytest.fixture(scope="session")
def broker():
    """The address of a broker."""
    pytest.importorskip("confluent_kafka")
    try:
        with running_broker() as address:
            yield address
    except Unavailable as reason:
        if os.environ.get("CEPSQL_TEST_SERVERS") == "required":
            raise
        pytest.skip(str(reason))


@pytest.fixture
def topics(broker):
    """Make topics and fill them: see `Topics`."""
    return Topics(broker)
