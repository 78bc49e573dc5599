"""Point lookups of a view over PostgreSQL's protocol while it changes, beside a server that answers a constant row;
what the writer loses by 1,000 lookups a second on one core; what 1,000 changes cost in a large view and in a small one.

`python tests/bench/views.py` prints times of this run and their ratios; only the ratios mean something elsewhere.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import resource
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "views"))

CHANGES = 1000
COLUMNS = (("id", "bigint"), ("city", "string"), ("total", "double"), ("n", "bigint"))


def written_view(folder: Path, name: str, rows: int):
    """Return an engine and a view of so many rows, of which this process writes the batches."""
    from kept_views import WrittenView

    import cepsql

    engine = cepsql.connect(catalog=str(folder / "catalog.db"))
    view = WrittenView(engine, f"sqlite:///{folder / name}.db", name, COLUMNS, ["id"])
    view.write(0, [("+I", n, f"city {n % 100}", n / 3, n) for n in range(rows)])
    return engine, view


def changes(rows: int, batch: int) -> list[tuple]:
    """Return the rows of a batch of changes: half of a change is the row as it was."""
    chosen = random.Random(batch).sample(range(rows), CHANGES)
    return [("+U", n, f"city {n % 100}", n / 3, batch) for n in chosen]


def serve_view(folder: str, rows: int, ready, stop) -> None:
    """Answer for a view which this process changes, CHANGES rows a second."""
    from cepsql.frontends.server.wire.limits import Limits
    from cepsql.frontends.server.wire.listener import Listener
    from cepsql.frontends.server.wire.users import Users

    engine, view = written_view(Path(folder), "spent", rows)
    listener = Listener(engine, "127.0.0.1", 0, Users(None), Limits())
    ready.put(listener.address[1])
    took, batch = [], 1
    while not stop.wait(0.1):
        given = changes(rows, batch)[: CHANGES // 10]
        begin, worked = time.monotonic(), time.thread_time()
        view.write(batch, given)
        took.append((begin, time.monotonic() - begin, time.thread_time() - worked))
        batch += 1
    ready.put(took)
    listener.close()


def serve_view_on_one_core(folder: str, rows: int, ready, stop) -> None:
    """Do what `serve_view` does, on the first core that this process may use."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    serve_view(folder, rows, ready, stop)


def serve_constant(ready, stop) -> None:
    """Answer each statement with one row, by the same package and event loop."""
    import pg_mimic

    class Constant(pg_mimic.Portal):
        async def execute(self, max_rows):
            return [(1, "city 1", 0.5, 1)], False

    kinds = {"id": pg_mimic.INT8, "city": pg_mimic.TEXT, "total": pg_mimic.FLOAT8, "n": pg_mimic.INT8}
    columns = [pg_mimic.ResultColumn(name, oid) for name, oid in kinds.items()]

    class Asked(pg_mimic.Statement):
        def __init__(self, sql, oids):
            self.sql, self.param_oids = sql, oids or [None]

        async def describe(self):
            return columns

        def bind(self, params):
            return Constant()

    class Session(pg_mimic.Session):
        async def prepare(self, sql, param_oids):
            return Asked(sql, param_oids)

        async def schema(self):
            return {}

    async def run() -> None:
        server = pg_mimic.PgServer(Session, lambda name: pg_mimic.TrustAuthPlugin(), None, "16.0")
        await server.start_server("127.0.0.1", 0)
        ready.put(server.sockets()[0].getsockname()[1])
        while not stop.is_set():
            await asyncio.sleep(0.1)

    asyncio.run(run())
    ready.put([])


def ask(port: int, connections: int, seconds: float, rows: int, rate: float | None = None) -> list[float]:
    """Return the times of lookups, in milliseconds, over so many connections at once.

    rate: how many are begun in a second; None: each connection begins one as soon as the last one has ended.
    """
    import psycopg

    took: list[float] = []
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        chosen = random.Random(number)
        with psycopg.connect(host="127.0.0.1", port=port, user="a", dbname="x", autocommit=True) as connection:
            cursor = connection.cursor()
            due = time.monotonic()
            while time.monotonic() < end:
                if rate is not None:
                    due += connections / rate
                    time.sleep(max(0.0, due - time.monotonic()))
                begin = time.perf_counter()
                cursor.execute("SELECT id, city, total, n FROM spent WHERE id = %s", (chosen.randrange(rows),),
                               prepare=True)  # fmt: skip
                assert len(cursor.fetchall()) == 1
                took.append((time.perf_counter() - begin) * 1000)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(took)


