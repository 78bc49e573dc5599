"""Time one query of the benchmark with Flink SQL over a Kafka topic; run by the Python of Flink's environment.

    flink_kafka.py ADDRESS TOPIC QUERY --jar JAR --results DIR [--parallelism 2] [--repeat 1]

As `flink.py`, but from a topic of JSON events, from its first record to what is its last when the job starts; the
watermark is that of the slowest partition. The query runs once before the clock starts. JAR is Flink's SQL connector
for Kafka.
"""

import argparse
import json
import shutil
import time
from pathlib import Path

from flink import environment, lines, sink

from queries import COLUMNS, DELAY_SECONDS, QUERIES


def main() -> None:
    """Run the query as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("topic")
    parser.add_argument("query", choices=QUERIES)
    parser.add_argument("--jar", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    seconds, matches = map(list, zip(*(_run(options) for _ in range(options.repeat + 1)), strict=True))
    print(json.dumps({"seconds": seconds[1:], "matches": matches[-1]}))


def _run(options: argparse.Namespace) -> tuple[float, int]:
    shutil.rmtree(options.results, ignore_errors=True)
    tables = environment(options.parallelism, "hashmap", {"pipeline.jars": options.jar.absolute().as_uri()})
    tables.execute_sql(_source(options.address, options.topic))
    tables.execute_sql(sink(options.results))
    start = time.perf_counter()
    tables.execute_sql(f"INSERT INTO results {QUERIES[options.query]}").wait()
    return time.perf_counter() - start, sum(lines(path) for path in options.results.rglob("part-*"))


def _source(address: str, topic: str) -> str:
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in COLUMNS).replace("TIMESTAMP", "TIMESTAMP(3)")
    return f"""CREATE TABLE events ({columns}, WATERMARK FOR ts AS ts - INTERVAL '{DELAY_SECONDS}' SECOND)
        WITH ('connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{address}',
              'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json')"""


if __name__ == "__main__":
    main()
