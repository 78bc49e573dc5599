"""Window functions and windows give what Spark gives over a table of the rows, whatever the micro-batches are."""

import datetime
import decimal
import itertools
from collections import Counter

import pytest
from chance import everyday
from test_equals_batch import STREAM, TYPES, disordered, events

import cepsql
from cepsql.testing import play

QUERIES = {
    "frames of rows": """SELECT *, SUM(x * 2) OVER w AS total, AVG(d) OVER w AS mean,
          COUNT(*) FILTER (WHERE x > 4) OVER w AS n,
          STDDEV(x) OVER w AS spread, MAX(s) OVER w AS top,
          LAG(x, 2, -1) OVER (PARTITION BY k ORDER BY ts, x, d, s) AS back,
          FIRST_VALUE(d) IGNORE NULLS OVER w AS first, NTH_VALUE(x, 2) OVER w AS second, LAST_VALUE(s) OVER w AS last,
          PERCENTILE(x, 0.5) OVER w AS middle, COLLECT_LIST(x) OVER w AS listed
        FROM events WINDOW w AS (PARTITION BY k ORDER BY ts, x, d, s ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)""",
    "frames of time": """SELECT k, ts, x - MIN(x) OVER w AS above, SUM(d) OVER w AS total, COUNT(x) OVER (
          PARTITION BY upper(k), x > 4 ORDER BY ts
          RANGE BETWEEN INTERVAL '8' SECONDS PRECEDING AND INTERVAL '1' SECOND PRECEDING) AS n,
          MAX(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1' DAY PRECEDING
            AND INTERVAL '2' SECONDS PRECEDING) AS before
        FROM events WHERE s <> 'c'
        WINDOW w AS (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '5' SECONDS PRECEDING AND CURRENT ROW)""",
    "frames ahead": """SELECT *, LEAD(x) OVER (PARTITION BY k ORDER BY ts, x, d, s) AS next,
          SUM(x) OVER (
            PARTITION BY k ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL '4' SECONDS FOLLOWING) AS coming,
          SUM(x) OVER (PARTITION BY k ORDER BY ts, x, d, s ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS two
        FROM events""",
    "a pattern over frames": """SELECT * FROM (
          SELECT k, ts, x, AVG(x) OVER (
            PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '6' SECONDS PRECEDING AND CURRENT ROW) AS mean
          FROM events)
        MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY ts, x MEASURES A.x AS x, LAST(B.mean) AS mean
          PATTERN (A B) DEFINE B AS B.mean < A.mean)""",
    "frames over a pattern": """SELECT *, SUM(n) OVER (PARTITION BY k ORDER BY until ROWS 2 PRECEDING) AS total
        FROM events MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY ts, x, d, s MEASURES COUNT(*) AS n, LAST(B.x) AS x, MATCH_ROWTIME() AS until
          PATTERN (A B+?) WITHIN INTERVAL '9' SECONDS DEFINE B AS B.x > A.x)""",
    "running totals": """SELECT *, SUM(x) OVER w AS total, COUNT(*) OVER w AS n, AVG(d) OVER w AS mean,
          MAX(s) OVER w AS top, COUNT_IF(x > 4) OVER r AS many,
          AVG(x) FILTER (WHERE s <> 'a') OVER r AS some, SUM(d) OVER r AS sum_d, MIN(d) OVER r AS least,
          FIRST_VALUE(s) OVER w AS first, LAST_VALUE(x) IGNORE NULLS OVER r AS last,
          ROW_NUMBER() OVER w AS number, RANK() OVER (PARTITION BY k ORDER BY ts) AS rank, SUM(x / 10) OVER r AS tenth,
          DENSE_RANK() OVER (PARTITION BY k ORDER BY ts) AS dense, SUM(x) OVER (ORDER BY ts) AS overall
        FROM events WINDOW w AS (PARTITION BY k ORDER BY ts, x, d, s),
          r AS (PARTITION BY k ORDER BY ts, x, d, s ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)""",
    "frames over frames": """SELECT k, ts, ahead, MAX(ahead) OVER (ORDER BY ts, k, x ROWS 4 PRECEDING) AS most FROM (
          SELECT DISTINCT k, ts, x, COUNT(*) OVER
            (PARTITION BY k ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL '3' SECONDS FOLLOWING) AS ahead
          FROM events) QUALIFY most > 1""",
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
    "the most of each window": """SELECT until, k, n, RANK() OVER w AS rank, NTILE(2) OVER w AS half,
          SUM(n) OVER (PARTITION BY until) AS overall FROM (
          SELECT window.end AS until, k, COUNT(*) AS n FROM events GROUP BY k, window(ts, '10 seconds'))
        QUALIFY ROW_NUMBER() OVER w <= 2 WINDOW w AS (PARTITION BY until ORDER BY n DESC, k)""",
    "windows over windows": """SELECT at, no, most, ROW_NUMBER() OVER (PARTITION BY no ORDER BY at, most) AS n FROM (
          SELECT window.end AS at, window_end IS NULL AS no, MAX(n) AS most FROM (
            SELECT k AS window_end, window.end AS e, COUNT(*) AS n FROM events GROUP BY 1, 2, window(ts, '2 seconds'))
          GROUP BY window_end, window(e, '10 seconds'))""",
    "sessions": """SELECT k, n, total, at, MIN(n) OVER (ORDER BY at, k, n ROWS 1 PRECEDING) AS least FROM (
          SELECT k, session_window.end AS at, session_window.start AS since, COUNT(*) AS n, SUM(x) AS total FROM events
          GROUP BY k, session_window(ts, '1500 milliseconds'))""",
    "tumbling": """SELECT k, window_start, COUNT(*) AS n, SUM(d) AS total, window_end, COUNT(DISTINCT s) AS texts
        FROM events AS e WINDOW TUMBLING (SIZE 4 SECONDS, OFFSET 1 SECOND) WHERE s <> 'b'
        GROUP BY e.k, window_start, window_end HAVING COUNT(*) > 1""",
    "distinct values": """SELECT k, window_start, COUNT(DISTINCT x) AS xs, SUM(DISTINCT x) FILTER (WHERE x > 2) AS few,
          AVG(DISTINCT d) AS mean, SUM(DISTINCT d) AS total, COUNT(DISTINCT s) FILTER (WHERE x > 1) AS texts,
          COUNT(DISTINCT ts) AS times, COUNT(DISTINCT IF(x > 4, DOUBLE('NaN'), IF(x > 2, 0.0D, -0.0D))) AS floats,
          COUNT(*) AS n, MAX(DISTINCT s) AS top, COUNT(DISTINCT x > 3) AS sides, COUNT(x) AS known
        FROM TABLE(HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '3' SECONDS, INTERVAL '9' SECONDS))
        GROUP BY k, window_start, window_end""",
    "hopping, of the most": """SELECT window_end, k, n, RANK() OVER (
            PARTITION BY window_end, window_start ORDER BY n DESC, k) AS rank FROM (
          SELECT window_start, window_end, window_time, k, COUNT(*) AS n
          FROM TABLE(HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '3' SECONDS, INTERVAL '10' SECONDS))
          GROUP BY 1, 2, 3, 4) QUALIFY rank < 3""",
    "cumulating by the beginning": """SELECT window_start, COUNT(*) AS n, MAX(window_end) AS last
        FROM events WINDOW CUMULATING (SIZE 12 SECONDS, STEP 4 SECONDS) GROUP BY window_start""",
    "sessions of a clause": """SELECT k, window_start, window_end, COUNT(*) AS n, MIN(x) AS least
        FROM events WINDOW SESSION (GAP 2 SECONDS) GROUP BY k, window_start, window_end""",
    "sessions of which some rows are chosen": """SELECT k, window_start, window_end, COUNT(*) AS n
        FROM events WINDOW SESSION (GAP 4 SECONDS PARTITION BY k) WHERE x > 5 GROUP BY k, window_start, window_end""",
    "aggregates in an order of their own": """SELECT k, window_end, LISTAGG(x, ',') WITHIN GROUP (ORDER BY x) AS listed,
          PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) AS middle, MODE() WITHIN GROUP (ORDER BY s) AS common,
          FIRST(k) FILTER (WHERE x > 2) AS one, LAST(IF(x > 2, k, NULL), true) FILTER (WHERE x > 1) AS other
        FROM events WINDOW TUMBLING (SIZE 5 SECONDS) GROUP BY k, window_start, window_end""",
    "rows of sessions": """SELECT k, x, window_start, window_end, window_time FROM TABLE(SESSION(
          TABLE events PARTITION BY (k, s), DESCRIPTOR(ts), INTERVAL '3' SECONDS)) WHERE x > 1""",
    "windows in windows": """WITH counted AS (
          SELECT k, window_time AS rowtime, COUNT(*) AS n FROM TABLE(CUMULATE(
            DATA => TABLE events, TIMECOL => DESCRIPTOR(ts), STEP => INTERVAL 1 SECOND, SIZE => INTERVAL 3 SECONDS))
          WHERE window_start IS NOT NULL GROUP BY k, window_start, window_end, window_time)
        SELECT window_start, window_end, SUM(n) AS n, MAX(n) AS most
        FROM TABLE(TUMBLE(TABLE counted, DESCRIPTOR(rowtime), INTERVAL '9' SECONDS))
        GROUP BY window_start, window_end""",
    "rows of windows, joined and ranked": """SELECT k, note, window_start, n, first FROM (
          SELECT e.k, note, window_start, window_end, SUM(x) AS n, MIN(number) AS first FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start ORDER BY x, ts, k, d, s) AS number
            FROM events WINDOW HOPPING (SIZE 6 SECONDS, ADVANCE BY 2 SECONDS)) AS e
          JOIN (SELECT 'p' AS k, 'first' AS note) AS notes ON e.k = notes.k
          GROUP BY e.k, note, window_start, window_end)""",
    "a pattern over days": """SELECT * FROM (
          SELECT window_start, window_end, COUNT(*) AS n FROM events WINDOW TUMBLING (SIZE 1 DAY)
          GROUP BY window_start, window_end)
        MATCH_RECOGNIZE (ORDER BY window_start MEASURES A.n AS n, A.window_end AS until PATTERN (A))""",
    "windows over a pattern over windows": """SELECT at, SUM(m) OVER (ORDER BY at ROWS 1 PRECEDING) AS last FROM (
          SELECT window.end AS at, COUNT(*) AS m FROM (
            SELECT window.end AS until, COUNT(*) AS n FROM events GROUP BY window(ts, '1 second'))
          MATCH_RECOGNIZE (ORDER BY until MEASURES MATCH_ROWTIME() AS rowtime PATTERN (A B) WITHIN INTERVAL '9' SECONDS
            DEFINE B AS B.n <= A.n)
          GROUP BY window(rowtime, '5 seconds'))""",
}


