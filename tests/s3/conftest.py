"""An S3 for the tests of this folder; without one they are skipped, unless CEPSQL_TEST_SERVERS is "required"."""

import sys
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

from s3 import BUCKET, running_s3, settings
from skipping import or_skipped

from cepsql.spark.checkpoint_path import checkpoint_path


@pytest.fixture(scope="session")
def conf():
    """The settings of Spark with which a session reaches an S3."""
    with or_skipped(running_s3) as url:
        yield settings(url)


@pytest.fixture(scope="session")
def s3(conf, spark):
    """The URL of a bucket, which the session reaches, too: it runs already, so that it is told in other ways."""
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in conf["spark.jars"].split(","):
        loader.addURL(spark._jvm.java.net.URI(Path(jar).as_uri()).toURL())
    for key, value in conf.items():
        if key.startswith("spark.hadoop."):
            spark.conf.set(key.removeprefix("spark.hadoop."), value)
    return f"s3a://{BUCKET}"


@pytest.fixture
def folder(s3, spark):
    """A folder there, which is not made yet."""
    return checkpoint_path(f"{s3}/{uuid.uuid4().hex}", lambda: spark)
