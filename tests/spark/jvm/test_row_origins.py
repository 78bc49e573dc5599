"""Java tells of the origin of rows where it changes, in each task by itself, and numbers rows."""

from pyspark.sql import functions as F

from cepsql.spark.jvm.row_origins import origin_marks, row_numbers

NAME = "CASE WHEN id % 6 < 3 THEN 'a\\nb' WHEN id % 6 < 5 THEN 'c' END"


def test_origins_are_told_where_they_change(spark):
    rows = spark.range(0, 12, 1, 2).selectExpr("id", "7L AS rank", "id DIV 2 * 0 AS part", f"{NAME} AS name")
    marks = origin_marks(spark, "rank", "part", "name")
    assert marks is not None
    origins = [row["m"] for row in rows.select("id", marks.alias("m")).collect()]
    assert origins == ["7\n0\na\nb", None, None, "7\n0\nc", None, ""] * 2


def test_rows_are_numbered_in_each_part(spark):
    rows = spark.range(0, 8, 1, 1).selectExpr("id", "id DIV 5 * 100 AS part", "CAST(id DIV 3 AS STRING) AS file")
    one, other = row_numbers(spark, "part", "file"), row_numbers(spark, "part", "file")
    assert one is not None and other is not None
    # A condition that is looked at first would leave rows uncounted.
    numbered = rows.select("id", one.alias("n"), other.alias("m")).where(F.col("id") % 2 == 0)
    assert [tuple(row) for row in numbered.collect()] == [(0, 0, 0), (2, 2, 2), (4, 1, 1), (6, 100, 100)]
