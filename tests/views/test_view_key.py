"""The key of a view, as far as the text of its query tells it."""

import pytest

import cepsql
from cepsql.plan.view_key import known_key

COLUMNS = "(id INT, v INT, n INT, ts TIMESTAMP, PRIMARY KEY (id)) USING json OPTIONS (path 'in')"
PAIRS = "SELECT {} COUNT(*) AS n FROM x JOIN y ON x.v = y.v GROUP BY {} EMIT CHANGES"


@pytest.mark.parametrize(
    ("query", "key"),
    [
        (PAIRS.format("x.id AS a, y.id AS b,", "x.id, y.id"), ("a", "b")),
        (PAIRS.format("X.ID AS a, Y.id AS b,", "y.ID, x.id"), ("b", "a")),
        (PAIRS.format("x.id AS a, y.id AS b,", "1, 2"), ("a", "b")),
        (PAIRS.format("x.id AS a,", "x.id, y.id"), ()),
        ("SELECT v AS n, n AS v, COUNT(*) AS c FROM x GROUP BY n, v EMIT CHANGES", ("v", "n")),
        ("SELECT x.v AS w, COUNT(*) AS c FROM x GROUP BY v EMIT CHANGES", ("w",)),
        ("SELECT v + 1 AS w, COUNT(*) AS c FROM x GROUP BY w EMIT CHANGES", ("w",)),
        ("SELECT id AS k, n FROM x EMIT CHANGES", ("k",)),
    ],
)
def test_key(query, key):
    with cepsql.connect(catalog="") as engine:
        engine.sql(f"CREATE STREAM x {COLUMNS}; CREATE STREAM y {COLUMNS}")
        assert known_key(engine.query(query).plan) == key
