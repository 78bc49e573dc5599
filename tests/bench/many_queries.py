"""Time the start of a server with many queries while other processes keep the cores busy, as after a reboot.

    python tests/bench/many_queries.py [--queries 50] [--kafka 10] [--busy 2] [--seconds 900] [--starts 2]

--queries standing queries of four kinds (filter, row pattern, windows, changing groups), of which --kafka read a topic
of a Kafka broker of its own and the others files, write to CSV files. --busy processes that compute without end share
the cores with the server. The server is started --starts times: the first start makes all checkpoints; before each
further one the server is killed and every input gets as many rows again. Prints, for each start, the seconds from the
start of the process until Spark is ready, until each query has started and until each has done all rows, how many
queries failed or were started again, and what the log says of Python processes that were not ready in time. Ends with
1 if a query failed or was retried, or if rows are missing or doubled.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / "servers")]

from kafka_broker import running_broker  # noqa: E402

import cepsql  # noqa: E402
from cepsql.catalog.states import FAILING, RUNNING  # noqa: E402

FILES = """CREATE STREAM in_{n} (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts - INTERVAL '0' SECONDS)
USING csv OPTIONS (path '{folder}/in/{n}')"""
TOPIC = """CREATE STREAM in_{n} (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts - INTERVAL '0' SECONDS)
USING kafka OPTIONS (kafka.bootstrap.servers '{servers}', subscribe 'in_{n}', startingOffsets 'earliest') FORMAT json"""
KINDS = (
    "SELECT k, x FROM in_{n} WHERE x >= 0",
    "SELECT * FROM in_{n} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS x, B.x AS y "
    "PATTERN (A B) DEFINE A AS x % 2 = 0, B AS x % 2 = 1)",
    "SELECT k, window(ts, '10 seconds').start AS begun, COUNT(*) AS n FROM in_{n} GROUP BY k, window(ts, '10 seconds')",
    "SELECT k, COUNT(*) AS n FROM in_{n} GROUP BY k EMIT CHANGES",
)
ROWS, KEYS = 200, 4


def main() -> int:
    """Measure as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--kafka", type=int, default=10)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=900, help="longest time of a start")
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder that stays")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(running_broker()) if options.kafka else ""
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cepsql-bench-")))
        folder.mkdir(exist_ok=True)
        define(folder, options.queries, options.kafka, servers)
        faults = 0
        for start in range(options.starts):
            for n in range(options.queries):
                write(folder, n, start, servers if n < options.kafka else "")
            faults += one_start(folder, options, start)
    return 1 if faults else 0


def define(folder: Path, queries: int, kafka: int, servers: str) -> None:
    """Make the catalog, in which all queries shall run, and the topics."""
    if kafka:
        from confluent_kafka.admin import AdminClient, NewTopic

        client = AdminClient({"bootstrap.servers": servers})
        for made in client.create_topics([NewTopic(f"in_{n}", 1, 1) for n in range(kafka)]).values():
            made.result()
    with contextlib.closing(cepsql.connect(catalog=folder / "catalog.db")) as engine:
        for n in range(queries):
            (folder / "in" / str(n)).mkdir(parents=True)
            engine.sql((TOPIC if n < kafka else FILES).format(n=n, folder=folder, servers=servers))
            engine.sql(f"CREATE SINK out_{n} USING csv OPTIONS (path '{folder}/out/{n}')")
            engine.sql(f"CREATE QUERY q_{n} INTO out_{n} AS {KINDS[n % len(KINDS)].format(n=n)}")
            engine.home.states.desire(f"q_{n}", RUNNING)


def write(folder: Path, n: int, start: int, servers: str) -> None:
    """Write the rows of a query that come before a start: one each second, of each key in turn."""
    rows = []
    for at in range(start * ROWS, (start + 1) * ROWS):
        ts = f"2026-01-01 {at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}"
        rows.append({"k": at % KEYS, "ts": ts, "x": at // KEYS % 2})
    if not servers:
        hidden = folder / "in" / f".{n}"
        hidden.write_text("".join(f"{row['k']},{row['ts']},{row['x']}\n" for row in rows))
        hidden.rename(folder / "in" / str(n) / f"{start}.csv")
        return
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for row in rows:
        producer.produce(f"in_{n}", json.dumps(row).encode())
    producer.flush()


def one_start(folder: Path, options: argparse.Namespace, start: int) -> int:
    """Start the server, wait until all rows are done, kill it, and print how it went; return how much went wrong."""
    busy = [multiprocessing.Process(target=compute, daemon=True) for _ in range(options.busy)]
    for process in busy:
        process.start()
    log_file = folder / f"server-{start}.log"
    begun, clock = time.monotonic(), time.time()
    # A process group of its own; Java, which has another, ends when the server does.
    with log_file.open("wb") as log:
        command = [sys.executable, "-m", "cepsql", "serve", "--catalog", str(folder / "catalog.db")]
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        with contextlib.closing(cepsql.connect(catalog=folder / "catalog.db")) as engine:
            states, done = engine.home.states, {}
            before = {name: state.restarts for name, state in states.all().items()}
            while len(done) < options.queries and time.monotonic() < begun + options.seconds:
                if server.poll() is not None:
                    print(log_file.read_text()[-3000:])
                    return 1
                for name, state in states.all().items():
                    read = (state.progress or {}).get("rows_read", 0)
                    if name not in done and state.owner and read >= ROWS * (start + 1):
                        done[name] = time.monotonic() - begun
                time.sleep(0.5)
            after = states.all()
            failing = {
                name: [entry for entry in states.history(name) if entry.at >= clock and entry.state == FAILING]
                for name in after
            }
            started = {
                name: min(
                    (e.at - clock for e in states.history(name) if e.at >= clock and e.state == RUNNING), default=None
                )
                for name in after
            }
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        for process in busy:
            process.terminate()
    log_text = log_file.read_text()
    leads = next(json.loads(line) for line in log_text.splitlines() if "leads from now on" in line)
    first = time_of(leads) - clock
    again = sum(state.restarts - before.get(name, 0) for name, state in after.items()) - (
        sum(1 for name in after if "is taken over from" in log_text and f"query {name} is taken over" in log_text)
    )
    known = sorted(seconds for seconds in started.values() if seconds is not None)
    wrong = (
        [name for name, state in after.items() if state.progress["rows_read"] != ROWS * (start + 1)]
        if len(done) == options.queries
        else []
    )
    failed = sum(map(len, failing.values()))
    print(
        f"start {start}: Spark ready after {first:.1f} s; queries running after {known[0]:.1f} to {known[-1]:.1f} s; "
        f"{len(done)} of {options.queries} have done all rows after {max(done.values(), default=0):.1f} s; "
        f"failed {failed} times, retried {again} times, Python not ready {log_text.count('did not start in time')} "
        f"times; wrong counts: {wrong or 'none'}",
        flush=True,
    )
    for name, entries in failing.items():
        for entry in entries[:1]:
            print(f"  {name}: {entry.note}")
    return failed + again + len(wrong) + options.queries - len(done)


def time_of(line: dict) -> float:
    """Return the seconds since 1970 at which a line of the server's log was written."""
    from datetime import datetime

    return datetime.fromisoformat(line["at"]).timestamp()


def compute() -> None:
    """Keep a core busy."""
    while True:
        sum(range(100_000))


if __name__ == "__main__":
    sys.exit(main())
