"""Runs the queries of `soak.py` until it is ended: `soaking.py FOLDER`; what they do is in FOLDER/status.json."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import cepsql
from cepsql.catalog import Sink
from cepsql.spark.jvm.launching.session import session
from cepsql.spark.run.standing_query import StandingQuery

STATUS_SECONDS, TRIGGER = 10.0, "3 seconds"
STREAM = """
CREATE STREAM {name} (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
USING csv OPTIONS (path '{folder}/{name}')
LATE ROWS INTO late_{name} USING parquet OPTIONS (path '{folder}/late_{name}', keep '3 minutes')
"""
QUERIES = {
    "match": """SELECT * FROM a MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts
  MEASURES MATCH_ID() AS id, A.x AS first, LAST(B.x) AS last, SUM(B.x) AS total
  PATTERN (A B+ C) WITHIN INTERVAL '60' SECONDS DEFINE B AS x > A.x, C AS x < A.x / 8)
""",
    "window": "SELECT window(ts, '10 seconds').start AS begun, k, COUNT(*) AS n FROM b "
    "GROUP BY window(ts, '10 seconds'), k",
    "join": """SELECT a.k, a.ts, b.x FROM a JOIN b
  ON a.k = b.k AND a.x = b.x AND b.ts BETWEEN a.ts - INTERVAL '10' SECONDS AND a.ts + INTERVAL '10' SECONDS
""",
}


def main(folder: Path) -> None:
    """Start the queries and write down how they do."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    spark = session(master="local[2]", conf={"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"})
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    engine = cepsql.connect(spark)
    for name in "ab":
        engine.sql(STREAM.format(name=name, folder=folder))
    sinks = {
        "match": {"path": f"{folder}/matches.db", "table": "matches", "create_table": "true"},
        "window": {"path": f"{folder}/windows"},
        "join": {"path": f"{folder}/pairs"},
    }
    running = [
        engine.sql(sql).start(
            sink=Sink("out", (), "sqlite" if name == "match" else "parquet", tuple(sinks[name].items())),
            name=name, trigger=TRIGGER, checkpoint=str(folder / f"checkpoint_{name}"),
        )
        for name, sql in QUERIES.items()
    ]  # fmt: skip
    while all(query.status == "running" for query in running):
        (folder / "status.new").write_text(json.dumps(status(spark, running)))
        os.replace(folder / "status.new", folder / "status.json")
        time.sleep(STATUS_SECONDS)
    for query in running:
        query.await_(0)
    sys.exit(1)


def status(spark, running: list[StandingQuery]) -> dict[str, float]:
    """Return what the queries hold and count, and how much of Java's heap is in use after a collection."""
    progress = [query.progress for query in running]
    memory = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    memory.gc()
    return {
        "Java heap MiB": memory.getHeapMemoryUsage().getUsed() / 2**20,
        "state rows": sum(one.state_rows for one in progress),
        "batch seconds": max(one.batch_seconds for one in progress),
        "batches": sum(one.batches for one in progress),
        "rows read": sum(one.rows_read for one in progress),
        "rows out": sum(one.rows_out for one in progress),
        "rows late": sum(one.rows_late for one in progress),
        "rows malformed": sum(one.rows_malformed for one in progress),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
