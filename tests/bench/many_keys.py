"""Time small batches on top of much state: keys that each hold one open partial match, and 10,000 rows more.

    python tests/bench/many_keys.py [--keys 10000 1000000] [--batch 10000] [--batches 5] [--json FILE]

The query is `A B*? C WITHIN 1 DAY` per key. The first micro-batch gives every key an A; each further one has --batch
rows of keys drawn at random, a fifth of them a C that completes a match. For each number of keys one standing query
runs in one session, from its own files. Prints the median seconds of a further micro-batch, as Spark's progress reports
them (durationMs.triggerExecution), the size of the state, and the last median as a multiple of the first.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import session
from pyspark.sql import SparkSession

import cepsql

STREAM = """CREATE STREAM events (ts TIMESTAMP, key BIGINT, price DOUBLE, kind STRING,
    WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) USING parquet OPTIONS (path '{folder}', maxFilesPerTrigger '1')"""

QUERY = """SELECT * FROM events MATCH_RECOGNIZE (
  PARTITION BY key
  ORDER BY ts
  MEASURES A.price AS first_price, C.price AS last_price
  PATTERN (A B*? C) WITHIN INTERVAL '1' DAY
  DEFINE A AS A.kind = 'a', C AS C.kind = 'c' AND C.price > A.price
) AS m"""


def main() -> int:
    """Measure as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--json", type=Path, help="append the results to this file, one JSON line each")
    options = parser.parse_args()
    spark = session(2)
    try:
        _measure(spark, min(options.keys), options.batch, 2)
        found = [_measure(spark, keys, options.batch, options.batches) for keys in options.keys]
    finally:
        spark.stop()
    print("     keys  first batch s  further batch s  state MiB  matches")
    for result in found:
        print(
            f"{result['keys']:9,}  {result['first']:13.2f}  {result['further']:15.3f}  {result['state'] / 2**20:9.1f}"
            f"  {result['matches']:7}"
        )
    print(f"a further batch, most keys to fewest: {found[-1]['further'] / found[0]['further']:.2f}")
    if options.json:
        with options.json.open("a") as file:
            file.writelines(json.dumps({"kind": "many keys", **result}) + "\n" for result in found)
    return 0 if all(result["matches"] for result in found) else 1


def _measure(spark: SparkSession, keys: int, batch: int, batches: int) -> dict:
    with tempfile.TemporaryDirectory(prefix="cepsql-bench-") as folder:
        _write(Path(folder), keys, batch, batches)
        engine = cepsql.connect(spark)
        engine.sql(STREAM.format(folder=folder))
        matches = 0

        def count(rows: pa.Table, _: int) -> None:
            nonlocal matches
            matches += len(rows)

        standing = engine.sql(QUERY).start(on_rows=count)
        standing.process_available()
        events = [event for query in spark.streams.active for event in query.recentProgress]
        standing.stop()
    events = [event for event in events if event.numInputRows]
    seconds = [event.durationMs["triggerExecution"] / 1000 for event in events]
    state = events[-1].stateOperators[0].memoryUsedBytes
    return {
        "keys": keys,
        "first": seconds[0],
        "further": statistics.median(seconds[1:]),
        "state": state,
        "matches": matches,
    }


def _write(folder: Path, keys: int, batch: int, batches: int) -> None:
    """Write one file a micro-batch: an A for every key, then rows of random keys, a millisecond apart."""
    random = np.random.default_rng(7)
    start = np.datetime64("2026-01-01T00:00:00", "us").astype(np.int64)
    sizes = [keys] + [batch] * batches
    for i, size in enumerate(sizes):
        times = start + (sum(sizes[:i]) + np.arange(size)) * 1000
        own = np.arange(keys) if i == 0 else random.integers(0, keys, size)
        kind = np.full(size, "a") if i == 0 else np.where(random.random(size) < 0.2, "c", "b")
        columns = {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "key": own,
            "price": random.random(size),
            "kind": kind,
        }
        pq.write_table(pa.table(columns), folder / f"{i:03}.parquet")


if __name__ == "__main__":
    sys.exit(main())
