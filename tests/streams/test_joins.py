"""Joins of streams give what Spark gives for the same SQL over tables of the rows, whatever the micro-batches are."""

import itertools

import pytest
from arrived import define_table
from chance import everyday
from test_equals_batch import disordered, events, typed

import cepsql
from cepsql.testing import play

STREAMS = "".join(
    f"CREATE STREAM {name} (k STRING, ts TIMESTAMP, x INT, d DECIMAL(6, 2), s STRING, "
    f"WATERMARK FOR ts AS ts - INTERVAL '{delay}' SECONDS) USING csv;\n"
    for name, delay in (("a", 6), ("b", 9), ("c", 7))
)
VIEWS = """CREATE OR REPLACE VIEW pairs AS
  SELECT a.k, a.ts, b.ts AS later, a.x, b.x AS y FROM a JOIN b ON a.k = b.k AND a.ts = b.ts;
CREATE OR REPLACE VIEW names AS
  SELECT * FROM VALUES ('a', 'first', 'b'), ('b', NULL, 'c'), ('b', 'z', 'a') AS v (s, name, partner)
"""
MINUTE = "SELECT k, window(ts, '4 seconds') AS w, window(ts, '4 seconds').start AS at, COUNT(*) AS n, MAX(d) AS d"

QUERIES = {
    "inner": """SELECT a.*, b.x AS y, b.s AS r FROM a JOIN b ON a.k = b.k AND a.s <> b.s
          AND b.ts BETWEEN a.ts - INTERVAL '2' SECONDS AND a.ts + INTERVAL '3' SECONDS WHERE a.x + b.x > 4""",
    "inner in WHERE, without a key": """SELECT a.ts, a.d, b.d AS e FROM a, b
        WHERE a.ts <= b.ts AND b.ts < a.ts + INTERVAL '1' SECOND AND (a.x > b.x OR a.x IS NULL) AND a.s = 'a'""",
    "left": """SELECT a.k, a.ts, a.x, b.ts AS bts, b.x AS y FROM a LEFT JOIN b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '2' SECONDS AND a.x < b.x * 2 AND a.s <> 'c' AND b.x > 1
        WHERE a.x IS NOT NULL""",
    "right": """SELECT a.k, a.x, b.ts, b.d, concat(a.s, b.s) AS s FROM a RIGHT JOIN b
        ON upper(a.k) = upper(b.k) AND a.x % 3 = b.x % 3 AND b.ts > a.ts AND b.ts - INTERVAL '3' SECONDS < a.ts
        WHERE coalesce(a.x, 5) > 2""",
    "full": """SELECT a.k AS ak, a.ts AS ats, b.k AS bk, b.ts AS bts, a.d, b.x FROM a FULL JOIN b
        ON a.k = b.k AND abs(a.x - b.x) < 3 AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '2' SECONDS
          AND a.s IN ('a', 'b') AND b.s > 'a'""",
    "until a time of the row": """SELECT a.k, a.ts, a.x, b.ts AS bts, b.x AS y
        FROM (SELECT *, ts + make_interval(0, 0, 0, 0, 0, 0, x - 2) AS until FROM a) AS a LEFT JOIN b
        ON a.k = b.k AND b.ts BETWEEN a.ts AND a.until AND a.x < b.x * 2""",
    "until a time of either row": """SELECT a.k AS ak, a.ts, b.k AS bk, b.ts AS bts FROM a FULL JOIN b
        ON a.k = b.k AND b.ts < a.ts + make_interval(0, 0, 0, 0, 0, 0, a.x)
          AND a.ts <= b.ts + make_interval(0, 0, 0, 0, 0, 0, b.x - 3)""",
    "semi": """SELECT * FROM a LEFT SEMI JOIN b
        ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL '1' DAY AND a.ts + INTERVAL '1' SECOND AND b.d > a.d""",
    "exists": """SELECT k, ts, x FROM a WHERE x > 1
          AND NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.ts >= a.ts AND b.ts < a.ts + INTERVAL '2' SECONDS)
          AND s IN (SELECT s FROM a AS o WHERE o.ts > a.ts AND o.ts < a.ts + INTERVAL '1' MINUTE)""",
    "three streams": """SELECT a.ts, b.ts AS bts, c.ts AS cts, c.s FROM a JOIN b
          ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '2' SECONDS
        LEFT JOIN c ON c.k = a.k AND c.ts BETWEEN b.ts - INTERVAL '2' SECONDS AND b.ts AND c.x > a.x WHERE b.x > 3""",
    "outer joins of outer joins": """SELECT a.x, b.ts AS bts, c.ts AS cts, t.name FROM a FULL JOIN b
          ON a.k = b.k AND a.ts = b.ts
        LEFT JOIN names AS t ON t.s = b.s
        LEFT JOIN c ON c.s = a.s AND c.ts >= greatest(a.ts, b.ts) AND c.ts < greatest(a.ts, b.ts) + INTERVAL '1' SECOND
        """,
    "a table between": """SELECT a.ts, t.name, b.s FROM names AS t JOIN a ON a.s = t.s JOIN b
        ON b.s = t.partner AND b.k = a.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '4' SECONDS""",
    "windows a distance apart": f"""SELECT p.k, p.at, p.n, q.n AS m, q.d FROM ({MINUTE} FROM a GROUP BY 1, 2) AS p
        LEFT JOIN ({MINUTE} FROM b GROUP BY 1, 2) AS q ON p.k = q.k AND p.w.start = q.w.start + INTERVAL '8' SECONDS""",
    "a union, and a pattern over the join": """SELECT * FROM (
          SELECT u.k, u.ts, u.x, b.x AS y FROM (SELECT k, ts, x FROM a UNION ALL SELECT k, ts, x + 1 FROM c) AS u
          JOIN b ON u.k = b.k AND b.ts BETWEEN u.ts AND u.ts + INTERVAL '1' SECOND)
        MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, x, y MEASURES A.x AS x, B.y AS y, B.ts AS ts
          PATTERN (A B) DEFINE B AS B.y > A.y)""",
    "windows over a view of a join": """SELECT window(later, '5 seconds').start AS at, COUNT(*) AS n, SUM(x) AS x
        FROM pairs GROUP BY window(later, '5 seconds')""",
    "a join with a view of a join": """SELECT pairs.ts, c.x, ROW_NUMBER() OVER (PARTITION BY pairs.k ORDER BY c.ts, c.x,
          pairs.ts, y, pairs.x, c.d, c.s) AS n FROM pairs JOIN c ON c.k = pairs.k
          AND c.ts BETWEEN pairs.later AND pairs.later + INTERVAL '3' SECONDS""",
}


