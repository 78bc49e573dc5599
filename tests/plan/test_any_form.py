"""Statements over tables that change, and over windows that do, are planned whatever their form."""

import pytest

import cepsql
from cepsql.analysis.sql.canonical import canonical_json
from cepsql.plan.identity import describe_plan

TIMED = "(id INT, k STRING, x INT, v INT, at TIMESTAMP, WATERMARK FOR at AS at"
WINDOWS = "SELECT k, COUNT(*) AS n FROM e GROUP BY k, window(at, '1 minute')"
PLANNED = (
    "SELECT t.id, u.x, w.v FROM t JOIN (u LEFT JOIN t AS w ON u.id = w.id AND w.v > u.v) ON t.k = u.k",
    "SELECT id, (x, v) NOT IN (SELECT x, v FROM u) AS found FROM t",
    "SELECT id, (SELECT MAX(x) FROM u) - MAX(v) OVER (PARTITION BY k) AS d, RANK() OVER (ORDER BY v) AS r FROM t",
    "SELECT (SELECT MAX(x) FROM u) AS most",
    "SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM t ORDER BY x LIMIT 2)",
    "SELECT t.id, u.x FROM t LEFT JOIN u ON t.id = u.id AND u.x > (SELECT x FROM t ORDER BY x, id LIMIT 1)",
    "SELECT DISTINCT k, MAX(v) AS m FROM t GROUP BY k",
    "SELECT id, ANY_VALUE(v) OVER (PARTITION BY k) AS a, APPROX_COUNT_DISTINCT(v) OVER (ORDER BY id) AS n FROM t",
    "SELECT id, SUM(v) OVER (ORDER BY at RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW) AS s FROM t",
    "SELECT k, window.start, COUNT(*) AS n FROM t GROUP BY k, window(at, '1 day', '1 hour') HAVING COUNT(*) > 1",
    "SELECT w.k, window_end, MAX(u.x) FROM t WINDOW TUMBLING (SIZE 1 HOUR) AS w JOIN u ON u.id = w.id GROUP BY ALL",
    f"SELECT w.n, COUNT(*) AS c FROM ({WINDOWS} EMIT CHANGES) AS w JOIN t ON t.x = w.n GROUP BY w.n",
    f"{WINDOWS} UNION ALL SELECT k, x FROM t",
    f"SELECT k, n FROM ({WINDOWS}) WHERE n > 2",
    f"SELECT k FROM t WHERE x IN (SELECT n FROM ({WINDOWS} EMIT EVERY INTERVAL '10' SECONDS))",
    f"SELECT k, n, RANK() OVER (ORDER BY n DESC) AS r FROM ({WINDOWS} EMIT CHANGES) QUALIFY r <= 3",
)


@pytest.fixture(scope="module")
def engine():
    with cepsql.connect(catalog="") as engine:
        engine.sql(f"CREATE STREAM e {TIMED}) USING csv")
        for name in "tu":
            engine.sql(f"CREATE STREAM {name} {TIMED}, PRIMARY KEY (id)) USING csv")
        yield engine


@pytest.mark.parametrize("text", PLANNED)
def test_is_planned(engine, text):
    assert engine.query(f"{text} EMIT CHANGES").plan.columns[-1].name == "op"


def test_windows_that_change_are_alike_in_every_form(engine):
    engine.sql(f"CREATE VIEW w AS {WINDOWS} EMIT CHANGES")
    forms = (
        f"SELECT k, MAX(n) AS most FROM ({WINDOWS} EMIT CHANGES) AS w GROUP BY k EMIT CHANGES",
        f"WITH w AS ({WINDOWS} EMIT CHANGES) SELECT k, MAX(n) AS most FROM w GROUP BY k EMIT CHANGES",
        "SELECT k, MAX(n) AS most FROM w GROUP BY k EMIT CHANGES",
    )
    descriptions = {canonical_json(describe_plan(engine.query(text).plan, {}, str)) for text in forms}
    assert len(descriptions) == 1
