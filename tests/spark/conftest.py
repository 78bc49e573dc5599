"""What stands next to Spark is tested with plans compiled as users have them."""

import pytest
from sessions import COMPILED

from cepsql.spark.jvm.lent_settings import lent_settings


@pytest.fixture(scope="package", autouse=True)
def compiled(spark):
    with lent_settings(spark, COMPILED):
        yield
