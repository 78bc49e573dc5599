"""What stands after a match over a stream gives what it gives in a batch query, whatever the micro-batches are."""

import itertools

import pytest
from arrived import define_table
from chance import everyday
from test_equals_batch import disordered, events

import cepsql
from cepsql.testing import play

STREAMS = "".join(
    f"CREATE STREAM {name} (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts - INTERVAL '6' SECONDS) USING csv;"
    for name in ("events", "others")
)

RISES = """rises AS (
  SELECT k, top, rowtime, rows * 2 AS size FROM events MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts
    MEASURES LAST(U.x) AS top, COUNT(*) AS rows, MATCH_ROWTIME() AS rowtime
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A U+?) WITHIN INTERVAL '9' SECONDS DEFINE U AS U.x > A.x AND U.x > 3) AS m
  WHERE top <> 6)"""

QUERIES = {
    "three patterns": f"""WITH {RISES}, paired AS (
        SELECT * FROM (
          SELECT r.*, t.name FROM rises AS r, (SELECT * FROM (VALUES ('p', 'P'), ('q', 'Q')) AS v (k, name)) AS t
          WHERE r.k = t.k
        ) MATCH_RECOGNIZE (
          ORDER BY rowtime, name MEASURES MATCH_NUMBER() AS number, LAST(Y.top) AS last
          ALL ROWS PER MATCH WITH UNMATCHED ROWS
          PATTERN (X Y*) WITHIN INTERVAL '7' SECONDS DEFINE Y AS Y.top >= X.top))
      SELECT * FROM paired MATCH_RECOGNIZE (
        PARTITION BY name ORDER BY rowtime MEASURES P.number AS p, Q.number AS q, P.top + Q.top AS tops, Q.size AS size,
          MATCH_ROWTIME() AS until
        AFTER MATCH SKIP TO NEXT ROW PATTERN (P Q) DEFINE Q AS Q.number >= P.number)""",
    "windows": f"""WITH {RISES}
      SELECT k, window(until, '10 seconds', '5 seconds').start AS began, COUNT(*) AS n, max_by(top, until) AS top,
        AVG(size) AS size
      FROM rises MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY rowtime
        MEASURES LAST(Y.top) AS top, SUM(size) AS size, MATCH_ROWTIME() AS until
        PATTERN (X Y{{1,2}}) WITHIN INTERVAL '8' SECONDS) AS pairs
      WHERE size < 30 GROUP BY k, window(until, '10 seconds', '5 seconds') HAVING COUNT(*) < 5""",
    "join": f"""WITH {RISES}
      SELECT r.k, r.rowtime, r.top, o.ts, o.x FROM rises AS r
      LEFT JOIN others AS o ON o.k = r.k AND o.ts > r.rowtime - INTERVAL '1' SECOND
        AND o.ts <= r.rowtime + INTERVAL '4' SECONDS AND o.x > r.top""",
    "streams side by side": """SELECT * FROM (
        SELECT k, ts, x, 'event' AS kind FROM events WHERE x <> 5
        UNION ALL SELECT k, ts, x * 10000000000, 'other' FROM others
        UNION ALL SELECT k, ts, -1, 'again' FROM events WHERE x = 5
      ) MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts, kind, x
        MEASURES CLASSIFIER() AS last, SUM(x) AS total, MATCH_ROWTIME() AS until, MATCH_NUMBER() AS number
        AFTER MATCH SKIP TO NEXT ROW PATTERN (E (O | G)+? E) WITHIN INTERVAL '40' SECONDS
        DEFINE E AS kind = 'event' AND x > 2, O AS kind = 'other' AND O.x >= E.x, G AS kind = 'again')""",
    "matches beside a stream": f"""WITH {RISES} SELECT * FROM (
        SELECT k, rowtime, top FROM rises UNION ALL SELECT k, ts, x + 100 FROM others
      ) MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY rowtime, top MEASURES X.top AS top, Y.top AS other
        AFTER MATCH SKIP TO NEXT ROW PATTERN (X Y) DEFINE X AS top < 100, Y AS top >= 100)""",
    "joined streams": """WITH pairs AS (
        SELECT e.k, e.ts, o.ts AS other, e.x, o.x AS y, t.name
        FROM events AS e JOIN others AS o ON e.k = o.k AND o.ts BETWEEN e.ts - INTERVAL '3' SECONDS
          AND e.ts + INTERVAL '5' SECONDS AND o.x + e.x > 4
        JOIN (SELECT * FROM (VALUES ('p', 'P'), ('q', 'Q')) AS v (k, name)) AS t ON t.k = o.k
        WHERE e.x <> 5)
      SELECT * FROM pairs MATCH_RECOGNIZE (
        PARTITION BY name ORDER BY ts, other, x, y
        MEASURES CLASSIFIER() AS last, FIRST(ts) AS began, LAST(other) AS other, SUM(y) AS total, MATCH_NUMBER() AS n
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+? C) WITHIN INTERVAL '20' SECONDS
        DEFINE B AS B.y >= A.x, C AS C.x > A.x)""",
    "left join": """SELECT * FROM (
        SELECT o.k, o.ts, e.ts AS other, coalesce(e.x, -1) AS x FROM others AS o LEFT JOIN events AS e
          ON CAST(o.k AS STRING) = e.k AND o.ts < e.ts AND e.ts < o.ts + INTERVAL '3' SECONDS AND o.x > 2 AND e.x > 3
        WHERE o.x < 8)
      MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts, x, other MEASURES A.ts AS a, C.ts AS c, COUNT(B.*) AS n
        PATTERN (A B* C) DEFINE A AS x = -1, B AS x > -1, C AS x = -1)""",
    "a stream with itself, then matches with a stream": """WITH rising AS (
        SELECT * FROM (
          SELECT one.k, two.ts, one.ts AS before, one.x, two.x AS y FROM events AS one, events AS two
          WHERE one.k = two.k AND two.ts > one.ts AND two.ts - INTERVAL '4' SECONDS <= one.ts AND two.x > one.x)
        MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY ts, before, x, y MEASURES A.x AS low, B.y AS top, MATCH_ROWTIME() AS at
          PATTERN (A B) WITHIN INTERVAL '6' SECONDS DEFINE B AS B.y > A.y)),
      met AS (
        SELECT r.k, o.x, r.top, greatest(o.ts, r.at) AS later FROM rising AS r RIGHT JOIN others AS o
        ON r.k = o.k AND o.ts >= r.at AND o.ts <= r.at + INTERVAL '9' SECONDS AND r.top > 4)
      SELECT * FROM met MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY later, x, top MEASURES X.x AS x, Y.x AS y, Y.top AS top, MATCH_ROWTIME() AS at
        AFTER MATCH SKIP TO NEXT ROW PATTERN (X Y) WITHIN INTERVAL '9' SECONDS DEFINE Y AS Y.x > X.x)""",
}

