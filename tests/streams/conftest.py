"""Stream scripts are many short queries: compiling each as a whole costs more time than it saves."""

import pytest


@pytest.fixture(scope="package", autouse=True)
def interpreted(spark):
    key = "spark.sql.codegen.wholeStage"
    spark.conf.set(key, "false")
    yield
    spark.conf.unset(key)
