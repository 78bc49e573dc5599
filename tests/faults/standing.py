"""Runs the queries of the harness until their input is used up: `standing.py FOLDER [PLACE MOMENT COUNT WHO]`.

With a place it dies there: `WHO` is python, jvm or both. It writes its process ids to FOLDER/pids as soon as it has
them. FAULTS_QUERIES names the queries that are to run, if not all are; FAULTS_POSTGRESQL and FAULTS_KAFKA say where
servers are. FAULTS_CHECKPOINTS is where the checkpoints lie if they do not lie in FOLDER, which Spark reaches by the
settings in FAULTS_SETTINGS; what they have come to is copied to FOLDER in the end.
"""

import functools
import hashlib
import json
import os
import sys
from pathlib import Path

import pyarrow.parquet as pq
from failpoints import arm, kill
from pyspark import SparkContext

import cepsql
import cepsql.spark.checkpoint.checkpoint
from cepsql.catalog import Sink
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, checkpoint_path
from cepsql.spark.jvm.launching.session import session

STREAM = """
CREATE STREAM {name} (k INT, ts TIMESTAMP, x INT, place INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
USING csv OPTIONS (path '{folder}/in/{name}', maxFilesPerTrigger '1')
LATE ROWS INTO late_{name} USING parquet OPTIONS (path '{folder}/late_{name}')
"""
MATCH = """SELECT * FROM a MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, place
  MEASURES MATCH_ID() AS id, A.place AS first, LAST(B.place) AS last, SUM(B.x) AS total
  PATTERN (A B+ C) WITHIN INTERVAL '60' SECONDS DEFINE B AS x > A.x, C AS x <= A.x)
"""
UNION = """SELECT * FROM (SELECT k, ts, x, place, 'a' AS s FROM a UNION ALL SELECT k, ts, x, place, 'b' FROM b)
MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, s, place
  MEASURES MATCH_ID() AS id, A.place AS first, B.place AS second
  PATTERN (A B) DEFINE A AS s = 'a', B AS s = 'b' AND x > A.x)
"""
CHAIN = """SELECT * FROM (
  SELECT * FROM a MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY ts, place
    MEASURES A.place AS first, B.place AS second, B.x - A.x AS step, MATCH_ROWTIME() AS rowtime
    PATTERN (A B) DEFINE B AS x > A.x))
MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY rowtime, first
  MEASURES MATCH_ID() AS id, A.first AS first, B.second AS second, A.step + B.step AS steps
  PATTERN (A B) DEFINE B AS step > 3)
"""
WINDOWS = """SELECT window(ts, '30 seconds').start AS begun, COUNT(*) AS n, SUM(x) AS total
FROM b GROUP BY window(ts, '30 seconds')
"""
HISTORY = """
CREATE TABLE earlier (k INT, ts TIMESTAMP, x INT, place INT) USING csv OPTIONS (path '{folder}/in/earlier');
CREATE STREAM later (k INT, ts TIMESTAMP, x INT, place INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
USING csv OPTIONS (path '{folder}/in/a', maxFilesPerTrigger '1')
BACKFILL FROM earlier UNTIL TIMESTAMP '2026-01-01 00:00:30'
"""
RATES = """
CREATE TABLE rates (k INT, rate INT) USING csv OPTIONS (path '{folder}/in/rates') REFRESH EVERY INTERVAL '1' SECOND
"""
CURRENT = """
CREATE STREAM {name} (
  k INT, ts TIMESTAMP, x INT, place INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS,
  PRIMARY KEY (k) DELETE WHEN x % 4 = 0
) USING csv OPTIONS (path '{folder}/in/{stream}', maxFilesPerTrigger '1')
"""
RATED = "SELECT b.place, b.x * r.rate AS worth FROM b JOIN rates AS r ON r.k = b.k"
PAIRS = """SELECT a.place AS first, b.place AS second, b.x
FROM a LEFT JOIN b ON b.k = a.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '10' SECONDS AND b.x > 20
"""
FRAMES = """SELECT k, place, x, SUM(x) OVER last AS recent, COUNT(*) OVER last AS n, LAG(place) OVER before AS previous
FROM a WINDOW last AS (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '20' SECONDS PRECEDING AND CURRENT ROW),
  before AS (PARTITION BY k ORDER BY ts, place)
"""
PLAIN = """
CREATE STREAM c (k INT, ts TIMESTAMP, x INT, place INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
USING csv OPTIONS (path '{folder}/in/a', maxFilesPerTrigger '1')
"""
WORTH = "SELECT place, k, x * 2 AS worth, concat('at ', date_format(ts, 'HH:mm:ss')) AS at FROM c WHERE x % 3 <> 0"
GROUPS = "SELECT k, COUNT(*) AS n, SUM(x) AS total, MAX(place) AS last FROM a GROUP BY k EMIT CHANGES"
TABLES = "SELECT p.k, p.place AS left_place, q.place AS right_place FROM p JOIN q ON p.k = q.k EMIT CHANGES"


