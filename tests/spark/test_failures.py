"""Spark's exceptions become one clear line of cepsql's."""

import pytest

from cepsql import errors
from cepsql.errors import NotSupportedError
from cepsql.spark.failures import translate_failure


def refusal():
    """Return a function that Spark's workers get by value, for they cannot import this module."""

    def refuse(batches):
        for _ in batches:
            raise NotSupportedError("no such thing", hint="try another")
        yield

    return refuse


def division():
    def divide(batches):
        for batch in batches:
            yield batch.num_rows / 0

    return divide


CASES = [
    (lambda spark: spark.sql("SELECT x FROM range(3)"), "ProgrammingError", "name `x` cannot be resolved"),
    (lambda spark: spark.sql("SELECT 1 +"), "ProgrammingError", "Syntax error at or near end of input"),
    (lambda spark: spark.read.csv("/nowhere"), "OperationalError", "Path does not exist: file:/nowhere"),
    (lambda spark: spark.read.format("kafka").load(), "OperationalError", "Failed to find data source: kafka"),
    (lambda spark: spark.sql("SELECT raise_error('odd value')").collect(), "DataError", "odd value"),
    (lambda spark: spark.range(3).mapInArrow(refusal(), "id INT").collect(), "NotSupportedError", "no such thing"),
    (
        lambda spark: spark.range(3).mapInArrow(division(), "id INT").collect(),
        "InternalError",
        "Python code in Spark failed: ZeroDivisionError: division by zero",
    ),
]


@pytest.mark.parametrize(("action", "kind", "message"), CASES)
def test_failure_in_one_line(spark, action, kind, message):
    with pytest.raises(Exception) as caught:
        action(spark)
    error = translate_failure(caught.value)
    assert type(error) is getattr(errors, kind)
    assert message in error.message
    assert "\n" not in error.message
    assert "SQLSTATE" not in error.message
    assert "\tat " in error.detail


def test_an_error_of_ours_keeps_its_hint(spark):
    with pytest.raises(Exception) as caught:
        spark.range(3).mapInArrow(refusal(), "id INT").collect()
    assert translate_failure(caught.value).hint == "try another"