SEEDS = {
    "three patterns": 58,
    "windows": 7,
    "join": 4,
    "streams side by side": 17,
    "matches beside a stream": 3,
    "joined streams": 5,
    "left join": 6,
    "a stream with itself, then matches with a stream": 8,
}
ONE_STREAM = ("three patterns", "windows")


@pytest.mark.parametrize("name", everyday(QUERIES, 8))
def test_stream_equals_batch(name, spark, tmp_path):
    engine = cepsql.connect(spark)
    for seed in itertools.count(SEEDS[name]):
        rows = {stream: [row[:3] for row in events(seed + i)] for i, stream in enumerate(("events", "others"))}
        batches = [disordered(rows_of_stream, seed) for rows_of_stream in rows.values()]
        for stream, own in zip(rows, batches, strict=True):
            rows_of_stream = spark.createDataFrame(list(itertools.chain(*own)), "k STRING, ts TIMESTAMP, x INT")
            define_table(engine, tmp_path / f"{stream}{seed}", stream, rows_of_stream)
        expected = sorted(map(repr, engine.sql(QUERIES[name]).collect()))
        if len(expected) > 5:
            break
    if name in ONE_STREAM:
        played = play(STREAMS + QUERIES[name], batches[0], restart=name == "windows", spark=spark)
    else:
        both = [dict(zip(rows, pair, strict=True)) for pair in itertools.zip_longest(*batches, fillvalue=[])]
        played = play(STREAMS + QUERIES[name], both, restart=name != "join", spark=spark)
    assert sorted(repr(row) for batch in played for row in batch) == expected
