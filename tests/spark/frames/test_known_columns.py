"""The columns that plain SQL passes on have the types that Spark gives them, though it was not asked."""

import pytest
from pyspark.sql.types import StructType
from sqlglot import exp, parse_one

from cepsql.catalog import ColumnDefinition, Source
from cepsql.language.tokens import DIALECT
from cepsql.spark.frames.known_columns import declared_columns, passed_columns
from cepsql.spark.frames.typed_frame import typed_frame
from cepsql.spark.sources.arrow_scan import scan_session

ROWS = "a INT, `B c` STRING, d DECIMAL(12,2), e DATE, f TIMESTAMP, g DOUBLE, h BOOLEAN, i BIGINT"
PASSED = [
    "SELECT a, s.`b C` AS `x y`, D FROM rows AS s WHERE d > 1.5 AND `B c` LIKE 'x%'",
    "SELECT CAST(a AS BIGINT) AS a, CAST(1 AS TINYINT) AS __change, e FROM rows",
    "SELECT z AS y, CAST(i AS STRING) AS t FROM (SELECT d AS z, f, i FROM rows) AS q WHERE f > DATE '2026-01-01'",
    "SELECT CAST(a AS DOUBLE) AS g, CAST(i AS INT) AS e FROM rows",
    "SELECT a * d AS x, d * (1 - d) AS y, a + i AS z, g - a AS u, a + 1 AS v, d + 0.001 AS w FROM rows",
    "SELECT q.t, q.n AS m, q.a FROM (SELECT a, CAST(NULL AS STRING) AS t, CAST(0 AS TINYINT) AS n FROM rows) AS q",
]
ASKED = [
    "SELECT a / 2 AS a FROM rows",
    "SELECT d * d * d AS a FROM rows",
    "SELECT q.a FROM (SELECT a / 1 AS a FROM rows) AS q",
    "SELECT * FROM rows",
    "SELECT a, a FROM rows",
    "SELECT missing FROM rows",
    "SELECT a FROM rows WHERE soundex(`B c`) = 'x'",
    "SELECT COUNT(*) AS n FROM rows",
]


def _parsed(text: str) -> exp.Query:
    return parse_one(text, read=DIALECT, into=exp.Select)


def _types(fields) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in fields]


@pytest.mark.parametrize("text", PASSED)
def test_passed_columns_are_what_spark_finds(spark, text):
    fields = StructType.fromDDL(ROWS).fields
    typed_frame(spark, fields).createOrReplaceTempView("rows")
    columns = passed_columns(_parsed(text), fields, scan_session(spark))
    assert columns is not None and _types(columns) == _types(spark.sql(text).schema.fields)


@pytest.mark.parametrize("text", ASKED)
def test_of_what_is_computed_spark_is_asked(spark, text):
    assert passed_columns(_parsed(text), StructType.fromDDL(ROWS).fields, scan_session(spark)) is None


@pytest.mark.parametrize(
    ("kind", "expected"), [("DECIMAL", "decimal(10,0)"), ("VARCHAR(3)", None), ("MAP<INT, INT>", None)]
)
def test_the_declared_columns_of_a_source(spark, kind, expected):
    source = Source("s", (ColumnDefinition("x", kind),), "csv")
    columns = declared_columns(source)
    assert (None if columns is None else _types(columns)) == (None if expected is None else [("x", expected)])
