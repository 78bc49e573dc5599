"""Aggregates over CLASSIFIER() and MATCH_NUMBER() that Spark computes from lists, beside other values of the row."""

import cepsql
from cepsql.testing import play

ROWS = "(VALUES (1, 5, 'p'), (2, 6, 'q'), (3, 4, 'r'), (4, 9, 's')) AS t(n, x, s)"
PATTERN = "PATTERN (A B?) SUBSET U = (A, B) DEFINE B AS x > A.x AND COUNT(DISTINCT CLASSIFIER()) = 2"
EXPECTED = {
    "array_agg(CLASSIFIER())": [["A", "B"], ["A", "B"]],
    "array_agg(CLASSIFIER() || s)": [["Ap", "Bq"], ["Ar", "Bs"]],
    "max_by(CLASSIFIER(), x)": ["B", "B"],
    "listagg(CLASSIFIER(), ',')": ["A,B", "A,B"],
    "listagg(s) WITHIN GROUP (ORDER BY CLASSIFIER() DESC)": ["qp", "sr"],
    "array_agg(MATCH_NUMBER() * 10 + x)": [[15, 16], [24, 29]],
    "array_agg(CASE WHEN MATCH_NUMBER() = 1 THEN CLASSIFIER() ELSE s END)": [["A", "B"], ["r", "s"]],
    "SUM(x * MATCH_NUMBER())": [11, 26],
    "array_agg(CLASSIFIER(U) || MATCH_NUMBER())": [["A1", "B1"], ["A2", "B2"]],
    "array_agg(x) FILTER (WHERE CLASSIFIER() = 'B')": [[6], [9]],
    "bool_or(CLASSIFIER() LIKE '%B')": [True, True],
    "first_value(CLASSIFIER())": ["A", "A"],
}


def test_measures(spark) -> None:
    measures = ", ".join(f"{sql} AS m{i}" for i, sql in enumerate(EXPECTED))
    query = f"SELECT * FROM {ROWS} MATCH_RECOGNIZE (ORDER BY n MEASURES {measures} {PATTERN})"
    rows = cepsql.connect(spark).sql(query).collect()
    assert [list(column) for column in zip(*rows, strict=True)] == list(EXPECTED.values())


def test_all_rows_see_the_rows_so_far(spark) -> None:
    measures = "array_agg(CLASSIFIER()) AS seen, FINAL array_agg(CLASSIFIER()) AS whole"
    query = (
        f"SELECT seen, whole FROM {ROWS} MATCH_RECOGNIZE (ORDER BY n MEASURES {measures} ALL ROWS PER MATCH {PATTERN})"
    )
    assert (
        list(map(tuple, cepsql.connect(spark).sql(query).collect()))
        == [
            (["A"], ["A", "B"]),
            (["A", "B"], ["A", "B"]),
        ]
        * 2
    )


def test_stream(spark) -> None:
    sql = """CREATE STREAM s (ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv;
    SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts
      MEASURES array_agg(CLASSIFIER() || x) AS labels, SUM(MATCH_NUMBER()) AS numbers,
        COUNT(DISTINCT CLASSIFIER()) AS kinds
      PATTERN (A B) DEFINE B AS bool_or(CLASSIFIER() LIKE '%B') AND x > A.x)"""
    rows = [(f"2026-01-01 00:00:0{i}", x) for i, x in enumerate((1, 2, 3, 5))]
    played = play(sql, [rows[:1], rows[1:3], rows[3:]], restart=True, spark=spark)
    output = [tuple(row) for batch in played for row in batch]
    assert output == [(["A1", "B2"], 2, 2), (["A3", "B5"], 4, 2)]
