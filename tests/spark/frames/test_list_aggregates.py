"""Aggregates in MEASURES against Spark's own GROUP BY over the same rows."""

import pytest
from chance import everyday

from cepsql import connect
from cepsql.errors import ProgrammingError
from cepsql.language.spark_aggregates import SPARK_AGGREGATES
from cepsql.testing import play

ROWS = """
CREATE VIEW readings AS SELECT *, CAST(s AS BINARY) AS bytes FROM VALUES
  ('p', 1, 3, 1.5D, 'a', true), ('p', 2, NULL, 2.5D, 'b', NULL), ('p', 3, 1, NULL, NULL, false),
  ('p', 4, 3, 0.5D, 'd', true), ('p', 5, 7, double('NaN'), 'd', true), ('q', 1, NULL, NULL, NULL, NULL),
  ('r', 1, 2, -0.0D, '', false), ('r', 2, 2, 0.0D, 'ä', false) AS t (k, n, x, y, s, b)
"""
# Sketches are compared by what they tell, since their bytes may hold random seeds.
CALLS = """
any(b) | every(b) | bit_xor(x) | any_value(x) IGNORE NULLS | first_value(s) | last_value(s, true) | mode(x)
mode() WITHIN GROUP (ORDER BY x) | approx_count_distinct(s, 0.01) | approx_percentile(x, array(0.5, 0.4), 100)
percentile(x, array(0.25, 0.75)) | median(y) | percentile_disc(0.5) WITHIN GROUP (ORDER BY y DESC)
percentile_cont(0.3) WITHIN GROUP (ORDER BY x * 2) FILTER (WHERE y > 1) | approx_top_k(x, 1) | histogram_numeric(x, 3)
array_agg(s) | collect_list(struct(x, s)) | array_sort(collect_set(x)) | corr(x, y) | covar_samp(x, y) | kurtosis(x)
stddev(x) | var_pop(y) | regr_count(x, y) | regr_slope(x, n) | listagg(s)
string_agg(s, '-') WITHIN GROUP (ORDER BY n DESC) | max_by(s, n) | min_by(s, n) FILTER (WHERE x > 1) | max_by(s, n, 2)
try_sum(x) | try_avg(x) | count_min_sketch(x, 0.5d, 0.5d, 1) | hll_sketch_estimate(hll_sketch_agg(x, 12))
tuple_sketch_estimate_double(tuple_sketch_agg_double(n, y)) | hex(bitmap_or_agg(bytes)) | count(x, y)
count(DISTINCT x, s) | listagg(DISTINCT s, ',') WITHIN GROUP (ORDER BY s DESC) | sum(DISTINCT x) FILTER (WHERE b)
count(*) FILTER (WHERE b) | avg(y) FILTER (WHERE x > 1) | count_if(b) FILTER (WHERE x > 1) | max(struct(x, s))
sum(s) | array_agg(1) | collect_list(x) RESPECT NULLS | collect_list(DISTINCT x) FILTER (WHERE b)
approx_top_k(s) FILTER (WHERE x > 99) | count(DISTINCT array(x, NULL)) | count(DISTINCT struct(y, s))
count(DISTINCT struct(y + 0)) FILTER (WHERE n > 1) | try_avg(y) FILTER (WHERE x > 1)
try_avg(CAST(x / 7 AS DECIMAL(10,2))) | try_avg(DISTINCT x)
"""


def calls() -> list[str]:
    return [call.strip() for line in CALLS.strip().splitlines() for call in line.split("|")]


def test_equal_to_group_by(spark):
    engine = connect(spark)
    engine.sql(ROWS)
    shown = ", ".join(f"{call} AS m{i}" for i, call in enumerate(calls()))
    query = engine.sql(
        f"SELECT * FROM readings MATCH_RECOGNIZE (PARTITION BY k ORDER BY n MEASURES {shown} PATTERN (A+)) ORDER BY k"
    ).df
    columns = dict(zip(calls(), zip(*[row[1:] for row in query.collect()], strict=True), strict=True))
    types = dict(zip(calls(), [field.dataType.simpleString() for field in query.schema][1:], strict=True))
    # One partition, so that collect_list and the like see the rows in order.
    engine.sql("SELECT * FROM readings").df.coalesce(1).createOrReplaceTempView("readings_in_order")
    # Spark 4.3 fails on a query that mixes DISTINCT with WITHIN GROUP.
    distinct = [call for call in calls() if "DISTINCT" in call]
    for group in [[call for call in calls() if call not in distinct], *([call] for call in everyday(distinct, 6))]:
        expected = spark.sql(f"SELECT k, {', '.join(group)} FROM readings_in_order GROUP BY k ORDER BY k")
        rows = expected.collect()
        for i, call in enumerate(group, 1):
            assert repr(columns[call]) == repr(tuple(row[i] for row in rows)), call
            assert types[call] == expected.schema[i].dataType.simpleString(), call


def test_no_rows_of_a_variable_and_unmatched_rows(spark):
    engine = connect(spark)
    engine.sql(ROWS)
    rows = engine.sql("""
        SELECT k, l, c, d, e FROM readings MATCH_RECOGNIZE (PARTITION BY k ORDER BY n
          MEASURES collect_list(struct(B.x)) AS l, count(B.x, B.s) AS c, approx_top_k(B.s) AS d,
            coalesce(any_value(B.x), -1) AS e
          ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B?) DEFINE A AS x > 2, B AS FALSE) ORDER BY k, n
    """).collect()
    assert [tuple(row)[1:] for row in rows] == [
        ([], 0, [], -1), (None, None, None, None), (None, None, None, None), ([], 0, [], -1), ([], 0, [], -1),
        (None, None, None, None), (None, None, None, None), (None, None, None, None),
    ]  # fmt: skip


def test_streams_are_still_checked(spark):
    sql = """
        CREATE STREAM s (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv;
        SELECT p FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES median(A.x) AS p PATTERN (A B)) AS m
        UNION ALL SELECT 1.0
    """
    with pytest.raises(ProgrammingError, match="Union between streaming and batch"):
        play(sql, [[("p", "2026-01-01 00:00:01", 1)]], spark=spark)
    assert spark.conf.get("spark.sql.streaming.unsupportedOperationCheck") == "true"


def test_all_aggregates_of_spark_are_known(spark):
    registry, identifier = spark._jsparkSession.sessionState().catalog(), spark._jvm.org.apache.spark.sql.catalyst
    names = {row[0].upper() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect() if row[0].isidentifier()}
    kinds = {
        name: registry.lookupFunctionInfo(identifier.FunctionIdentifier(name.lower())).getGroup() for name in names
    }
    plain = {
        "AVG",
        "COUNT",
        "COUNT_IF",
        "FIRST",
        "GROUPING",
        "GROUPING_ID",
        "LAST",
        "MAX",
        "MEAN",
        "MEASURE",
        "MIN",
        "SUM",
    }
    assert {name for name, kind in kinds.items() if kind == "agg_funcs"} - plain - SPARK_AGGREGATES == set()
