"""Time one Spark pipeline over the benchmark's events; run in a process of its own.

    measure.py pass-through|per-key|cepsql|cepsql-spark-scan FILES --warm-up FILES [--query NAME] [--cores 2]
               [--repeat 1]

The warm-up is the same pipeline over fewer rows in the same session, so that the JVM's compiler and the Python workers
are warm when the clock starts. Prints one JSON object:

seconds        wall clock of each run, from building the query to its end
batch_seconds  the time of its micro-batches alone, as Spark's progress reports it (durationMs.triggerExecution)
batches        how many micro-batches there were
matches        how many rows the query gave, null if the pipeline finds none
"""

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from pipelines import Pipeline, cepsql_query, count_per_key, pass_through
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener
from report import CEPSQL, CEPSQL_SPARK_SCAN, PASS_THROUGH, PER_KEY

import cepsql
from queries import QUERIES

LISTENER_SECONDS = 30


class BatchTimes(StreamingQueryListener):
    """Adds up the micro-batches of the queries of a session."""

    def __init__(self):
        self.milliseconds = self.batches = self._running = 0

    def onQueryStarted(self, event) -> None:
        """Note that a query runs."""
        self._running += 1

    def onQueryProgress(self, event) -> None:
        """Add the time of a micro-batch."""
        self.milliseconds += event.progress.durationMs["triggerExecution"]
        self.batches += 1

    def onQueryIdle(self, event) -> None:
        """An idle trigger is no micro-batch."""

    def onQueryTerminated(self, event) -> None:
        """Note that a query has ended; Spark reports this after its last progress."""
        self._running -= 1

    def settle(self) -> None:
        """Wait until everything that has ended is reported: listeners run behind the queries."""
        deadline = time.monotonic() + LISTENER_SECONDS
        while self._running and time.monotonic() < deadline:
            time.sleep(0.05)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pipeline", choices=[PASS_THROUGH, PER_KEY, CEPSQL, CEPSQL_SPARK_SCAN])
    parser.add_argument("files", type=Path)
    parser.add_argument("--warm-up", type=Path, required=True)
    parser.add_argument("--query", choices=QUERIES)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    pipelines = {
        PASS_THROUGH: pass_through,
        PER_KEY: count_per_key,
        CEPSQL: cepsql_query(options.query, "auto"),
        CEPSQL_SPARK_SCAN: cepsql_query(options.query, "spark"),
    }
    pipeline = pipelines[options.pipeline]
    spark = session(options.cores)
    times = BatchTimes()
    spark.streams.addListener(times)
    try:
        _timed(pipeline, spark, options.warm_up, times)
        runs = [_timed(pipeline, spark, options.files, times) for _ in range(options.repeat)]
    finally:
        spark.stop()
    print(json.dumps({name: [run[name] for run in runs] for name in runs[0]}))


def session(cores: int, more: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session as cepsql makes it, on this machine, with as many shuffle partitions as cores."""
    conf = {"spark.sql.shuffle.partitions": str(cores), "spark.sql.session.timeZone": "UTC"}
    return cepsql.connect(master=f"local[{cores}]", conf=conf | dict(more or {})).spark


def _timed(pipeline: Pipeline, spark: SparkSession, files: Path, times: BatchTimes) -> dict:
    milliseconds, batches = times.milliseconds, times.batches
    with tempfile.TemporaryDirectory(prefix="cepsql-bench-") as checkpoint:
        start = time.perf_counter()
        matches = pipeline(spark, files, Path(checkpoint))
        seconds = time.perf_counter() - start
    times.settle()
    return {
        "seconds": seconds,
        "batch_seconds": (times.milliseconds - milliseconds) / 1000,
        "batches": times.batches - batches,
        "matches": matches,
    }


if __name__ == "__main__":
    main()
