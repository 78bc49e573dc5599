"""MATCH_ID(): the same in every split into micro-batches, after restarts, and over a table."""

import re
from itertools import pairwise

import pytest
from arrived import define_table
from chance import draws, everyday

from cepsql import connect
from cepsql.testing import play

CREATE = """
CREATE STREAM s (k STRING, ts TIMESTAMP, n INT, x DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '2' SECONDS) USING csv;
"""
QUERIES = [
    "PARTITION BY k ORDER BY ts MEASURES MATCH_ID() AS id, COUNT(*) AS c AFTER MATCH SKIP TO NEXT ROW "
    "PATTERN (A B?) DEFINE A AS x > 0",
    "PARTITION BY k ORDER BY ts, n DESC MEASURES MATCH_ID() AS id, LAST(n) AS c "
    "ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (A B+ C) WITHIN INTERVAL '3' SECONDS DEFINE A AS x > 0, C AS x < 0",
    "PARTITION BY k ORDER BY ts MEASURES MATCH_ID() AS id, MATCH_NUMBER() AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS "
    "PATTERN (A*) DEFINE A AS x > LAST(A.x, 1)",
]


def sample() -> list[list[tuple]]:
    """Batches in which many rows are equal to others; none is late."""
    rng = draws(3)
    rows = []
    for second in range(12):
        for _ in range(rng.randint(1, 4)):
            x = rng.choice(["1.5", "-1", "0.0", "-0.0", "NaN", None])
            row = (rng.choice(["p", "q", None]), f"2026-01-01 00:00:{second:02}", rng.choice(["1", "2", None]), x)
            rows += [row] * rng.choice([1, 1, 2, 3])
    cuts = [0, 5, 6, 17, len(rows)]
    return [rows[a:b] for a, b in pairwise(cuts)]


def literal(row: tuple) -> str:
    casts = ("STRING", "TIMESTAMP", "INT", "DOUBLE")
    values = ("NULL" if value is None else f"'{value}'" for value in row)
    return "(" + ", ".join(f"CAST({v} AS {kind})" for v, kind in zip(values, casts, strict=True)) + ")"


@pytest.mark.parametrize("clause", everyday(QUERIES, 3))
def test_ids_do_not_depend_on_batches(spark, clause, tmp_path):
    select = f"SELECT k, id, c FROM s MATCH_RECOGNIZE ({clause})"
    batches = sample()
    played = play(CREATE + select, batches, restart=True, spark=spark)
    streamed = sorted(repr(row) for rows in played for row in rows)
    with connect(spark) as engine:
        values = ", ".join(literal(row) for batch in batches for row in batch)
        define_table(engine, tmp_path / "s", "s", spark.sql(f"SELECT * FROM VALUES {values} AS t (k, ts, n, x)"))
        table = engine.sql(select).collect()
    assert sorted(map(repr, table)) == streamed
    ids = [row.id for row in table if row.id is not None]
    assert all(re.fullmatch("[0-9a-f]{32}", id) for id in ids)
    assert len({(row.k, row.id) for row in table if row.id}) == len(set(ids)) > 5
    if "ALL ROWS" in clause:
        assert len({(row.id, row.c, row.k) for row in table}) == len({(row.c, row.k) for row in table})
    else:
        assert len(set(ids)) == len(ids)


def test_ids_last_as_long_as_the_pattern_means_the_same(spark):
    rows = "VALUES ('p', 1, 5), ('p', 2, 7), ('p', 2, 9), ('q', 1, 1), ('q', 3, 2) AS t (k, n, x)"

    def ids(measures: str, define: str = "B AS x > A.x") -> list[str]:
        clause = f"PARTITION BY k ORDER BY n MEASURES {measures} AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)"
        query = f"SELECT * FROM {rows} MATCH_RECOGNIZE ({clause} DEFINE {define})"
        with connect(spark) as engine:
            return sorted(row.id for row in engine.sql(query).collect())

    first = ids("MATCH_ID() AS id")
    assert first == [
        "7d0ece74cf500343aed2c14307ead32b",
        "e6e8ddb8ad3cdf5200466033da748dbe",
        "f60c876fffba0744ac8cdbd49bd703c2",
    ]
    assert ids("MATCH_ID() AS id, A.x AS a, LAST(B.x) AS b, COUNT(*) AS c") == first
    assert ids("match_id() AS id", "b as  X > a.X /* the same */") == first
    assert not set(ids("MATCH_ID() AS id", "B AS x >= A.x")) & set(first)
