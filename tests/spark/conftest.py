"""What stands next to Spark is tested with plans compiled as users have them."""

import pytest
from sessions import COMPILED


@pytest.fixture(scope="package", autouse=True)
def compiled(spark):
    before = {key: spark.conf.get(key) for key in COMPILED}
    for key, value in COMPILED.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)
