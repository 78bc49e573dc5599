"""Matches come out also where no column of a row travels to the matcher, or none of a match back."""

import itertools

import pytest
from chance import everyday

import cepsql
from cepsql.testing import play

MEASURES = {
    "CLASSIFIER() AS c": ("A",),
    "'alarm' AS what": ("alarm",),
    "1 AS one, 2 AS two": (1, 2),
    "COUNT(*) AS n": (1,),
}


@pytest.mark.parametrize("measures", MEASURES)
@pytest.mark.parametrize("order", ["ORDER BY position", "ORDER BY at", ""])
def test_table(spark, measures, order) -> None:
    rows = "(VALUES (1, DATE '2026-01-01'), (2, DATE '2026-01-02'), (3, DATE '2026-01-03')) AS t(position, at)"
    query = f"SELECT * FROM {rows} MATCH_RECOGNIZE ({order} MEASURES {measures} PATTERN (A))"
    assert list(map(tuple, cepsql.connect(spark).sql(query).collect())) == [MEASURES[measures]] * 3


@pytest.mark.parametrize(
    ("measures", "within"),
    everyday(itertools.product(["CLASSIFIER() AS c", "'alarm' AS what"], ["", "WITHIN INTERVAL '1' HOUR"]), 4),
)
def test_stream(spark, measures, within) -> None:
    sql = f"""CREATE STREAM s (ts TIMESTAMP, WATERMARK FOR ts AS ts) USING csv;
    SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES {measures} PATTERN (A) {within})"""
    batches = [[("2026-01-01 00:00:01",)], [("2026-01-01 00:00:02",)]]
    played = play(sql, batches, restart=True, spark=spark)
    assert [[tuple(row) for row in batch] for batch in played] == [[MEASURES[measures]], [MEASURES[measures]], []]


def test_columns_of_equal_names_keep_their_values(spark) -> None:
    sql = """CREATE STREAM s (ts TIMESTAMP, x INT, y INT, WATERMARK FOR ts AS ts) USING csv;
    SELECT x, y AS x FROM s"""
    ((row,), _) = play(sql, [[("2026-01-01 00:00:01", 1, 2)]], spark=spark)
    assert (tuple(row), list(row.__fields__)) == ((1, 2), ["x", "x"])
