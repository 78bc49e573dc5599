"""Time windows of event time by cepsql and by Spark's own streaming aggregation, over the same files, in turns.

    python tests/bench/windows.py [--rows 2000000] [--keys 200000] [--rounds 3] [--cores 2] [--dir DIR] [--json FILE]
                                  [--queries tumbling hopping ...]

Both run in one session, each once to get warm, then in turns; a run reads all files in one micro-batch, into nothing.
Prints the median rows a second of either, and their ratio. Spark has no OVER on streams: frames are held against
`pass-through`, Spark's scan, a shuffle by key, and the way to Python and back.

Spark gives out the windows that its watermark has passed, cepsql all of them when the input ends.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from events import prepare
from measure import BatchTimes, session
from pipelines import SCHEMA, pass_through
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import cepsql
from queries import COLUMNS, DELAY_SECONDS

TOTALS = "COUNT(*) AS n, SUM(price) AS total, AVG(price) AS mean"
TEN_SECONDS = "(PARTITION BY key ORDER BY ts RANGE BETWEEN INTERVAL '10' SECONDS PRECEDING AND CURRENT ROW)"

QUERIES = {
    "tumbling": f"SELECT key, window_start, {TOTALS} FROM events WINDOW TUMBLING (SIZE 1 MINUTE) "
    "GROUP BY key, window_start, window_end EMIT ON WINDOW CLOSE",
    "hopping": f"SELECT key, window_start, {TOTALS} FROM events WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 20 SECONDS) "
    "GROUP BY key, window_start, window_end EMIT ON WINDOW CLOSE",
    "session": f"SELECT key, window_start, {TOTALS} FROM events WINDOW SESSION (GAP 10 SECONDS PARTITION BY key) "
    "GROUP BY key, window_start, window_end EMIT ON WINDOW CLOSE",
    "frames": f"SELECT key, ts, COUNT(*) OVER {TEN_SECONDS} AS n, AVG(price) OVER {TEN_SECONDS} AS mean FROM events",
    "running": "SELECT key, ts, COUNT(*) OVER (PARTITION BY key ORDER BY ts) AS n, "
    "SUM(price) OVER (PARTITION BY key ORDER BY ts) AS total FROM events",
}


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "cepsql-bench")
    parser.add_argument("--queries", nargs="+", choices=QUERIES, default=list(QUERIES))
    parser.add_argument("--json", type=Path, help="append the results to this file, one JSON line each")
    options = parser.parse_args()
    events = prepare(options.dir, options.rows, options.keys)
    spark = session(options.cores)
    times = BatchTimes()
    spark.streams.addListener(times)
    print(f"{'query':9}  {'cepsql rows/s':>13}  {'against':>12}  {'its rows/s':>10}  ratio")
    for name in options.queries:
        other, pipeline = _other(name)
        runs: dict[str, list[float]] = {"cepsql": [], other: []}
        for turn in range(options.rounds + 1):
            for system, run in (("cepsql", _cepsql(name)), (other, pipeline)):
                seconds = _seconds(run, spark, events.spark, times)
                if turn:
                    runs[system].append(events.rows / seconds)
        ours, theirs = (statistics.median(runs[system]) for system in ("cepsql", other))
        print(f"{name:9}  {ours:13,.0f}  {other:>12}  {theirs:10,.0f}  {ours / theirs:5.2f}", flush=True)
        if options.json:
            with options.json.open("a") as file:
                file.write(json.dumps({"query": name, "rows": events.rows, "keys": events.keys, **runs}) + "\n")
    spark.stop()


Run = Callable[[SparkSession, Path, Path], object]


def _seconds(run: Run, spark: SparkSession, files: Path, times: BatchTimes) -> float:
    """Return the seconds of the micro-batches of a run."""
    before = times.milliseconds
    with tempfile.TemporaryDirectory(prefix="cepsql-bench-") as checkpoint:
        run(spark, files, Path(checkpoint))
    times.settle()
    return (times.milliseconds - before) / 1000


def _cepsql(name: str) -> Run:
    def run(spark: SparkSession, files: Path, checkpoint: Path) -> int:
        groups = 0

        def count(rows: pa.Table, batch_id: int) -> None:
            nonlocal groups
            groups += len(rows)

        engine = cepsql.connect(spark)
        columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS)
        engine.sql(
            f"CREATE STREAM events ({columns}, WATERMARK FOR ts AS ts - INTERVAL '{DELAY_SECONDS}' SECOND) "
            f"USING csv OPTIONS (path '{files.absolute()}')"
        )
        engine.sql(QUERIES[name]).start(on_rows=count, drain=True).await_(None)
        return groups

    return run


def _other(name: str) -> tuple[str, Run]:
    """Return what a query is held against, and its name."""
    windows = {
        "tumbling": lambda: F.window("ts", "1 minute"),
        "hopping": lambda: F.window("ts", "1 minute", "20 seconds"),
        "session": lambda: F.session_window("ts", "10 seconds"),
    }
    if name not in windows:
        return "pass-through", pass_through

    def run(spark: SparkSession, files: Path, checkpoint: Path) -> None:
        rows = spark.readStream.schema(SCHEMA).csv(str(files)).withWatermark("ts", f"{DELAY_SECONDS} seconds")
        _drain(_totals(rows, windows[name]()), checkpoint)

    return "Spark", run


def _totals(rows: DataFrame, window: object) -> DataFrame:
    totals = F.count("*").alias("n"), F.sum("price").alias("total"), F.avg("price").alias("mean")
    return rows.groupBy("key", window).agg(*totals)


def _drain(rows: DataFrame, checkpoint: Path) -> None:
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).outputMode("append")
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
