"""An HDFS and an S3 for the tests of this folder, which run on S3, by night on both, unless a parameter or fixture
`store` names one.

Without the server they are skipped, unless CEPSQL_TEST_SERVERS is "required".
"""

import sys
import uuid
from pathlib import Path

import pytest
from chance import everyday

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

from hdfs import running_hdfs
from s3 import BUCKET, running_s3, settings
from skipping import or_skipped

from cepsql.spark.checkpoint.checkpoint_path import checkpoint_path


@pytest.fixture(scope="session")
def hdfs():
    """The URL of an HDFS."""
    with or_skipped(running_hdfs) as url:
        yield url


@pytest.fixture(scope="session")
def s3_conf():
    """The settings of Spark with which a session reaches an S3."""
    with or_skipped(running_s3) as url:
        yield settings(url)


@pytest.fixture(scope="session")
def s3(s3_conf, spark):
    """The URL of a bucket, which the session reaches, too: it runs already, so that it is told in other ways."""
    # Not that of the thread, which is another one after ADD JAR.
    loader = spark._jsc.hadoopConfiguration().getClassLoader()
    for jar in s3_conf["spark.jars"].split(","):
        loader.addURL(spark._jvm.java.net.URI(Path(jar).as_uri()).toURL())
    for key, value in s3_conf.items():
        if key.startswith("spark.hadoop."):
            spark.conf.set(key.removeprefix("spark.hadoop."), value)
    return f"s3a://{BUCKET}"


@pytest.fixture(params=everyday(["s3", "hdfs"]))
def store(request):
    """What the test runs on."""
    return request.param


@pytest.fixture
def conf(store, request):
    """The settings of Spark with which another session reaches it."""
    return request.getfixturevalue("s3_conf") if store == "s3" else {}


@pytest.fixture
def folder(store, request, spark):
    """A folder there, which is not made yet."""
    return checkpoint_path(f"{request.getfixturevalue(store)}/{uuid.uuid4().hex}", lambda: spark)
