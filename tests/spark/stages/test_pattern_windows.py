"""Row patterns in windows over tables: queries with the rows that come out, in any order unless they say one."""

from pathlib import Path

import pytest
from chance import rest_by_night
from golden import check, params

import cepsql

VIEWS = """
CREATE VIEW orders AS SELECT * FROM VALUES
  ('c1', 1, 90), ('c1', 2, 80), ('c1', 3, 70), ('c1', 4, 70), ('c1', 5, 85),
  ('c2', 1, 50), ('c2', 2, 40), ('c2', 3, 60), ('c2', NULL, 10) AS t (customer, id, value);
CREATE VIEW names AS SELECT * FROM VALUES ('c1', 'Ann', 1), ('c2', 'Bob', 2) AS n (customer, name, id);
CREATE VIEW lows AS
SELECT customer, id, low OVER w FROM orders WINDOW w AS (
  PARTITION BY customer ORDER BY id MEASURES LAST(B.value) AS low
  ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value));
"""


@pytest.fixture(scope="module")
def engine(spark):
    fresh = cepsql.connect(spark)
    list(fresh.execute(VIEWS))
    return fresh


@pytest.mark.parametrize("case", rest_by_night(params(Path(__file__).parent, "pattern_windows.sql"), 3))
def test_query(case, engine, update):
    query = engine.sql(case.text)
    rows = ["|".join("NULL" if value is None else str(value) for value in row) for row in query.collect()]
    ordered = rows if " ORDER BY 1" in case.text else sorted(rows)
    check(case, "\n".join(["|".join(name for name, _ in query.columns), *ordered]), update)
