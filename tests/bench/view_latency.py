"""Measure the time from the writing of an event to the row in the answer of a view's reader, beside a callback's.

    python tests/bench/view_latency.py [--events 200] [--warm-up 40] [--poll 0.005] [--query rows|match|groups ...]

For each query three readers take turns, an event each: a Python callback of a standing query, a client that asks the
view over PostgreSQL's protocol again and again, and one that follows it by SUBSCRIBE. An event is a CSV file that
appears whole in the folder of the stream. Prints p50 and p99 of each in milliseconds, and their ratios to those of the
callback; only the ratios mean something elsewhere.
"""

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import session

import cepsql

STREAM = """CREATE STREAM {name} (id BIGINT, kind STRING, at TIMESTAMP, WATERMARK FOR at AS at)
USING csv OPTIONS (path '{folder}')"""
QUERIES = {
    "rows": "SELECT id, at FROM {name} WHERE kind = 'b'",
    "match": """SELECT * FROM {name} MATCH_RECOGNIZE (
        PARTITION BY id ORDER BY at MEASURES LAST(at) AS at PATTERN (A B) DEFINE A AS kind = 'a', B AS kind = 'b')""",
    "groups": "SELECT id, COUNT(*) AS n FROM {name} GROUP BY id EMIT CHANGES",
}
READERS = ("callback", "asks", "follows")
_PATIENCE_SECONDS = 60.0


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200, help="of each reader")
    parser.add_argument("--warm-up", type=int, default=40)
    parser.add_argument("--poll", type=float, default=0.005, help="seconds between two questions")
    parser.add_argument("--query", choices=QUERIES, nargs="+", default=list(QUERIES))
    options = parser.parse_args()
    spark = session(2)
    for query in options.query:
        took = _measured(spark, query, options)
        reference = np.percentile(took["callback"], [50, 99])
        for reader in READERS:
            p50, p99 = np.percentile(took[reader], [50, 99])
            print(
                f"{query:6} {reader:8} p50 {p50:6.1f} ms ({p50 / reference[0]:.2f} times), "
                f"p99 {p99:6.1f} ms ({p99 / reference[1]:.2f} times)",
                flush=True,
            )
    spark.stop()


def _measured(spark, query: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Return the milliseconds of each event by its reader."""
    from cepsql.frontends.server.wire.limits import Limits
    from cepsql.frontends.server.wire.listener import Listener
    from cepsql.frontends.server.wire.users import Users

    with tempfile.TemporaryDirectory(prefix="cepsql-view-latency-") as folder:
        home = Path(folder)
        with cepsql.connect(spark, catalog=str(home / "catalog.db")) as engine:
            for name in ("called", "kept"):
                (home / name).mkdir()
                engine.sql(STREAM.format(name=name, folder=home / name))
            engine.sql(f"CREATE MATERIALIZED VIEW seen INDEX (id) AS {QUERIES[query].format(name='kept')}")
            listener = Listener(engine, "127.0.0.1", 0, Users(None), Limits())
            seen: dict[int, float] = {}
            came = threading.Event()

            def called(rows: pa.Table, _: int) -> None:
                now = time.monotonic()
                seen.update((event, now) for event in rows["id"].to_pylist())
                came.set()

            took: dict[str, list[float]] = {reader: [] for reader in READERS}
            order = random.Random(query)
            with (
                engine.query(QUERIES[query].format(name="called")).start(called),
                _reader(_ask, listener.address[1], options.poll) as asking,
                _reader(_follow, listener.address[1]) as following,
            ):
                turns = [reader for _ in range(options.warm_up + options.events) for reader in _shuffled(order)]
                for event, reader in enumerate(turns):
                    if reader == "asks":
                        asking.send(event)
                    came.clear()
                    written = _write(home / ("called" if reader == "callback" else "kept"), event)
                    if reader == "callback":
                        while event not in seen:
                            assert came.wait(_PATIENCE_SECONDS), event
                            came.clear()
                        found = seen[event]
                    else:
                        found = _received(asking if reader == "asks" else following, event)
                    if event >= options.warm_up * len(READERS):
                        took[reader].append((found - written) * 1000)
                    # The batch ends, and the next one waits for files.
                    time.sleep(0.2)
            listener.close()
            engine.sql("DROP MATERIALIZED VIEW seen")
    return took


def _shuffled(chance: random.Random) -> list[str]:
    """Return the readers in an order of their turns: what runs before must not be the same each time."""
    return chance.sample(READERS, len(READERS))


def _write(folder: Path, event: int) -> float:
    """Put the rows of an event into a stream, and return when they were there."""
    second = f"{event // 3600:02}:{event // 60 % 60:02}:{event % 60:02}"
    (folder / f".{event}").write_text(f"{event},a,2026-01-05 {second}.000\n{event},b,2026-01-05 {second}.500\n")
    os.replace(folder / f".{event}", folder / f"{event:06}.csv")
    return time.monotonic()


@contextmanager
def _reader(target, *arguments) -> Iterator[Connection]:
    """Run a reader in a process of its own, and lend the pipe to it."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=target, args=(*arguments, theirs), daemon=True)
    process.start()
    try:
        assert ours.recv() == "ready"
        yield ours
    finally:
        process.terminate()
        process.join(10)


def _received(pipe: Connection, event: int) -> float:
    """Return when a reader saw an event."""
    while True:
        assert pipe.poll(_PATIENCE_SECONDS), event
        found, when = pipe.recv()
        if found == event:
            return when


def _connected(port: int):
    import psycopg

    return psycopg.connect(host="127.0.0.1", port=port, user="a", dbname="x", autocommit=True)


def _ask(port: int, poll: float, pipe: Connection) -> None:
    """Ask for each event that comes through a pipe until its row is there."""
    import psycopg

    with _connected(port) as connection:
        cursor = connection.cursor()
        pipe.send("ready")
        while True:
            event = pipe.recv()
            while True:
                try:
                    if cursor.execute("SELECT * FROM seen WHERE id = %s", (event,), prepare=True).fetchall():
                        break
                except psycopg.Error:
                    # The view has no table before its first batch.
                    connection.rollback()
                time.sleep(poll)
            pipe.send((event, time.monotonic()))


def _follow(port: int, pipe: Connection) -> None:
    """Tell of each event that a subscription brings."""
    with _connected(port) as connection:
        pipe.send("ready")
        for row in connection.cursor().stream("SUBSCRIBE seen"):
            pipe.send((row[0], time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
