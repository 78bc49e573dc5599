"""Point lookups of a view over PostgreSQL's protocol while it changes, beside a server that answers a constant row; and
what 1,000 changes cost in a large view and in a small one.

`python tests/bench/views.py` prints times of this run and their ratios; only the ratios mean something elsewhere.
"""

import argparse
import asyncio
import multiprocessing
import random
import resource
import sys
import tempfile
import threading
import time
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
        begin = time.perf_counter()
        view.write(batch, changes(rows, batch)[: CHANGES // 10])
        took.append(time.perf_counter() - begin)
        batch += 1
    ready.put(sorted(took)[len(took) // 2])
    listener.close()


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
    ready.put(0.0)


def ask(port: int, connections: int, seconds: float, rows: int) -> list[float]:
    """Return the times of lookups, in milliseconds, over so many connections at once."""
    import psycopg

    took: list[float] = []
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        chosen = random.Random(number)
        with psycopg.connect(host="127.0.0.1", port=port, user="a", dbname="x", autocommit=True) as connection:
            cursor = connection.cursor()
            while time.monotonic() < end:
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


def asked(target, arguments: tuple, seconds: float, rows: int) -> dict[int, tuple[float, float, float]]:
    """Return p50, p99 and lookups a second of a server, by the number of connections."""
    spawn = multiprocessing.get_context("spawn")
    ready, stop = spawn.Queue(), spawn.Event()
    server = spawn.Process(target=target, args=(*arguments, ready, stop), daemon=True)
    server.start()
    found = {}
    try:
        port = ready.get(timeout=300)
        for connections in (1, 16):
            took = ask(port, connections, seconds, rows)
            found[connections] = (took[len(took) // 2], took[int(len(took) * 0.99)], len(took) / seconds)
    finally:
        stop.set()
        batch = ready.get(timeout=60)
        server.join(60)
    if batch:
        print(f"  a batch of {CHANGES // 10} changes meanwhile: {batch * 1000:.1f} ms")
    return found


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
    small, large = batch_cost(given.rows, given.batches), batch_cost(given.large, given.batches)
    print(f"a batch of {CHANGES} changes: {small:.1f} ms CPU in {given.rows} rows, {large:.1f} in {given.large} "
          f"({large / small:.2f} times)")  # fmt: skip


if __name__ == "__main__":
    main()
