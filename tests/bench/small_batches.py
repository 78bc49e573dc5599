"""Time a batch of few changes on top of much state: TPC-H's queries over tables with their keys, at two sizes.

    python tests/bench/small_batches.py [--rows 60000 600000] [--changes 1000] [--batches 5] [--queries q03 q18 ...]

So many rows has the table of line items, the others accordingly; 600,000 are scale 0.1. Once a query has them, files
come one by one with rows that take the place of others, in the largest table that it reads. Prints the median seconds
of such a micro-batch, as Spark's progress reports them (durationMs.triggerExecution), for each size, and their ratio,
and at last the median and the greatest ratio. Needs the packages duckdb and duckdb-extension-tpch.
"""

import argparse
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

import duckdb
from measure import session
from pyspark.sql import SparkSession

import cepsql

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tpch")]

import generator  # noqa: E402 (found by the line above)

LARGEST_FIRST = {
    "lineitem": "l_quantity", "orders": "o_totalprice", "partsupp": "ps_supplycost", "part": "p_retailprice",
    "customer": "c_acctbal", "supplier": "s_acctbal",
}  # fmt: skip
"""Tables, and a column of each whose value changes."""


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[60_000, 600_000])
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--queries", nargs="+", default=[f"q{number:02d}" for number in generator.queries()])
    options = parser.parse_args()
    databases = {rows: generator.generated(rows) for rows in options.rows}
    spark, ratios = session(2), []
    print("query  changed   " + "  ".join(f"{rows:>9,} rows" for rows in options.rows) + "  ratio")
    try:
        for query in options.queries:
            text = generator.queries()[int(query[1:])]
            changed = next(name for name in LARGEST_FIRST if re.search(rf"\b{name}\b", text))
            _measure(spark, databases[min(options.rows)], text, changed, options.changes, 1)
            medians = [
                _measure(spark, databases[rows], text, changed, options.changes, options.batches)
                for rows in options.rows
            ]
            ratios.append(medians[-1] / medians[0])
            times = "  ".join(f"{seconds:12.2f} s" for seconds in medians)
            print(f"{query:5}  {changed:8}  {times}  {ratios[-1]:5.2f}", flush=True)
    finally:
        spark.stop()
    print(f"most rows to fewest: median {statistics.median(ratios):.2f}, greatest {max(ratios):.2f}")


def _measure(
    spark: SparkSession, database: duckdb.DuckDBPyConnection, text: str, changed: str, changes: int, batches: int
) -> float:
    """Return the median seconds of micro-batches with changes of one table."""
    with tempfile.TemporaryDirectory(prefix="cepsql-bench-") as place, cepsql.connect(spark) as engine:
        folder, definitions = Path(place), generator.definitions()
        for name, key in generator.KEYS.items():
            (folder / name).mkdir()
            database.execute(f"COPY {name} TO '{folder / name / '0.csv'}' (HEADER false)")
            engine.sql(
                f"CREATE STREAM {name} ({definitions[name]}, PRIMARY KEY ({', '.join(key)})) USING csv "
                f"OPTIONS (path '{folder / name}')"
            )
        standing = engine.sql(f"{text} EMIT CHANGES").start(on_rows=lambda rows, batch: None)
        standing.process_available()
        (query,) = spark.streams.active
        last = max((progress.batchId for progress in query.recentProgress), default=-1)
        for number in range(1, batches + 1):
            values = LARGEST_FIRST[changed]
            rows = f"SELECT * REPLACE ({values} + {number} AS {values}) FROM {changed} USING SAMPLE {changes} ROWS"
            hidden = folder / changed / f".{number}.csv"
            database.execute(f"COPY ({rows}) TO '{hidden}' (HEADER false)")
            os.replace(hidden, folder / changed / f"{number}.csv")
            standing.process_available()
        seconds = [
            progress.durationMs["triggerExecution"] / 1000
            for progress in query.recentProgress
            if progress.batchId > last and progress.numInputRows
        ]
        standing.stop()
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
