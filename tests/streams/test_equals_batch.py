"""A stream in random micro-batches, restarted between them, then ended, gives what the batch query gives."""

import datetime
import decimal
import itertools
from collections.abc import Iterable

import pytest
from arrived import define_table
from chance import draws, everyday, is_night

import cepsql
from cepsql.testing import play

STREAM = """CREATE STREAM events (
  k STRING, ts TIMESTAMP, x INT, d DECIMAL(6, 2), s STRING, WATERMARK FOR ts AS ts - INTERVAL '6' SECONDS
) USING csv;
"""
TYPES = "k STRING, ts TIMESTAMP, x INT, d DECIMAL(6, 2), s STRING"

CLAUSES = {
    "regular": """PARTITION BY k ORDER BY ts
        MEASURES FIRST(A.ts) AS began, A.x AS a, C.d AS c, COUNT(B.*) AS n, LAST(B.s) AS s
        PATTERN (A B* C) DEFINE A AS x < 4, B AS x BETWEEN 3 AND 7, C AS x > 6""",
    "neighbours": """PARTITION BY k ORDER BY ts, x DESC
        MEASURES A.x AS top, LAST(D.x) AS low, LAST(U.x) AS back, PREV(A.x) AS before, NEXT(LAST(U.x)) AS after
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A D+ U+) DEFINE D AS D.x < PREV(D.x), U AS U.x > PREV(U.x) AND NEXT(U.x) IS NOT NULL""",
    "match so far": """PARTITION BY k ORDER BY ts
        MEASURES A.x AS a, LAST(C.x) AS c, SUM(C.d) AS total, AVG(C.x) AS mean, CLASSIFIER() AS last,
          MATCH_NUMBER() AS number
        PATTERN (A (B | C)+?) WITHIN INTERVAL '20' SECONDS
        DEFINE B AS B.x > LAST(A.x) + 2, C AS SUM(C.x) < 15 AND C.d >= FIRST(C.d)""",
    "timeouts": """PARTITION BY k ORDER BY ts
        MEASURES A.ts AS began, C.x AS c, MATCH_TIMEOUT() AS missing, COUNT(*) AS rows
        ONE ROW PER MATCH SHOW TIMEOUT MATCHES
        PATTERN (A B*? C) WITHIN INTERVAL '10' SECONDS DEFINE A AS x = 0, C AS C.x > LAST(A.x) + 7""",
    "empty matches": """ORDER BY ts, k, x
        MEASURES MATCH_NUMBER() AS number, COUNT(*) AS n, FIRST(A.s) AS s
        PATTERN (A*) WITHIN INTERVAL '8' SECONDS DEFINE A AS x > 4""",
}


WINDOWS = {
    "rest of the partition": """k, x, label OVER w, low OVER w, count(*) OVER w AS n, sum(d) OVER w AS total,
        first_value(s) OVER w AS s, collect_list(x) OVER w AS xs, lag(x) OVER w AS before FROM events
        WINDOW w AS (PARTITION BY k ORDER BY ts, x, s, d
          MEASURES CLASSIFIER() AS label, LAST(D.x) AS low
          ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
          PATTERN (A D+ U?) DEFINE D AS x < PREV(x), U AS x > FIRST(x))""",
    "some rows": """k, ts, x, after OVER w, count(*) OVER w AS n, count(DISTINCT x) OVER w AS different,
        median(x) OVER w AS middle, nth_value(x, 2) OVER w AS second FROM events
        WINDOW w AS (PARTITION BY k ORDER BY ts, x DESC
          MEASURES NEXT(LAST(x), 2) AS after
          ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING
          AFTER MATCH SKIP TO NEXT ROW
          PATTERN (A* B) DEFINE A AS x > COALESCE(PREV(x), NEXT(x, 2)), B AS SUM(x) > 9)""",
    "several": """k, ts, x, low OVER w, median(x) OVER v AS middle, after OVER v, count(*) OVER u AS n
        FROM events
        WINDOW w AS (PARTITION BY k ORDER BY ts MEASURES LAST(D.x) AS low
          ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A D+) DEFINE D AS x < PREV(x)),
        v AS (PARTITION BY k ORDER BY ts MEASURES NEXT(LAST(x)) AS after ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING
          PATTERN (A B*) DEFINE B AS x + NEXT(x, 2) > AVG(x)),
        u AS (PARTITION BY k ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
          AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*? C) DEFINE B AS x < 5)""",
    "within a time": """k, ts, x, total OVER w, max(x) OVER v AS greatest FROM events
        WINDOW w AS (PARTITION BY k ORDER BY ts MEASURES SUM(x) AS total
          ROWS BETWEEN CURRENT ROW AND 9 FOLLOWING
          PATTERN (A B*) WITHIN INTERVAL '9' SECONDS DEFINE B AS x <> FIRST(x)),
        v AS (PARTITION BY k ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
          PATTERN (C*) WITHIN INTERVAL '5' SECONDS DEFINE C AS x > 2)""",
}


def events(seed: int) -> list[tuple]:
    """Make rows with few keys (one of them NULL), equal times, NULL values, in order of time."""
    chance = draws(seed)
    start, second, rows = datetime.datetime(2026, 1, 1), 0, []
    for _ in range(chance.randint(20, 60)):
        second += chance.choice([0, 0, 1, 1, 2, 5])
        x = chance.choice([None, *range(10)])
        d = chance.choice([None, f"{chance.randint(0, 99) / 10:.2f}"])
        at = start + datetime.timedelta(seconds=second, milliseconds=chance.choice([0, 500]))
        rows.append((chance.choice(["p", "q", None]), at, x, d, chance.choice("abc")))
    return rows


def disordered(rows: list[tuple], seed: int, least: int = 1 if is_night() else 8) -> list[list[tuple]]:
    """Cut rows into micro-batches of at least so many, but for the last one.

    Inside and across them rows come at most 6 seconds late, so that none is dropped.
    """
    chance = draws(seed)
    moved = sorted(rows, key=lambda row: row[1] + datetime.timedelta(seconds=chance.uniform(0, 5.9)))
    batches, begin = [], 0
    while begin < len(moved):
        end = begin + chance.randint(least, 25)
        batches.append(moved[begin:end])
        begin = end
    return batches


def typed(spark, rows: Iterable[tuple]):
    """Return rows as a DataFrame."""
    values = [(k, at, x, None if d is None else decimal.Decimal(d), s) for k, at, x, d, s in rows]
    return spark.createDataFrame(values, TYPES)


@pytest.mark.parametrize("name", everyday([*CLAUSES, *WINDOWS], 12))
def test_stream_equals_batch(name, spark, tmp_path):
    text = CLAUSES.get(name) or WINDOWS[name]
    query = f"SELECT * FROM events MATCH_RECOGNIZE ({text})" if name in CLAUSES else f"SELECT {text}"
    engine = cepsql.connect(spark)
    for seed in itertools.count(len(text)):
        batches = disordered(events(seed), seed)
        define_table(engine, tmp_path / str(seed), "events", typed(spark, itertools.chain(*batches)))
        expected = sorted(map(repr, engine.sql(query).collect()))
        if expected:
            break
    played = play(STREAM + query, batches, restart=True, spark=spark)
    assert sorted(repr(row) for batch in played for row in batch) == expected
