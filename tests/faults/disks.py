"""Disks that go away and come back at random while queries run: `python tests/faults/disks.py --times 100`.

The catalog, checkpoints, sinks of every format, and late rows are on a disk each. Every row must be there once in the
end: among the rows of each sink, and for the query with a pattern either there or among the late rows. Prints what goes
and comes; ends with 1 if a row is missing or there twice. With --postgresql a server goes away, too, whose tables get
rows, and groups that change. With --kafka a query writes to a topic, in which a record may stand twice.
"""

import argparse
import contextlib
import functools
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import cepsql
import cepsql.spark.checkpoint.checkpoint
import cepsql.standing.reconciling.reconciler
from cepsql.engine import Engine
from cepsql.errors import Error
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.spark.jvm.launching.session import session

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "servers"), str(HERE.parent / "kafka")]

from disk import Disk  # noqa: E402 (found by the line above)
from kafka_broker import connector_jars, running_broker  # noqa: E402
from kafka_topics import Topics  # noqa: E402
from postgresql import running_postgresql  # noqa: E402

STREAM = """CREATE STREAM s (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts)
USING csv OPTIONS (path '{folder}/in', maxFilesPerTrigger '10')
LATE ROWS INTO late_s USING json OPTIONS (path '{late}')
"""
PLAIN = "SELECT x FROM s"
MATCH = "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS x PATTERN (A))"
FILES = ("parquet", "json", "csv", "orc")
GROUPS = "SELECT x, COUNT(*) AS n FROM s GROUP BY x EMIT CHANGES"
LONGEST_SECONDS = 4.0
PATIENCE_SECONDS = 100.0
"""How long the rows of no sink may stay as they are, though some are missing."""


class Input:
    """Files that appear one by one, each with a row on time and one that is late, but for the first."""

    def __init__(self, folder: Path):
        self._folder, self.rows = folder / "in", 0
        self._folder.mkdir()

    def put(self) -> None:
        """Write a file."""
        number = self.rows // 2
        times = (number, 0)
        lines = [
            f"1,2026-01-01 {at // 3600:02}:{at // 60 % 60:02}:{at % 60:02},{self.rows + i}\n"
            for i, at in enumerate(times)
        ]
        hidden = self._folder / f".{number}"
        hidden.write_text("".join(lines))
        os.utime(hidden, (1_000_000_000 + number,) * 2)
        hidden.rename(self._folder / f"{number:06}.csv")
        self.rows += 2


def define(
    engine: Engine, folder: Path, disks: dict[str, Disk], url: str | None, topics: Topics | None
) -> dict[str, Callable[[], list[int]]]:
    """Define and start the queries; return by name what reads the rows that each has written."""
    late = disks["late"].folder / "rows"
    engine.sql(STREAM.format(folder=folder, late=late))
    sinks = disks["sinks"].folder
    read: dict[str, Callable[[], list[int]]] = {}
    for format in FILES:
        place = f"{sinks}/{format}"
        engine.sql(f"CREATE SINK to_{format} USING {format} OPTIONS (path '{place}')")
        read[format] = lambda format=format, place=place: _read_files(engine, format, place)
    engine.sql(f"CREATE SINK to_sqlite USING sqlite OPTIONS (path '{sinks}/out.db', create_table 'true')")
    read["sqlite"] = lambda: _read_sqlite(f"{sinks}/out.db")
    if url is not None:
        engine.sql(f"CREATE SINK to_postgresql USING postgresql OPTIONS (url '{url}', create_table 'true')")
        read["postgresql"] = lambda: _read_postgresql(url, "SELECT x FROM to_postgresql")
    if topics is not None:
        topic = topics.new()
        engine.sql(
            f"CREATE SINK to_kafka USING kafka OPTIONS (topic '{topic}', kafka.bootstrap.servers '{topics.address}')"
        )
        read["kafka"] = lambda: sorted({json.loads(value or "")["x"] for _, value in topics.records(topic)})
    for name in read:
        _create(engine, disks, name, PLAIN)
    if url is not None:
        columns = "x INT, n BIGINT, PRIMARY KEY (x)"
        engine.sql(f"CREATE SINK to_groups ({columns}) USING postgresql OPTIONS (url '{url}', create_table 'true')")
        _create(engine, disks, "groups", GROUPS)
        read["groups"] = lambda: _read_postgresql(url, "SELECT x FROM to_groups, generate_series(1, n)")
    engine.sql(f"CREATE SINK to_match USING parquet OPTIONS (path '{sinks}/match')")
    _create(engine, disks, "match", MATCH)
    read["match"] = lambda: _read_files(engine, "parquet", f"{sinks}/match") + _late(engine, "match")
    return read


