"""Lets the tests of views import what they share, and gives them a PostgreSQL server."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from postgresql import running_postgresql
from skipping import or_skipped


@pytest.fixture(scope="session")
def postgresql():
    """A server; without PostgreSQL the tests are skipped, but where servers are required."""
    with or_skipped(running_postgresql) as server:
        yield server
