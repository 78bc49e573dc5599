"""Runs queries on a master and prints what they give as JSON: `run_query.py MASTER FOLDER`."""

import json
import sys
from pathlib import Path

import cepsql

STREAM = """
CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
USING csv OPTIONS (path '{folder}/in', maxFilesPerTrigger '2')
LATE ROWS INTO late USING parquet OPTIONS (path '{folder}/late')
"""
RISES = """SELECT k, a, b, n FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, n
  MEASURES A.n AS a, LAST(B.n) AS b, COUNT(*) AS n
  PATTERN (A B+ C) WITHIN INTERVAL '60' SECONDS DEFINE B AS n > A.n, C AS n <= A.n
) AS m"""
CHAIN = """SELECT * FROM (
  SELECT * FROM ticks MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts, n MEASURES A.n AS first, B.n - A.n AS step, MATCH_ROWTIME() AS at
    PATTERN (A B) DEFINE B AS n > A.n))
MATCH_RECOGNIZE (PARTITION BY k ORDER BY at, first MEASURES A.first AS first, A.step + B.step AS steps PATTERN (A B)
  DEFINE B AS step > 3)"""
OVER = "SELECT k, ts, n, SUM(n) OVER (PARTITION BY k ORDER BY ts RANGE INTERVAL '10' SECONDS PRECEDING) AS s FROM ticks"


def main(master: str, folder: Path) -> None:
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m"}
    engine = cepsql.connect(master=master, conf=conf)
    try:
        engine.sql(STREAM.format(folder=folder))
        results = {}
        for name, text in (("rises", RISES), ("chain", CHAIN), ("over", OVER)):
            with engine.sql(text).start(drain=True, checkpoint=str(folder / f"checkpoint_{name}")) as standing:
                rows = [row for table in standing.rows() for row in table.to_pylist()]
            counts = [standing.progress.rows_read, standing.progress.rows_used, standing.progress.rows_late]
            results[name] = [counts, sorted(map(str, rows))]
        # Each query has written its own late rows there.
        results["late"] = sorted(map(str, engine.sql("SELECT reason, record, k, n FROM late").collect()))
        engine.sql(f"CREATE TABLE past (k STRING, ts TIMESTAMP, n INT) USING csv OPTIONS (path '{folder}/in')")
        results["bounded"] = sorted(map(str, engine.sql(RISES.replace("FROM ticks", "FROM past")).collect()))
        print(json.dumps(results))
    finally:
        engine.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
