"""The functions that sqlglot may read are those of Spark."""

import pytest

import cepsql
from cepsql.language.foreign.accepted_functions import FORMS
from cepsql.language.spark_functions import SHARED_FUNCTIONS, is_foreign_function

READ_BY_ITS_GRAMMAR = {"timestampadd", "timestampdiff", "try_cast", "unnest"}


def test_they_are_those_of_spark(spark):
    spark_functions = {row.function.lower() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert [name for name in sorted(spark_functions) if is_foreign_function(name)] == []
    if spark.version.startswith("4.3"):
        assert SHARED_FUNCTIONS - spark_functions == READ_BY_ITS_GRAMMAR


def test_no_form_of_a_function_of_sparks_is_read_as_another(spark):
    spark_functions = {row.function.lower() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    # Spark's have another number of arguments.
    others = {"MAX", "MIN", "SHA2", "ENCODE", "DECODE", "TO_NUMBER", "TRY_TO_NUMBER", "PERCENTILE_CONT"}
    assert {name for name, _ in FORMS.values()} & {name.upper() for name in spark_functions} == others


@pytest.mark.parametrize("measure", ["JSON_SIZE(LAST(B.id))", "1"])
def test_those_of_other_engines_are_none(spark, measure):
    condition = "JSON_SIZE(A.id) = 1" if measure == "1" else "true"
    clause = f"ORDER BY id MEASURES {measure} AS d PATTERN (A B) DEFINE B AS {condition}"
    with pytest.raises(cepsql.ProgrammingError, match="there is no function JSON_SIZE"):
        cepsql.connect(spark).sql(f"SELECT d FROM (SELECT id FROM range(3)) MATCH_RECOGNIZE ({clause})").collect()
