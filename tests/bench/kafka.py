"""Measure the queries of the benchmark over a Kafka topic: who reads the records, and how.

    python tests/bench/kafka.py [--rows 1000000] [--keys 10000] [--queries match] [--partitions 8]
                                [--readers arrow python connector] [--flink PYTHON] [--repeat 3] [--dir DIR]

Starts a broker, fills a topic with the benchmark's events as JSON, and takes them in one micro-batch, drained, in a
process of its own for each reader, which runs the query once before the clock starts:

arrow      records read by confluent-kafka, parsed by Arrow: no record is a row of the JVM
python     records read by confluent-kafka, parsed by Spark's from_json
connector  records read by Spark's own connector, parsed by Spark's from_json
flink      Flink SQL with its own connector, which Maven fetches; PYTHON is that of its environment

Exits with 1 if the numbers of matches differ.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from events import Events, prepare
from measure import session
from pyarrow import csv

from queries import COLUMNS, DELAY_SECONDS, KNOWN_MATCHES, QUERIES

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "servers"))

from kafka_broker import connector_jars, fetched, running_broker  # noqa: E402

_FLINK_CONNECTOR = {"org.apache.flink:flink-sql-connector-kafka": "5.0.0-2.2"}
READERS = {"arrow": ("python", "auto"), "python": ("python", "spark"), "connector": ("spark", "spark")}
TOPIC = "events"


def main() -> int:
    """Measure as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--queries", choices=QUERIES, nargs="+", default=["match"])
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--readers", choices=READERS, nargs="+", default=list(READERS))
    parser.add_argument("--flink", metavar="PYTHON", help="measure Flink, too, by this Python")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir(), "cepsql-bench"))
    parser.add_argument("--address", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.address:
        print(json.dumps(measure(options.address, options.readers[0], options.queries[0], options.repeat)))
        return 0
    found: dict[str, set[int]] = {}
    with running_broker() as address:
        fill(address, prepare(options.dir, options.rows, options.keys), options.partitions)
        for query in options.queries:
            for reader in [*options.readers, *(["flink"] if options.flink else [])]:
                if reader == "flink":
                    command = [options.flink, HERE / "flink_kafka.py", address, TOPIC, query, "--jar", _flink_jar()]
                    command += ["--results", options.dir / "results"]
                else:
                    command = [sys.executable, __file__, "--address", address, "--readers", reader, "--queries", query]
                command += ["--repeat", str(options.repeat)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                runs = json.loads(done.stdout.splitlines()[-1])
                found.setdefault(query, set()).add(runs["matches"])
                best = sorted(runs["seconds"])[len(runs["seconds"]) // 2]
                print(f"{query:8} {reader:10} {best:6.1f} s  {options.rows / best:>10,.0f} rows/s  {runs['matches']}")
            known = KNOWN_MATCHES.get((options.rows, options.keys, query))
            found[query] |= {known} if known is not None else set()
    return 1 if any(len(matches) > 1 for matches in found.values()) else 0


def _flink_jar() -> Path:
    return next(fetched("flink-kafka", _FLINK_CONNECTOR, alone=True).glob("*.jar"))


def fill(address: str, events: Events, partitions: int) -> None:
    """Make the topic, and write every event as JSON, row i into partition i mod partitions."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(TOPIC, partitions, 1)])[TOPIC].result()
    producer = Producer(
        {
            "bootstrap.servers": address,
            "enable.idempotence": True,
            "linger.ms": 100,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    names = [name for name, _ in COLUMNS]
    number = 0
    for file in sorted(events.spark.glob("*.csv")):
        for batch in csv.read_csv(file, csv.ReadOptions(column_names=names)).to_batches(100_000):
            times = batch["ts"].cast(pa.timestamp("ms")).cast("string").to_pylist()
            columns = [batch[name].to_pylist() for name in names[1:]]
            for at, key, price, kind in zip(times, *columns, strict=True):
                value = f'{{"ts":"{at}","key":{key},"price":{price},"kind":"{kind}"}}'
                producer.produce(TOPIC, value, partition=number % partitions)
                number += 1
            producer.flush()


def measure(address: str, reader: str, query: str, repeat: int) -> dict:
    """Return the seconds of each run and the number of matches."""
    import cepsql

    option, scan = READERS[reader]
    columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS)
    conf = {"spark.jars": connector_jars()} if option == "spark" else {}
    engine = cepsql.connect(session(2, conf))
    engine.sql(f"SET cepsql.scan = '{scan}'")
    engine.sql(f"""CREATE STREAM events ({columns}, WATERMARK FOR ts AS ts - INTERVAL '{DELAY_SECONDS}' SECONDS)
        USING kafka OPTIONS (kafka.bootstrap.servers '{address}', subscribe '{TOPIC}', reader '{option}')
        FORMAT json FROM EARLIEST""")
    seconds, matches = [], 0
    for _ in range(repeat + 1):
        found = []
        start = time.perf_counter()
        engine.sql(QUERIES[query]).start(lambda rows, _: found.append(len(rows)), drain=True).await_(None)  # noqa: B023
        seconds.append(time.perf_counter() - start)
        matches = sum(found)
    engine.spark.stop()
    return {"seconds": seconds[1:], "matches": matches}


if __name__ == "__main__":
    sys.exit(main())
