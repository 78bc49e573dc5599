"""Measure the time from the writing of a row to the call with the match that it decides, with small files coming in.

    python tests/bench/latency.py [--files 240] [--rows 200] [--interval 0.25] [--cores 2] [--warm-up 40]
                                  [--kafka] [--partitions 1] [--conf KEY=VALUE ...] [--json FILE]

Every `--interval` seconds a CSV file of `--rows` rows appears whole in the folder of the stream. Its last row is the
latest and completes a match that the row before began; the watermark has no delay, so nothing else is to be waited
for. With `--kafka` it is as many records of JSON in a topic of a broker that is started for it, spread over its
`--partitions` by their key, and the time begins when the broker has them. The first `--warm-up` files do not count.
`--conf` sets something of Spark's, to compare runs with and without.

Prints one JSON object: p50, p90 and p99 of the latency in seconds, how many micro-batches there were, and the mean
milliseconds that Spark's progress reports for the parts of one.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import session

import cepsql

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "servers"))

QUERY = """SELECT * FROM events MATCH_RECOGNIZE (
  PARTITION BY key
  ORDER BY ts
  MEASURES B.key AS file
  PATTERN (A B)
  DEFINE A AS A.kind = 'a', B AS B.kind = 'b'
) AS m"""

_PATIENCE_SECONDS = 60

Row = tuple[str, int, float, str]
Write = Callable[[int, list[Row]], None]


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=240)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--interval", type=float, default=0.25)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--warm-up", type=int, default=40)
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    spark = session(options.cores)
    for setting in options.conf:
        spark.conf.set(*setting.split("=", 1))
    with _topic(options.partitions) if options.kafka else _folder() as (source, write), cepsql.connect(spark) as engine:
        result = _measure(engine, source, write, options)
    spark.stop()
    line = json.dumps(result)
    print(line)
    if options.json:
        with options.json.open("a") as file:
            file.write(line + "\n")


@contextlib.contextmanager
def _folder() -> Iterator[tuple[str, Write]]:
    """Give what a stream is read from, and what writes rows as a file."""
    with tempfile.TemporaryDirectory(prefix="cepsql-latency-") as folder:

        def write(file: int, rows: list[Row]) -> None:
            hidden = Path(folder, f".{file}")
            hidden.write_text("".join(f"{time},{key},{price},{kind}\n" for time, key, price, kind in rows))
            os.replace(hidden, Path(folder, f"{file:06d}.csv"))

        yield f"USING csv OPTIONS (path '{folder}')", write


@contextlib.contextmanager
def _topic(partitions: int) -> Iterator[tuple[str, Write]]:
    """Give what a stream is read from, and what writes rows as records."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic
    from kafka_broker import running_broker

    with running_broker() as address:
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic("events", partitions, 1)])["events"].result()
        producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 1})

        def write(_: int, rows: list[Row]) -> None:
            for time_of_row, key, price, kind in rows:
                value = {"ts": time_of_row, "key": key, "price": price, "kind": kind}
                producer.produce("events", json.dumps(value), partition=key % partitions)
            producer.flush()

        options = f"(kafka.bootstrap.servers '{address}', subscribe 'events')"
        yield f"USING kafka OPTIONS {options} FORMAT json FROM EARLIEST", write


def _measure(engine: cepsql.Engine, source: str, write: Write, options: argparse.Namespace) -> dict:
    engine.sql(f"""
        CREATE STREAM events (ts TIMESTAMP, key BIGINT, price DOUBLE, kind STRING, WATERMARK FOR ts AS ts)
        {source}
    """)
    written, seen = {}, {}

    def found(rows: pa.Table, _: int) -> None:
        now = time.perf_counter()
        seen.update((file, now) for file in rows["file"].to_pylist())

    with engine.sql(QUERY).start(found) as standing:
        begun = time.perf_counter()
        for file in range(options.files):
            time.sleep(max(0.0, begun + file * options.interval - time.perf_counter()))
            write(file, _rows(file, options.rows))
            written[file] = time.perf_counter()
        deadline = time.perf_counter() + _PATIENCE_SECONDS
        while len(seen) < options.files and time.perf_counter() < deadline:
            time.sleep(0.05)
        spark_query = standing._query
        parts = [event.durationMs for event in spark_query.recentProgress if event.numInputRows]
    if missing := options.files - len(seen):
        raise SystemExit(f"{missing} matches did not come")
    latency = [seen[file] - written[file] for file in range(options.warm_up, options.files)]
    p50, p90, p99 = (round(float(value), 3) for value in np.percentile(latency, [50, 90, 99]))
    mean = {name: round(sum(part.get(name, 0) for part in parts) / len(parts)) for name in parts[-1]}
    return {"p50": p50, "p90": p90, "p99": p99, "batches": standing.progress.batches, "mean_ms": mean}


def _rows(file: int, rows: int) -> list[Row]:
    """Return the rows of a file: the last two of a key of their own, the others of keys without match."""
    first = file * rows
    found = []
    for row in range(rows):
        ends = row >= rows - 2
        kind = "ab"[row - rows + 2] if ends else "c"
        time_of_row = np.datetime64("2026-01-01T00:00:00", "ms") + np.timedelta64(first + row, "ms")
        found.append((str(time_of_row).replace("T", " "), file if ends else 1_000_000 + row, row + 0.5, kind))
    return found


if __name__ == "__main__":
    main()
