"""Aggregates over whole partitions give the rows that they give as joins with groups: a database says so of both."""

from collections import Counter
from itertools import count

import pytest
from sqlglot import exp, parse_one
from sqlglot.optimizer.qualify import qualify

from cepsql.plan.changes.whole_partitions import with_whole_partitions

duckdb = pytest.importorskip("duckdb")

CASES = (
    "SELECT id, x, SUM(x) OVER () AS s FROM a",
    "SELECT id, x * 2 AS d, x - AVG(x) OVER (PARTITION BY k) AS s, COUNT(*) OVER (PARTITION BY k, x) AS n FROM a",
    "SELECT k, MAX(a.x) OVER w AS m, MIN(id) OVER w AS l FROM a WHERE id > 1 WINDOW w AS (PARTITION BY a.k)",
    "SELECT DISTINCT k, COUNT(DISTINCT x) OVER (PARTITION BY k) AS n FROM a",
    "SELECT id FROM a QUALIFY x = MAX(x) OVER (PARTITION BY k ORDER BY id "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "SELECT a.id, SUM(b.x) OVER (PARTITION BY a.k) AS s FROM a JOIN a AS b ON a.x = b.x",
    "SELECT COUNT(*) OVER () AS n FROM a",
)
KEPT = (
    "SELECT id, SUM(x) OVER (ORDER BY id) AS s FROM a",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS s FROM a",
    "SELECT k, SUM(x) AS s FROM a GROUP BY k",
    "SELECT k, SUM(SUM(x)) OVER () AS s FROM a GROUP BY k",
)
ROWS = "VALUES (1, 'p', 1), (2, 'p', 2), (3, NULL, 2), (4, NULL, NULL), (5, 'q', NULL), (5, 'q', NULL), (6, 'p', 2)"


def written(text: str) -> tuple[exp.Select, exp.Select]:
    query = qualify(
        parse_one(text, read="spark"),
        schema={"a": {"id": "int", "k": "string", "x": "int"}},
        dialect="spark",
        quote_identifiers=False,
    )
    numbers = count()
    assert isinstance(query, exp.Select)
    return query, with_whole_partitions(query, lambda kind: f"{kind}_{next(numbers)}", frozenset())


@pytest.mark.parametrize("text", CASES)
def test_joins_give_the_aggregates_of_partitions(text):
    _, joined = written(text)
    assert joined.find(exp.Window) is None
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE a AS SELECT * FROM ({ROWS}) AS t(id, k, x)")
        wanted, rows = (database.execute(one).fetchall() for one in (text, joined.sql("duckdb")))
    assert Counter(rows) == Counter(wanted), joined.sql("duckdb")


@pytest.mark.parametrize("text", KEPT)
def test_other_window_functions_stay(text):
    query, rewritten = written(text)
    assert rewritten is query
