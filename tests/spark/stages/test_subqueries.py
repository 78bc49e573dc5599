"""Subqueries in DEFINE and MEASURES, against the same conditions with what they give written out."""

import itertools

import pytest
from chance import everyday

import cepsql

ROWS = """
CREATE VIEW ticks AS SELECT * FROM (VALUES
  (1, 'a', 5), (2, 'b', 7), (3, 'a', 3), (4, 'c', 9), (5, 'b', NULL), (6, 'a', 8)) AS t(n, s, x);
CREATE VIEW limits AS SELECT * FROM (VALUES ('a', 4), ('b', 6)) AS t(s, y);
CREATE VIEW nothing AS SELECT * FROM limits WHERE FALSE;
"""
SAME = {
    "x > (SELECT max(y) FROM limits)": "x > 6",
    "x > (SELECT 4)": "x > 4",
    "x IN (SELECT * FROM VALUES (5), (3)) AND EXISTS (SELECT 1)": "x IN (5, 3)",
    "s IN (SELECT s FROM limits)": "s IN ('a', 'b')",
    "s NOT IN (SELECT s FROM limits)": "s NOT IN ('a', 'b')",
    "x IN (SELECT y + 3 FROM limits)": "x IN (7, 9)",
    "NOT (x IN (SELECT y FROM nothing))": "TRUE",
    "EXISTS (SELECT * FROM limits) AND x > 4": "x > 4",
    "EXISTS (SELECT * FROM nothing) OR x > 4": "x > 4",
    "(SELECT max(y) FROM nothing) IS NULL": "TRUE",
    "x > PREV(x) - (SELECT min(y) FROM limits)": "x > PREV(x) - 4",
    "SUM(x) < 4 * (SELECT max(y) FROM limits)": "SUM(x) < 4 * 6",
    "x > (SELECT max(y) FROM limits AS l WHERE l.s = ticks.s)": "x > CASE s WHEN 'a' THEN 4 WHEN 'b' THEN 6 END",
}


@pytest.mark.parametrize(("condition", "rows"), everyday(itertools.product(SAME, ["", "ALL ROWS PER MATCH"]), 5))
def test_define(spark, condition, rows) -> None:
    def output(define: str) -> tuple:
        clause = f"ORDER BY n MEASURES COUNT(*) AS size, FIRST(n) AS began {rows} PATTERN (A B*) DEFINE B AS {define}"
        query = cepsql.connect(spark).sql(f"{ROWS} SELECT * FROM ticks MATCH_RECOGNIZE ({clause})")
        return query.columns, query.collect()

    assert output(condition) == output(SAME[condition])


def test_measures(spark) -> None:
    measures = {
        "(SELECT max(y) FROM limits)": [6, 6],
        "SUM(x * (SELECT min(y) FROM limits))": [60, 68],
        "s IN (SELECT s FROM limits)": [True, True],
        "EXISTS (SELECT * FROM nothing)": [False, False],
        "LAST(A.x) + (SELECT count(*) FROM limits)": [5, 10],
    }
    listed = ", ".join(f"{sql} AS m{i}" for i, sql in enumerate(measures))
    clause = f"ORDER BY n MEASURES {listed} PATTERN (A{{3}})"
    rows = cepsql.connect(spark).sql(f"{ROWS} SELECT * FROM ticks MATCH_RECOGNIZE ({clause})").collect()
    assert [list(column) for column in zip(*rows, strict=True)] == list(measures.values())


def test_a_cte_can_be_read(spark) -> None:
    clause = "ORDER BY n MEASURES x AS x PATTERN (A) DEFINE A AS x > (SELECT z FROM bound)"
    query = f"{ROWS} WITH bound AS (SELECT 7 AS z) SELECT * FROM ticks MATCH_RECOGNIZE ({clause})"
    assert [row.x for row in cepsql.connect(spark).sql(query).collect()] == [9, 8]
