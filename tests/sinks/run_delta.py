"""Writes a stream to a Delta table: `run_delta.py FOLDER JARS [die|repeat|fail]`; prints the table's rows as JSON.

die: the process kills itself after a batch was written, before that is recorded. repeat: each batch is written twice.
fail: prints why the query fails instead.
"""

import json
import os
import signal
import sys
from pathlib import Path

import cepsql
from cepsql.sinks.spark_format import SparkSink
from cepsql.spark.run.standing_query import StandingQuery

DEFINITIONS = """
CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) USING csv
OPTIONS (path '{folder}/in', maxFilesPerTrigger '1');
CREATE SINK pairs (k STRING, a INT, b INT) USING delta OPTIONS (path '{folder}/pairs');
CREATE QUERY rises INTO pairs OPTIONS (checkpoint '{folder}/checkpoint') AS
SELECT k, a, b FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) DEFINE B AS n > A.n
) AS m
"""


def main(folder: Path, jars: str, fault: str = "") -> None:
    if fault == "die":
        StandingQuery._after_batch = lambda self, batch: os.kill(os.getpid(), signal.SIGKILL)
    if fault == "repeat":
        SparkSink.write = _twice(SparkSink.write)
    conf = {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
    }
    engine = cepsql.connect(master="local[2]", conf=conf, catalog=str(folder / "catalog.db"))
    try:
        if engine.catalog.names.find("ticks") is None:
            engine.sql(DEFINITIONS.format(folder=folder))
        query = engine.queries["rises"]
        while query.status == "running":
            # The lease of the process that died has not ended.
            query.wait(0.5)
        query.start()
        files = len(list((folder / "in").glob("*.csv")))
        while fault == "fail" or (query.progress.get("rows_read") or 0) < 2 * files:
            if query.status in ("failed", "failing") and fault == "fail":
                print(json.dumps([query.error]))
                return
            assert query.status != "failed", query.error
            query.wait(0.2)
        query.stop()
        rows = engine.spark.read.format("delta").load(str(folder / "pairs")).collect()
        print(json.dumps([sorted([row.a, row.b] for row in rows), query.progress["rows_out"]]))
    finally:
        engine.close()


def _twice(write):
    def writing(self, frame, batch):
        write(self, frame, batch)
        return write(self, frame, batch)

    return writing


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
