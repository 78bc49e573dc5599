"""Time one query of the benchmark with Flink SQL; run by the Python of an environment that has apache-flink.

    flink.py FILES QUERY --warm-up FILES --results DIR [--parallelism 2] [--repeat 1] [--rocksdb]

Flink runs in this process in streaming mode, with heap state (or RocksDB if asked) and no checkpoints. Every run
includes starting its job, as it does for Spark. Matches go to CSV files in DIR, where they are counted. The warm-up is
the same query over fewer rows. Prints one JSON object: seconds and matches, one of each a run; there are no batches.
"""

import argparse
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

from queries import COLUMNS, DELAY_SECONDS, OUTPUT, QUERIES


def main() -> None:
    """Run the query as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path)
    parser.add_argument("query", choices=QUERIES)
    parser.add_argument("--warm-up", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--rocksdb", action="store_true", help="keep state in RocksDB")
    options = parser.parse_args()
    _run(options.warm_up, options)
    runs = [_run(options.files, options) for _ in range(options.repeat)]
    seconds, matches = map(list, zip(*runs, strict=True))
    print(json.dumps({"seconds": seconds, "matches": matches, "batch_seconds": [], "batches": []}))


def _run(files: Path, options: argparse.Namespace) -> tuple[float, int]:
    shutil.rmtree(options.results, ignore_errors=True)
    tables = environment(options.parallelism, "rocksdb" if options.rocksdb else "hashmap")
    tables.execute_sql(_source(files))
    tables.execute_sql(sink(options.results))
    start = time.perf_counter()
    tables.execute_sql(f"INSERT INTO results {QUERIES[options.query]}").wait()
    seconds = time.perf_counter() - start
    return seconds, sum(lines(path) for path in options.results.rglob("part-*"))


def environment(parallelism: int, state: str, more: Mapping[str, str] | None = None) -> TableEnvironment:
    """Return an environment in streaming mode, with this kind of state and further settings."""
    configuration = Configuration()
    configuration.set_string("parallelism.default", str(parallelism))
    configuration.set_string("state.backend.type", state)
    configuration.set_string("table.local-time-zone", "UTC")
    for key, value in (more or {}).items():
        configuration.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    return TableEnvironment.create(settings)


def _source(files: Path) -> str:
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in COLUMNS).replace("TIMESTAMP", "TIMESTAMP(3)")
    return f"""CREATE TABLE events ({columns}, WATERMARK FOR ts AS ts - INTERVAL '{DELAY_SECONDS}' SECOND)
        WITH ('connector' = 'filesystem', 'path' = '{files.absolute()}', 'format' = 'csv')"""


def sink(results: Path) -> str:
    """Return the statement that defines CSV files in a folder as the table `results`."""
    types = ("BIGINT", "DOUBLE", "DOUBLE", "BIGINT")
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in zip(OUTPUT, types, strict=True))
    return f"""CREATE TABLE results ({columns})
        WITH ('connector' = 'filesystem', 'path' = '{results.absolute()}', 'format' = 'csv')"""


def lines(path: Path) -> int:
    """Return how many lines a file has."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


if __name__ == "__main__":
    main()
