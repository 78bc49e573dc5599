"""Windows below an operator give what Spark gives over a table of the stream's rows, whatever the micro-batches are."""

import decimal

import pytest
from test_equals_batch import STREAM, TYPES, disordered, events

import cepsql
from cepsql.testing import play

QUERIES = {
    "a pattern over windows": """SELECT * FROM (
          SELECT k, window.end AS until, COUNT(*) AS n, SUM(d) AS total FROM events GROUP BY k, window(ts, '4 seconds'))
        MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY until MEASURES A.n AS a, B.n AS b, B.total AS total, B.until AS until
          AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE B AS B.n <> A.n)""",
    "every aggregate": """SELECT *, LAG(n) OVER (PARTITION BY u, even ORDER BY since) AS before FROM (
          SELECT upper(k) AS u, window.start AS since, window.end, COUNT(*) AS n, COUNT(DISTINCT x) AS different,
            SUM(DISTINCT x) FILTER (WHERE x > 2) AS few, AVG(d) AS mean, MAX(s) AS top, STDDEV(x) + 1 AS spread,
            PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) AS middle, SIZE(COLLECT_SET(s)) AS texts,
            APPROX_COUNT_DISTINCT(x) AS about, hll_sketch_estimate(hll_sketch_agg(x)) AS sketched, x % 2 = 0 AS even
          FROM events WHERE s <> 'a' GROUP BY upper(k), x % 2 = 0, window(ts, '8 seconds', '4 seconds', '1 second')
          HAVING COUNT(*) < 4)""",
    "sessions": """SELECT k, n, total, at, MIN(n) OVER (ORDER BY at, k, n ROWS 1 PRECEDING) AS least FROM (
          SELECT k, session_window.end AS at, session_window.start AS since, COUNT(*) AS n, SUM(x) AS total FROM events
          GROUP BY k, session_window(ts, '1500 milliseconds'))""",
    "windows over a pattern over windows": """SELECT at, SUM(m) OVER (ORDER BY at ROWS 1 PRECEDING) AS last FROM (
          SELECT window.end AS at, COUNT(*) AS m FROM (
            SELECT window.end AS until, COUNT(*) AS n FROM events GROUP BY window(ts, '1 second'))
          MATCH_RECOGNIZE (ORDER BY until MEASURES MATCH_ROWTIME() AS rowtime PATTERN (A B) WITHIN INTERVAL '9' SECONDS
            DEFINE B AS B.n <= A.n)
          GROUP BY window(rowtime, '5 seconds'))""",
}


@pytest.mark.parametrize("name", QUERIES)
def test_stream_equals_table(name, spark):
    seed = len(QUERIES[name]) + 2
    rows, query = events(seed), QUERIES[name]
    engine = cepsql.connect(spark)
    typed = [(k, at, x, None if d is None else decimal.Decimal(d), s) for k, at, x, d, s in rows]
    engine.register("events", spark.createDataFrame(typed, TYPES))
    expected = sorted(map(repr, engine.sql(query).collect()))
    assert len(expected) > 2
    played = play(STREAM + query, disordered(rows, seed), restart=True, spark=spark)
    assert sorted(repr(row) for batch in played for row in batch) == expected
