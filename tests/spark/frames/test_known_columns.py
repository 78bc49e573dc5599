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
    "SELECT a / 2 AS x, g / a AS y, i / i AS z FROM rows",
    "SELECT -1 * d AS x, d + 3000000000 AS y, CAST(i AS INT) * d AS z, -a * d AS u FROM rows",
    "SELECT d * d * d AS x, d * d * d * d AS y FROM rows",
    "SELECT q.b AS c FROM (SELECT a / 1 AS b FROM rows) AS q",
    "SELECT 1 AS a, 'x' AS b, 2.50 AS c, 3000000000 AS d, 1e0 AS e, DATE '2026-01-01' AS f, TRUE AS g FROM rows",
    "SELECT EXTRACT(YEAR FROM e) AS x, year(f) AS y, substring(`B c`, 1, 2) AS z, length(`B c`) AS w FROM rows",
    "SELECT CASE WHEN a > 1 THEN d ELSE 0 END AS x, CASE WHEN h THEN 1 ELSE 0 END AS y, coalesce(a, i) AS z FROM rows",
    "SELECT a > 1 AS x, `B c` || 'x' AS y, date_add(e, a) AS z, -d AS u, abs(g) AS w FROM rows",
    "SELECT if(h, d, a) AS x, greatest(d, i) AS y, i % 3 AS z, i DIV 2 AS u FROM rows",
    "SELECT q.t, q.n AS m, q.a FROM (SELECT a, CAST(NULL AS STRING) AS t, CAST(0 AS TINYINT) AS n FROM rows) AS q",
]
ASKED = [
    "SELECT d / 3 AS a FROM rows",
    "SELECT CAST(1 AS INT) * d AS a FROM rows",
    "SELECT 2.5 - CAST('1' AS SMALLINT) AS a FROM rows",
    "SELECT (-(-1)) * d AS a FROM rows",
    "SELECT q.n * q.d AS a FROM (SELECT 1 AS n, d FROM rows) AS q",
    "SELECT DATE '2026-01-01' - NULL AS a FROM rows",
    "SELECT nullif(a, i) AS a FROM rows",
    "SELECT round(d, 1) AS a FROM rows",
    "SELECT NULL AS a FROM rows",
    "SELECT array(a, a) AS a FROM rows",
    "SELECT f - f AS a FROM rows",
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