@contextmanager
def served(target, arguments: tuple):
    """Run a server in a process of its own; lend its port and a list, which has what it tells after the block."""
    spawn = multiprocessing.get_context("spawn")
    ready, stop = spawn.Queue(), spawn.Event()
    server = spawn.Process(target=target, args=(*arguments, ready, stop), daemon=True)
    server.start()
    told: list = []
    try:
        yield ready.get(timeout=300), told
    finally:
        stop.set()
        told += ready.get(timeout=60)
        server.join(60)


def asked(target, arguments: tuple, seconds: float, rows: int) -> dict[int, tuple[float, float, float]]:
    """Return p50, p99 and lookups a second of a server, by the number of connections."""
    found = {}
    with served(target, arguments) as (port, _):
        for connections in (1, 16):
            took = ask(port, connections, seconds, rows)
            found[connections] = (took[len(took) // 2], took[int(len(took) * 0.99)], len(took) / seconds)
    return found


def writer_beside_lookups(folder: str, seconds: float, rows: int, rate: float) -> None:
    """Print what a batch takes alone and while so many lookups a second are asked, in turns, on one core."""
    phases: list[tuple[float, int]] = []
    lookups: dict[int, list[float]] = {1: [], 16: []}
    with served(serve_view_on_one_core, (folder, rows)) as (port, batches):
        for connections in (0, 1, 0, 16) * 3:
            phases.append((time.monotonic(), connections))
            if connections:
                lookups[connections] += ask(port, connections, seconds / 3, rows, rate)
            else:
                time.sleep(seconds / 3)
    print(f"a batch of {CHANGES // 10} changes on one core, beside {rate:.0f} lookups a second")
    during: dict[int, list[tuple[float, float]]] = {0: [], 1: [], 16: []}
    for begun, clock, worked in batches:
        during[[which for since, which in phases if since <= begun or since == phases[0][0]][-1]].append(
            (clock, worked)
        )
    for connections, found in during.items():
        clock, worked = (statistics.median(column) * 1000 for column in zip(*found, strict=True))
        said = f"  {connections:2} connections: {clock:.1f} ms by the clock, {worked:.1f} of processor time"
        if took := sorted(lookups.get(connections, ())):
            said += f"; {len(took) / seconds:.0f} lookups a second, p50 {took[len(took) // 2]:.2f} ms, "
            said += f"p99 {took[int(len(took) * 0.99)]:.2f}"
        print(said)


def batch_cost(rows: int, batches: int) -> float:
    """Return the CPU time of a batch of changes in a view of so many rows, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        engine, view = written_view(Path(folder), "spent", rows)
        begin = resource.getrusage(resource.RUSAGE_SELF)
        for batch in range(1, batches + 1):
            view.write(batch, changes(rows, batch))
        end = resource.getrusage(resource.RUSAGE_SELF)
        engine.close()
    return (end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime) / batches * 1000


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--rows", type=int, default=10_000)
    options.add_argument("--rate", type=float, default=1000)
    options.add_argument("--large", type=int, default=1_000_000)
    options.add_argument("--batches", type=int, default=20)
    given = options.parse_args()
    print("lookups, a constant row")
    constant = asked(serve_constant, (), given.seconds, given.rows)
    print(f"lookups, a view of {given.rows} rows that takes {CHANGES} changes a second")
    with tempfile.TemporaryDirectory() as folder:
        view = asked(serve_view, (folder, given.rows), given.seconds, given.rows)
    for connections in (1, 16):
        (c50, c99, c_rate), (v50, v99, v_rate) = constant[connections], view[connections]
        print(
            f"  {connections:2} connections: p50 {v50:.2f} ms beside {c50:.2f} ({v50 / c50:.2f} times), "
            f"p99 {v99:.2f} beside {c99:.2f} ({v99 / c99:.2f} times), {v_rate:.0f} a second beside {c_rate:.0f}"
        )
    with tempfile.TemporaryDirectory() as folder:
        writer_beside_lookups(folder, given.seconds, given.rows, given.rate)
    small, large = batch_cost(given.rows, given.batches), batch_cost(given.large, given.batches)
    print(f"a batch of {CHANGES} changes: {small:.1f} ms CPU in {given.rows} rows, {large:.1f} in {given.large} "
          f"({large / small:.2f} times)")  # fmt: skip


if __name__ == "__main__":
    main()
