"""Columns without an alias have the names that Spark gives them, whoever computes them."""

import pytest

from cepsql.analysis.sql.spark_names import spark_name
from cepsql.language.tokens import DIALECT

ITEMS = (
    "count(*)",
    "Count(n)",
    "SUM(n)/2",
    "-sum(n)",
    "avg(n*2)+1",
    "count(distinct n)",
    "sum(distinct n)",
    "upper(k)",
    "'a'",
    "1.5",
    "null",
    "max(n) FILTER (WHERE n>0 AND k<>'b')",
    "sum(CASE WHEN n>1 THEN 1 END)",
    "sum(CASE WHEN n>1 THEN 1 ELSE 0 END)",
    "max(`n`)",
    "cast(sum(n) as string)",
    "n::double",
    "int(n)",
    "coalesce(sum(n),0)",
    "k || 'a'",
    "concat(k,'x')",
    "n IS NULL",
    "n IS NOT NULL",
    "n between 1 and 2",
    "n in (1,2)",
    "k like 'a%'",
    "not (n>1 and k='a')",
    "n>1 or n<0 or k='a'",
    "n <=> 1",
    "n != 1",
    "n % 2",
    "round(avg(n),2)",
    "approx_count_distinct(n)",
    "collect_list(n)",
    "max(ts)-min(ts)",
    "sum(if(n>1,1,0))",
    "count_if(n>1)",
    "any_value(n)",
    "first(n)",
    "last(n) ignore nulls",
    "min_by(n,ts)",
    "stddev(n)",
    "median(n)",
    "every(n>0)",
    "ln(n)",
    "pow(n,2)",
    "array(1,n)",
    "array(n)[0]",
    "size(collect_set(n))",
    "max(n) - 1 > 2 or false",
    "true",
    "hour(max(ts))",
    "date_format(max(ts), 'yyyy-MM-dd HH')",
    "to_date(k, 'yyyy-MM-dd')",
    "from_unixtime(n)",
    "unix_timestamp(max(ts))",
    r"coalesce(k, 'it\'s')",
    r"replace(k, 'a\\b', '1')",
    "n IN (1, 2) AND k NOT IN ('x')",
    "try_cast(k AS INT)",
)


@pytest.fixture(scope="module")
def rows(spark):
    frame = spark.sql("SELECT 'a' AS k, 1 AS n, TIMESTAMP '2026-01-01 00:00:00' AS ts")
    frame.createOrReplaceTempView("named_rows")
    yield "named_rows"
    spark.catalog.dropTempView("named_rows")


def test_names_are_those_of_spark(spark, rows):
    expected = {item: spark.sql(f"SELECT {item} FROM {rows} GROUP BY ALL").columns[0] for item in ITEMS}
    names = {item: spark_name(DIALECT.parse(f"SELECT {item}")[0].expressions[0]) for item in ITEMS}
    assert names == expected
