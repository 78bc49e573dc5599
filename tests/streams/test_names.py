"""Names that clash mean the same over tables at rest, streams and changes, and what they mean to Spark."""

from collections import Counter

import pytest
from chance import everyday

from cepsql.engine import connect
from cepsql.errors import ProgrammingError
from cepsql.testing import play

ROWS = [
    (1, "a", 5, 9, "2026-01-01 00:00:01"),
    (2, "a", 6, 9, "2026-01-01 00:00:02"),
    (3, "b", 1, 9, "2026-01-01 00:00:03"),
]
VALUES = ", ".join(f"({id}, '{k}', {v}, {n}, TIMESTAMP '{at}')" for id, k, v, n, at in ROWS)
TABLE = f"SELECT * FROM VALUES {VALUES} AS t (id, k, v, n, at)"
STREAM = "CREATE STREAM t (id INT, k STRING, v INT, n INT, at TIMESTAMP, WATERMARK FOR at AS at{}) USING csv;"
FIRST = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY at)"

ORDERED = (
    f"SELECT k, v, {FIRST} AS n FROM t QUALIFY n = 1",
    f"SELECT k, {FIRST} AS r, v AS n FROM t QUALIFY R = 1 AND n = 5",
    f"SELECT k, n + 1 AS n, {FIRST} AS r FROM t QUALIFY r = 1 AND n > 9",
    f"SELECT k, -v AS v FROM t QUALIFY {FIRST} = 1 AND v > 0",
    f"WITH t AS (SELECT id AS v, k, v AS id, n, at FROM t) SELECT k, v, {FIRST} AS n FROM t QUALIFY n = 1",
)
"""Of window functions in the order of event time, which run over streams and changes."""

OF_STREAMS = (
    "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY at) AS v FROM t QUALIFY t.v > 5",
    "SELECT k, SUM(v) AS v FROM t GROUP BY window(at, '1 minute'), k HAVING v > 10",
    "SELECT k, SUM(v) AS n FROM t GROUP BY window(at, '1 minute'), k HAVING MAX(n) = 9 AND n > 8",
    "SELECT window, COUNT(*) AS c FROM (SELECT at, k AS window FROM t) GROUP BY window(at, '1 minute'), window",
)
OF_CHANGES = (
    "SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS n FROM t QUALIFY n = 1",
    "SELECT k, SUM(v) AS v FROM t GROUP BY k HAVING v > 10",
)
AMBIGUOUS = {
    "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY at) AS v FROM {} QUALIFY v > 10": "a window function there reads",
    "SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY at) AS v FROM {} QUALIFY v > 10": "two items",
    "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY at) AS n FROM {} QUALIFY n = 1": "two items",
    "SELECT k, SUM(v) AS x, MAX(v) AS x FROM {} GROUP BY window(at, '1 minute'), k HAVING x > 1": "two items",
}


def at_rest(spark, sql: str) -> list[tuple]:
    """The rows of a query at rest, which are those that Spark itself gives."""
    engine = connect(spark)
    engine.register("t", spark.sql(TABLE))
    rows = sorted(map(tuple, engine.sql(sql).collect()))
    spark.sql(TABLE).createOrReplaceTempView("t")
    assert rows == sorted(map(tuple, spark.sql(sql).collect()))
    return rows


def as_changes(spark, sql: str) -> list[tuple]:
    """The rows that are left of the changes of a query."""
    left: Counter = Counter()
    played = play(f"{STREAM.format(', PRIMARY KEY (id)')} {sql} EMIT CHANGES", [ROWS[:1], ROWS[1:]], spark=spark)
    for *row, change in (row for batch in played for row in batch):
        left[tuple(row)] += 1 if change[0] == "+" else -1
    return sorted(left.elements())


@pytest.mark.parametrize("sql", everyday([*ORDERED, *OF_STREAMS], 5))
def test_a_stream_gives_the_rows_at_rest(spark, sql):
    played = play(STREAM.format("") + sql, [ROWS], spark=spark)
    rows = at_rest(spark, sql)
    assert rows and sorted(tuple(row) for batch in played for row in batch) == rows


@pytest.mark.parametrize("sql", everyday([*OF_CHANGES, ORDERED[0], ORDERED[3]], 4))
def test_changes_lead_to_the_rows_at_rest(spark, sql):
    rows = at_rest(spark, sql)
    assert rows and as_changes(spark, sql) == rows


@pytest.mark.parametrize("sql", AMBIGUOUS)
@pytest.mark.parametrize("emit", ["", " EMIT CHANGES"])
def test_what_is_ambiguous_is_so_everywhere(sql, emit):
    engine = connect()
    engine.sql(STREAM.format("").replace(";", " OPTIONS (path '/none')"))
    engine.sql("CREATE TABLE r (id INT, k STRING, v INT, n INT, at TIMESTAMP) USING csv OPTIONS (path '/none')")
    for relation in ("t", "r") if not emit else ("t",):
        with pytest.raises(ProgrammingError, match=AMBIGUOUS[sql]):
            engine.query(sql.format(relation) + emit)
