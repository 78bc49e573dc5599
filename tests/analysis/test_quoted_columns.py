"""Columns in double quotes, which are texts in Spark."""

import pytest
from catalog import engine


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("""SELECT "sym" FROM ticks WHERE "Price" > 1""", ["sym", "Price"]),
        ("""SELECT sym FROM ticks WHERE sym = "price" AND 'sym' <> "other" """, []),
        ("""SELECT named_struct("sym", sym) AS s, "sym" || sym AS t FROM ticks""", []),
        (
            """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.price AS x
            PATTERN (A B) WITHIN INTERVAL '1' DAY DEFINE B AS "price" > 1)""",
            ["price"],
        ),
    ],
)
def test_a_column_in_double_quotes_is_noticed(sql, names):
    said = engine().query(sql).notices
    assert [notice.split('"')[1] for notice in said] == names
