"""Runs bounded queries over files and prints what they give as JSON: `run_bounded.py connect|local FOLDER`."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import cepsql
from cepsql.errors import NotSupportedError

TABLE = "CREATE TABLE ticks (k STRING, ts TIMESTAMP, n INT) USING csv OPTIONS (path '{folder}/in')"
STREAM = """CREATE STREAM live (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) USING csv
OPTIONS (path '{folder}/in')"""
QUERIES = {
    "rows": "SELECT k, n FROM ticks WHERE n > 20",
    "by position": """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, n
        MEASURES A.n AS a, LAST(B.n) AS b, COUNT(*) AS c, MATCH_NUMBER() AS m PATTERN (A B+)
        DEFINE B AS n > PREV(n)) AS m""",
    "by what was matched": """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, n
        MEASURES SUM(A.n) AS total, CLASSIFIER() AS last AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B)
        DEFINE A AS SUM(A.n) < 50, B AS n > AVG(A.n)) AS m""",
    "all rows": """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, n
        MEASURES CLASSIFIER() AS c, RUNNING SUM(n) AS s ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B)
        DEFINE B AS n < A.n) AS m""",
    "matches of matches": """SELECT * FROM (
        SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, n
          MEASURES A.n AS first, B.n - A.n AS step, B.ts AS at PATTERN (A B) DEFINE B AS n > A.n))
        MATCH_RECOGNIZE (PARTITION BY k ORDER BY at, first MEASURES A.first AS first, A.step + B.step AS steps
          PATTERN (A B) DEFINE B AS step > 3)""",
    "over": """SELECT k, n, SUM(n) OVER (PARTITION BY k ORDER BY ts RANGE INTERVAL '10' SECONDS PRECEDING) AS s
        FROM ticks""",
    "windows": "SELECT window.start, k, COUNT(*) AS c FROM ticks GROUP BY window(ts, '30 seconds'), k",
    "join": "SELECT a.k, a.n, b.n AS m FROM ticks a JOIN ticks b ON a.k = b.k AND a.n = b.n AND a.ts < b.ts",
}


def main(mode: str, folder: Path) -> None:
    builder = SparkSession.builder.remote("local[2]") if mode == "connect" else SparkSession.builder.master("local[2]")
    settings = {"spark.sql.shuffle.partitions": "2"}
    if mode == "local":
        settings |= {"spark.driver.host": "127.0.0.1"}
    for key, value in settings.items():
        builder = builder.config(key, value)
    engine = cepsql.connect(builder.getOrCreate())
    try:
        engine.sql(TABLE.format(folder=folder))
        engine.sql(STREAM.format(folder=folder))
        engine.sql(f"CREATE SINK written (k STRING, n INT) USING json OPTIONS (path '{folder}/out')")
        engine.sql(f"CREATE TABLE there (k STRING, n INT) USING json OPTIONS (path '{folder}/out')")
        results = {}
        for name, text in QUERIES.items():
            results[name] = sorted(map(str, engine.sql(text).collect()))
        results["sink"] = engine.sql("INSERT INTO written SELECT k, n FROM ticks WHERE n > 20").message
        results["written"] = sorted(map(str, engine.sql("SELECT * FROM there").collect()))
        results["refused"] = [_refusal(engine, "SELECT k, n FROM live", drain) for drain in (False, True)]
        print(json.dumps(results))
    finally:
        engine.close()


def _refusal(engine: cepsql.Engine, text: str, drain: bool) -> str:
    """Return why a query over a stream does not start, "" if it does."""
    try:
        engine.sql(text).start(drain=drain).stop()
    except NotSupportedError as error:
        return error.message
    return ""


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
