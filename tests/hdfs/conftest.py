"""An HDFS for the tests of this folder; without one they are skipped, unless CEPSQL_TEST_SERVERS is "required"."""

import sys
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

from hdfs import running_hdfs
from skipping import or_skipped

from cepsql.spark.checkpoint_path import checkpoint_path


@pytest.fixture(scope="session")
def hdfs():
    """The URL of an HDFS."""
    with or_skipped(running_hdfs) as url:
        yield url


@pytest.fixture
def folder(hdfs, spark):
    """A folder there, which is not made yet."""
    return checkpoint_path(f"{hdfs}/{uuid.uuid4().hex}", lambda: spark)