QUERIES |= {
    "nearest before": """SELECT a.*, b.ts AS bts, b.x AS y, b.s AS r FROM a LEFT ASOF JOIN b
        MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k AND b.x > 2 AND a.s <> 'c' WHERE a.d IS NOT NULL""",
    "strictly before, then a pattern": """SELECT * FROM (
          SELECT a.k, a.ts, a.x, b.x AS y FROM a ASOF JOIN b MATCH_CONDITION (b.ts < a.ts) ON lower(a.k) = b.k)
        MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, x, y MEASURES A.y AS y, B.y AS z, B.ts AS ts
          PATTERN (A B) DEFINE B AS B.y <> A.y)""",
    "nearest after, and a join of it": """SELECT a.ts, b.ts AS bts, c.ts AS cts, b.d FROM a ASOF JOIN b
          MATCH_CONDITION (a.ts <= b.ts) ON a.k = b.k
        JOIN c ON c.k = b.k AND c.ts BETWEEN b.ts AND b.ts + INTERVAL '1' SECOND""",
    "windows over nearest rows": """SELECT k, window_end, COUNT(*) AS n, MAX(y) AS y FROM (
          SELECT a.k, a.ts, b.x AS y FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k)
        WINDOW TUMBLING (SIZE 5 SECONDS, ON ts) GROUP BY k, window_start, window_end""",
    "nearest before within a time": """SELECT a.*, b.ts AS bts, b.x AS y FROM a ASOF LEFT JOIN b
        ON a.k = b.k AND a.ts > b.ts AND a.ts - INTERVAL '2' SECONDS <= b.ts""",
    "nearest before of those that fulfil a condition": """SELECT a.*, b.ts AS bts, b.x AS y, b.s AS r
        FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts)
        ON a.k IS NOT DISTINCT FROM b.k AND b.ts >= a.ts - INTERVAL '3' SECONDS
        AND b.x <> a.x AND a.s <> 'c'""",
    "nearest after of those that fulfil a condition": """SELECT a.ts, a.x, b.ts AS bts, b.x AS y, a.k
        FROM a LEFT ASOF JOIN b MATCH_CONDITION (b.ts > a.ts)
        ON a.k = b.k AND b.x > a.x AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '4' SECONDS""",
    "nearest of nearest rows": """SELECT a.k, a.ts, b.ts AS bts FROM a ASOF JOIN (SELECT a.k, a.ts FROM a ASOF JOIN b
          MATCH_CONDITION (a.ts > b.ts) ON b.k = a.k) AS b MATCH_CONDITION (a.ts >= b.ts) ON b.k = a.k""",
    "strictly after": "SELECT a.ts, a.x, b.ts AS bts, b.x AS y FROM a LEFT ASOF JOIN b MATCH_CONDITION (a.ts < b.ts)",
}


