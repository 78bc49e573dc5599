"""What stands next to Spark is tested with plans compiled as users have them."""

import pytest


@pytest.fixture(scope="package", autouse=True)
def compiled(spark):
    key = "spark.sql.codegen.wholeStage"
    spark.conf.set(key, "true")
    yield
    spark.conf.set(key, "false")
