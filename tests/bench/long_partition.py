"""Time patterns over one long partition, in which a naive search is quadratic in the rows, cubic or worse.

    python tests/bench/long_partition.py [--rows 20000 80000] [--reading-rows 20000 80000] [--crimes 20000 200000]
                                         [--json FILE]

`A+ B+ C+ E`: every row satisfies A, B and C, so that an engine which does not know better tries each way of dividing
any stretch of rows between them; only the first row satisfies E, and no match can end there. There are two such
queries: `row only`, whose conditions read only the row, takes --rows, and `reads match`, where B compares with the
first A, takes --reading-rows. `crimes` takes --crimes: robbery, battery and motor theft within 30 minutes and a box of
0.005 degrees, where an engine that does not prune by time compares each crime with all that follow. Each is run in two
ways: `matcher` is the call that finds matches in rows already laid out, `table` the whole query over a bounded
DataFrame by the public API, with Spark's job around it. Each is warmed first on a tenth of the fewest rows.

Prints seconds for the fewest and for the most rows, and the last as a multiple of the first. A linear search takes at
most the multiple of the rows (4 by default, 10 for the crimes), less where fixed costs weigh; a quadratic one 16 (100).
Exits with 1 if `A+ B+ C+ E` is found, as there is none.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import session
from pyspark.sql import DataFrame, SparkSession

import cepsql
from cepsql.operators.matching.match_operator import row_layout
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.matcher import find_matches
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import MatchProgram
from cepsql.spark.frames.operator_rows import layout_columns

QUERY = """SELECT * FROM events MATCH_RECOGNIZE (
  PARTITION BY key
  ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (A+ B+ C+ E)
  DEFINE {define}
) AS m"""

QUERIES = {
    "row only": QUERY.format(define="E AS E.kind = 'e'"),
    "reads match": QUERY.format(define="B AS B.price >= FIRST(A.price), E AS E.kind = 'e'"),
    "crimes": """SELECT * FROM events MATCH_RECOGNIZE (
      ORDER BY ts
      MEASURES R.ts AS robbed, B.ts AS hit, M.ts AS stolen
      AFTER MATCH SKIP TO NEXT ROW
      PATTERN (R Z* B Z* M) WITHIN INTERVAL '30' MINUTE
      DEFINE
        R AS R.kind = 'robbery',
        B AS B.kind = 'battery' AND ABS(B.lat - R.lat) < 0.005 AND ABS(B.lon - R.lon) < 0.005,
        M AS M.kind = 'motor' AND ABS(M.lat - R.lat) < 0.005 AND ABS(M.lon - R.lon) < 0.005
    ) AS m""",
}

ENOUGH_SECONDS = 0.5

Search = Callable[[], int]
"""Searches once and returns the number of matches."""


def main() -> int:
    """Measure as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs=2, default=[20_000, 80_000])
    parser.add_argument("--reading-rows", type=int, nargs=2, default=[20_000, 80_000])
    parser.add_argument("--crimes", type=int, nargs=2, default=[20_000, 200_000])
    parser.add_argument("--json", type=Path, help="append the results to this file, one JSON line each")
    options = parser.parse_args()
    sizes = {"row only": options.rows, "reads match": options.reading_rows, "crimes": options.crimes}
    spark = session(2)
    try:
        found = [_measure(spark, query, way, sizes[query]) for query in QUERIES for way in ("matcher", "table")]
    finally:
        spark.stop()
    print("query        way                rows            seconds         ratio  matches")
    for result in found:
        (few, many), (less, more) = result["rows"], result["seconds"]
        print(
            f"{result['query']:12} {result['way']:8} {few:7,} / {many:7,}  {less:8.3f} / {more:8.3f}"
            f"  {result['ratio']:6.2f}  {result['matches']:7}"
        )
    if options.json:
        with options.json.open("a") as file:
            file.writelines(json.dumps({"kind": "long partition", **result}) + "\n" for result in found)
    return 1 if any(result["matches"] for result in found if result["query"] != "crimes") else 0


def _measure(spark: SparkSession, query: str, way: str, sizes: list[int]) -> dict:
    prepare = {"matcher": _matcher, "table": _table}[way]
    frame = _crimes if query == "crimes" else _equal_rows
    prepare(frame(spark, min(sizes) // 10), QUERIES[query])()
    seconds, matches = [], 0
    for rows in sizes:
        search = prepare(frame(spark, rows), QUERIES[query])
        taken, count = _least_seconds(search)
        seconds.append(taken)
        matches += count
    ratio = seconds[-1] / seconds[0]
    return {"query": query, "way": way, "rows": sizes, "seconds": seconds, "ratio": ratio, "matches": matches}


def _least_seconds(search: Search) -> tuple[float, int]:
    """Return the time of the fastest of several runs, of a single one where that takes long, and the matches of one."""
    times, matches = [], 0
    while sum(times) < ENOUGH_SECONDS:
        start = time.perf_counter()
        matches = search()
        times.append(time.perf_counter() - start)
    return min(times), matches


def _crimes(spark: SparkSession, rows: int) -> DataFrame:
    """Return crimes of a city of 0.4 by 0.4 degrees, one every 10 seconds on average: about 180 in 30 minutes."""
    random = np.random.default_rng(11)
    first = np.datetime64("2026-01-01T00:00:00", "us").astype(np.int64)
    times = pa.array(first + np.cumsum(random.exponential(1e7, rows)).astype(np.int64), pa.timestamp("us", "UTC"))
    kind = random.choice(["robbery", "battery", "motor", "other"], rows, p=[0.04, 0.18, 0.05, 0.73])
    columns = {
        "ts": times,
        "kind": kind,
        "lat": random.uniform(41.6, 42.0, rows),
        "lon": random.uniform(-87.9, -87.5, rows),
    }
    return spark.createDataFrame(pa.table(columns))


def _equal_rows(spark: SparkSession, rows: int) -> DataFrame:
    """Return rows of one key, one a millisecond, with equal prices: each satisfies A, B and C, the first also E."""
    first = np.datetime64("2026-01-01T00:00:00", "ms")
    times = pa.array(first + np.arange(rows).astype("timedelta64[ms]")).cast(pa.timestamp("us", "UTC"))
    columns = {"ts": times, "key": np.zeros(rows, np.int64), "price": np.ones(rows), "kind": ["e"] + ["a"] * (rows - 1)}
    return spark.createDataFrame(pa.table(columns))


def _table(frame: DataFrame, query: str) -> Search:
    engine = cepsql.connect(frame.sparkSession)
    engine.register("events", frame)
    return lambda: engine.sql(query).arrow().num_rows


def _matcher(frame: DataFrame, query: str) -> Search:
    engine = cepsql.connect(frame.sparkSession)
    engine.register("events", frame)
    (match,) = engine.sql(query).plan.matches
    partitions = _one_partition(frame, match.program)
    return lambda: len(find_matches(match.program, partitions).matches.start)


def _one_partition(frame: DataFrame, program: MatchProgram) -> Partitions:
    rows = frame.selectExpr(*layout_columns(frame, row_layout(program))).orderBy("t").toArrow().combine_chunks()
    zero = np.zeros(1, np.int64)
    return Partitions(rows, np.array([0, len(rows)]), zero, np.array([len(rows)]), zero, END_OF_TIME)


if __name__ == "__main__":
    sys.exit(main())
