"""What the user is told of a query before it runs for long."""

import pytest
from catalog import engine

JOIN = "SELECT a.sym FROM ticks AS a JOIN ticks AS b ON a.sym = b.sym"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (JOIN, True),
        (f"{JOIN} AND b.ts BETWEEN a.ts - INTERVAL '5' MINUTES AND a.ts", False),
        (f"{JOIN} WHERE b.ts > a.ts AND b.ts < a.ts + INTERVAL '5' MINUTES", False),
        ("SELECT sym FROM ticks UNION ALL SELECT sym FROM ticks", False),
        ("SELECT sym FROM ticks", False),
    ],
)
def test_a_join_of_streams_without_bound(sql, told):
    assert ["for ever, since a partner" in notice for notice in engine().query(sql).notices] == [True] * told