SAME = "l.window_start = r.window_start AND l.window_end = r.window_end"
SIX = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '6' SECONDS))"
GAPS = "(SELECT * FROM {} WINDOW SESSION (GAP 2 SECONDS, ON ts, PARTITION BY k))"

QUERIES |= {
    "rows in the same windows": f"""SELECT l.k, l.x, r.x AS y, coalesce(l.window_end, r.window_end) AS at
        FROM (SELECT * FROM {SIX.format("a")}) AS l FULL JOIN (SELECT * FROM {SIX.format("b")}) AS r
        ON l.k = r.k AND {SAME} AND r.x > l.x""",
    "rows in the same sessions": f"""SELECT l.* FROM {GAPS.format("a")} AS l
        WHERE EXISTS (SELECT 1 FROM {GAPS.format("a")} AS r WHERE r.k = l.k AND {SAME} AND r.x > l.x)""",
    "rows and the groups of their windows": """SELECT l.ts, l.x, r.n, r.window_start FROM
          (SELECT * FROM a WINDOW TUMBLING (ON ts, SIZE 5 SECONDS)) AS l LEFT JOIN
          (SELECT k, window_start, COUNT(*) AS n FROM b WINDOW TUMBLING (ON ts, SIZE 5 SECONDS)
           GROUP BY k, window_start, window_end) AS r ON l.k = r.k AND l.window_start = r.window_start""",
}


@pytest.mark.parametrize("name", everyday(QUERIES, 12))
def test_stream_equals_table(name, spark, tmp_path):
    query, engine = QUERIES[name], cepsql.connect(spark)
    for seed in itertools.count(len(query)):
        rows_of = {stream: disordered(events(seed * 3 + number), seed) for number, stream in enumerate("abc")}
        for stream, own in rows_of.items():
            define_table(engine, tmp_path / f"{stream}{seed}", stream, typed(spark, itertools.chain(*own)))
        engine.sql(VIEWS)
        expected = sorted(map(repr, engine.sql(query).collect()))
        if len(expected) > 2:
            break
    read = {relation.name for relation in engine.sql(query).origins}
    batches: list[dict] = [{}, {}, {}]
    for stream in sorted(read & set("abc")):
        for number, batch in enumerate(rows_of[stream]):
            batches[min(number, 2)].setdefault(stream, []).extend(batch)
    played = play(f"{STREAMS}{VIEWS};{query}", batches, restart={seed % 3}, spark=spark)
    assert sorted(repr(row) for batch in played for row in batch) == expected