def main(folder: Path, die_at: list[str]) -> None:
    # The states are small, and in files all the same.
    cepsql.spark.checkpoint.checkpoint.StateFolder = functools.partial(StateFolder, least=1)
    spark = session(
        master="local[2]",
        conf={
            "spark.sql.shuffle.partitions": "2",
            **json.loads(os.environ.get("FAULTS_SETTINGS", "{}")),
        },
    )
    python, jvm = os.getpid(), SparkContext._gateway.proc.pid
    (folder / "pids.new").write_text(json.dumps({"python": python, "jvm": jvm}))
    os.replace(folder / "pids.new", folder / "pids")
    if die_at:
        place, moment, count, who = die_at
        dying = {"python": [python], "jvm": [jvm], "both": [jvm, python]}[who]
        arm(place, moment, int(count), lambda: kill(dying))
    engine = cepsql.connect(spark)
    for name in "ab":
        engine.sql(STREAM.format(name=name, folder=folder))
    for name, stream in (("p", "a"), ("q", "b")):
        engine.sql(CURRENT.format(name=name, stream=stream, folder=folder))
    for statement in (*HISTORY.split(";"), RATES, PLAIN):
        engine.sql(statement.format(folder=folder))
    remote = os.environ.get("FAULTS_CHECKPOINTS")
    standing = {}
    for name, (sql, sink) in queries(folder).items():
        checkpoint = checkpoint_path(f"{remote or folder}/checkpoint_{name}", lambda: spark)
        if remote:
            copy_outcome(checkpoint, folder / f"checkpoint_{name}")
        if name in os.environ.get("FAULTS_QUERIES", name).split() and not is_finished(folder, name):
            query = engine.sql(sql).start(sink=sink, name=name, drain=True, checkpoint=str(checkpoint))
            standing[name] = (query, checkpoint)
    for name, (query, checkpoint) in standing.items():
        query.await_()
        if remote:
            copy_outcome(checkpoint, folder / f"checkpoint_{name}")


def copy_outcome(checkpoint: CheckpointPath, folder: Path) -> None:
    """Copy what tells whether a query has come to its end, and its counts."""
    folder.mkdir(exist_ok=True)
    for name in ("progress.json", "plan.json"):
        if (checkpoint / name).exists():
            (folder / f".{name}").write_bytes((checkpoint / name).read_bytes())
            os.replace(folder / f".{name}", folder / name)


def is_finished(folder: Path, name: str) -> bool:
    """Tell whether a query has come to its end, as its checkpoint says."""
    plan = folder / f"checkpoint_{name}" / "plan.json"
    return plan.exists() and json.loads(plan.read_text())["finished"]


def queries(folder: Path) -> dict[str, tuple[str, Sink]]:
    """Return the queries by name, each with its sink."""
    url = os.environ.get("FAULTS_POSTGRESQL")
    database = {"url": url, "schema": os.environ.get("FAULTS_SCHEMA", "public")} if url else {"path": f"{folder}/p.db"}
    by_name = {
        "match": (MATCH, _sink("parquet", path=f"{folder}/match")),
        "unions": (UNION, _sink("sqlite", path=f"{folder}/s.db", table="unions", create_table="true")),
        "chain": (CHAIN, _sink("postgresql" if url else "sqlite", **database, table="chain", create_table="true")),
        "keyed": (MATCH, _sink("sqlite", "id", path=f"{folder}/k.db", table="keyed", create_table="true")),
        "windows": (WINDOWS, _sink("json", path=f"{folder}/windows")),
        "history": (MATCH.replace("FROM a", "FROM later"), _sink("parquet", path=f"{folder}/history")),
        "rated": (RATED, _sink("parquet", path=f"{folder}/rated")),
        "pairs": (PAIRS, _sink("parquet", path=f"{folder}/pairs")),
        "frames": (FRAMES, _sink("parquet", path=f"{folder}/frames")),
        "groups": (GROUPS, _sink("sqlite", "k", path=f"{folder}/g.db", table="groups", create_table="true")),
        "tables": (TABLES, _sink("sqlite", "k", path=f"{folder}/t.db", table="tables", create_table="true")),
        "plain": (WORTH, _sink("csv", path=f"{folder}/plain")),
        "calls": (MATCH, _sink("python", function="standing:keep")),
    }
    if broker := os.environ.get("FAULTS_KAFKA"):
        topic = os.environ["FAULTS_TOPIC"]
        by_name["topic"] = (MATCH, _sink("kafka", **{"topic": topic, "kafka.bootstrap.servers": broker}))
    return by_name


def keep(rows, batch) -> None:
    """Keep the rows of a batch under its key, so that one that comes again takes the place of the first."""
    folder = Path(sys.argv[1]) / "calls"
    folder.mkdir(exist_ok=True)
    name = hashlib.sha256(batch.key.encode()).hexdigest()
    pq.write_table(rows, folder / f".{name}")
    os.rename(folder / f".{name}", folder / f"{name}.parquet")


def _sink(format: str, key: str = "", **options: str) -> Sink:
    return Sink("out", (), format, tuple(options.items()), tuple(key.split()))


if __name__ == "__main__":
    sys.modules["standing"] = sys.modules["__main__"]
    main(Path(sys.argv[1]), sys.argv[2:])