def _create(engine: Engine, disks: dict[str, Disk], name: str, sql: str) -> None:
    checkpoint = disks["checkpoints"].folder / name
    engine.sql(f"CREATE QUERY {name}_query INTO to_{name} OPTIONS (checkpoint '{checkpoint}') AS {sql}")
    engine.sql(f"START QUERY {name}_query")


def _read_files(engine: Engine, format: str, place: str) -> list[int]:
    return [row.x for row in engine.spark.read.schema("x INT").format(format).load(place).collect()]


def _read_sqlite(path: str) -> list[int]:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return [x for (x,) in database.execute("SELECT x FROM to_sqlite")]


def _read_postgresql(url: str, query: str) -> list[int]:
    import psycopg

    with psycopg.connect(url) as connection:
        return [x for (x,) in connection.execute(query).fetchall()]


def _late(engine: Engine, name: str) -> list[int]:
    return [row.x for row in engine.sql("SELECT x FROM late_s").collect()]


def disturb(disks: dict[str, Disk], server, input: Input, times: int, chance: random.Random) -> None:
    """Let disks, and a server if there is one, go and come, while files appear."""
    names = [*disks, *(["server"] if server is not None else [])]
    for number in range(times):
        gone = chance.sample(names, chance.choice([1, 1, 1, 2]))
        away, between = chance.uniform(0.2, LONGEST_SECONDS), chance.uniform(0, LONGEST_SECONDS)
        print(f"{number + 1}: {', '.join(gone)} away for {away:.1f} s", flush=True)
        for name in gone:
            server.stop() if name == "server" else disks[name].go()
        _wait(away, input)
        for name in gone:
            server.start() if name == "server" else disks[name].come()
        _wait(between, input)


def _wait(seconds: float, input: Input) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        input.put()
        time.sleep(min(1.0, max(0.0, end - time.monotonic())))


def wrong(read: dict[str, Callable[[], list[int]]], rows: int) -> dict[str, str]:
    """Return by name which rows of the input are missing, or there twice."""
    faults = {}
    for name, reader in read.items():
        try:
            counts = Counter(reader())
        except (Error, OSError, sqlite3.Error) as error:
            faults[name] = str(error)
            continue
        missing, twice = [x for x in range(rows) if not counts[x]], [x for x in counts if counts[x] > 1]
        if missing or twice:
            faults[name] = f"{len(missing)} missing: {missing[:9]}, {len(twice)} twice: {twice[:9]}"
    return faults


def run(folder: Path, times: int, seed: str, server=None, broker: str | None = None) -> int:
    """Run the queries while disks go and come; return 1 if a row is missing or there twice in the end."""
    disks = {name: Disk(folder / name) for name in ("catalog", "checkpoints", "sinks", "late")}
    # A query that fails so often would wait for a minute.
    cepsql.standing.reconciling.reconciler.pause = lambda failures: 0.5
    jars = {} if broker is None else {"spark.jars": connector_jars()}
    spark = session(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"} | jars)
    input = Input(folder)
    engine = cepsql.connect(spark, catalog=disks["catalog"].folder / "queries.db")
    try:
        read = define(engine, folder, disks, server and server.url, Topics(broker) if broker is not None else None)
        disturb(disks, server, input, times, random.Random(seed))
        end, before = time.monotonic() + PATIENCE_SECONDS, None
        while (left := wrong(read, input.rows)) and time.monotonic() < end:
            if left != before:
                end, before = time.monotonic() + PATIENCE_SECONDS, left
            time.sleep(2)
        time.sleep(3)
        left = wrong(read, input.rows)
        for name in sorted(left):
            print(f"{name}: {left[name]}; {dict(engine.sql(f'DESCRIBE QUERY {name}_query').rows).get('last error')}")
        print(f"{input.rows} rows, {len(read)} sinks, {len(left)} wrong")
        return 1 if left else 0
    finally:
        for disk in disks.values():
            if not disk.folder.exists():
                disk.come()
        engine.close()
        for disk in disks.values():
            disk.close()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=100)
    options.add_argument("--seed", default=None)
    options.add_argument("--postgresql", action="store_true")
    options.add_argument("--kafka", action="store_true")
    arguments = options.parse_args()
    seed = arguments.seed or str(random.SystemRandom().randrange(10**9))
    print(f"--seed {seed}")
    # The states are small, and in files all the same.
    cepsql.spark.checkpoint.checkpoint.StateFolder = functools.partial(StateFolder, least=1)
    folder = tempfile.mkdtemp(prefix="cepsql-disks-")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_postgresql()) if arguments.postgresql else None
        broker = stack.enter_context(running_broker()) if arguments.kafka else None
        if run(Path(folder), arguments.times, seed, server, broker):
            print(f"all files are in {folder}")
            return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
