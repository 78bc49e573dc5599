"""The types of expressions over a frame are those that Spark gives them, whether or not it is asked."""

import pytest
from sqlglot import parse_one

import cepsql
from cepsql.spark.frames.operator_rows import typed_columns
from cepsql.spark.staging.join_rows import key_types

KINDS = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "STRING", "BINARY", "DATE",
    "TIMESTAMP", "TIMESTAMP_NTZ", "INTERVAL DAY TO SECOND", "INTERVAL HOUR", "INTERVAL YEAR TO MONTH",
]  # fmt: skip
EXPRESSIONS = [
    "a", "A", "`a`", "(`odd``name`)", "((b))", "`a.b`", "CAST((`a`) AS INT)", "CAST(a AS BIGINT)",
    "CAST(d AS DECIMAL(10,2))",
    "CAST(d AS DECIMAL(12, 2))", "a + 1", "null", "true", "(a) + (a)", "coalesce(b, 'x')", "CAST(a AS INT) IN (1, 2)",
]  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark):
    return spark.sql(
        "SELECT 1 AS a, 'x' AS b, 2 AS `odd``name`, 3L AS `a.b`, 1.50BD AS c, CAST(1 AS DECIMAL(10,2)) AS d"
    )


@pytest.mark.parametrize("sql", EXPRESSIONS)
def test_fields_are_those_of_spark(frame, sql):
    (field,) = typed_columns(frame, [(sql, "x")])
    (expected,) = frame.selectExpr(f"({sql}) AS x").schema.fields
    assert (field.name, field.dataType, field.nullable) == (expected.name, expected.dataType, expected.nullable)


def test_fields_keep_their_order(frame):
    fields = typed_columns(frame, [("a + 1L", "x"), ("b", "y"), ("c * 2", "z"), ("a", "w")])
    assert fields == frame.selectExpr("a + 1L AS x", "b AS y", "c * 2 AS z", "a AS w").schema.fields


def test_a_column_that_is_not_there_is_named(frame):
    with pytest.raises(Exception, match="`missing`"):
        typed_columns(frame, [("missing", "x")])


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_equal_types_are_compared_in_it(spark, kind):
    frame = spark.sql(f"SELECT CAST(NULL AS {kind}) AS k")
    pair = (parse_one("k", read="spark"), parse_one("k", read="spark"))
    compared_type = (
        frame.selectExpr("k = k")._jdf.queryExecution().analyzed().projectList().head().child().left().dataType()
    )
    assert key_types([pair], [frame, frame]) == [compared_type.sql()]


def test_times_are_known_without_spark(spark):
    parts = "(n, 1, 1, 0, 0, 0)"
    made = [
        "now()", "timestamp_seconds(n)", "timestamp_millis(n)", "timestamp_micros(n)", "to_timestamp_ltz(x)",
        "to_timestamp_ntz(x)", "try_to_timestamp(x)", f"make_timestamp{parts}", f"make_timestamp_ltz{parts}",
        f"make_timestamp_ntz{parts}", f"try_make_timestamp{parts}", f"try_make_timestamp_ltz{parts}",
        f"try_make_timestamp_ntz{parts}", "make_date(n, 1, 1)", "try_to_date(x)", "date_trunc('DAY', at)",
        "date_trunc('DAY', there)", "trunc(at, 'MONTH')", "to_utc_timestamp(at, 'CET')",
        "convert_timezone('CET', 'UTC', there)", "clock_corrected(at, at, at)", "nullif(at, timestamp_seconds(n))",
    ]  # fmt: skip
    columns = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(made))
    values = "(1, 'x', TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP_NTZ '2026-01-01 00:00:00') AS t (n, x, at, there)"
    query = cepsql.connect(spark, catalog="").query(f"SELECT {columns} FROM VALUES {values}")
    assert [(column.name, column.type) for column in query.plan.columns] == query.df.dtypes