CHANGING = {
    "hopping": "GROUP BY k, window(ts, '6 seconds', '3 seconds') EMIT CHANGES",
    "sessions": "GROUP BY k, session_window(ts, '2 seconds') EMIT EVERY INTERVAL '4' SECONDS",
}


@pytest.mark.parametrize("name", everyday(CHANGING))
def test_changes_add_up_to_the_table(name, spark):
    """Whoever applies the changes of each batch, first what is gone, has what the table gives in the end."""
    query = f"SELECT k, COUNT(*) AS n, SUM(d) AS total, COUNT(DISTINCT s) AS texts FROM events {CHANGING[name]}"
    engine, rows = cepsql.connect(spark), events(5)
    typed = [(k, at, x, None if d is None else decimal.Decimal(d), s) for k, at, x, d, s in rows]
    engine.register("events", spark.createDataFrame(typed, TYPES))
    expected = Counter((row.k, row.n, row.total, row.texts) for row in engine.sql(query).collect())
    totals: Counter = Counter()
    for batch in play(STREAM + query, disordered(rows, 5), restart={1, 3}, spark=spark):
        changes = [((row.k, row.n, row.total, row.texts), row.op) for row in batch]
        totals.subtract(row for row, operation in changes if operation in ("-U", "-D"))
        assert min(totals.values(), default=0) >= 0
        totals.update(row for row, operation in changes if operation in ("+I", "+U"))
    assert +totals == expected


@pytest.fixture
def local_zone(spark):
    """Let the session's clock show what the machine's does, by which pyspark takes and gives datetimes."""
    before = spark.conf.get("spark.sql.session.timeZone")
    offset = datetime.datetime(2026, 1, 1).astimezone().strftime("%z")
    spark.conf.set("spark.sql.session.timeZone", f"{offset[:3]}:{offset[3:]}")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("name", everyday(QUERIES, 12))
def test_stream_equals_table(name, spark, local_zone):
    query, engine = QUERIES[name], cepsql.connect(spark)
    for seed in itertools.count(len(query)):
        rows = events(seed)
        typed = [(k, at, x, None if d is None else decimal.Decimal(d), s) for k, at, x, d, s in rows]
        engine.register("events", spark.createDataFrame(typed, TYPES))
        expected = sorted(map(repr, engine.sql(query).collect()))
        if len(expected) > 2 or (expected and "DAY" in query):
            break
    played = play(STREAM + query, disordered(rows, seed), restart={1, 3}, spark=spark)
    assert sorted(repr(row) for batch in played for row in batch) == expected
