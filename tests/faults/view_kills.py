"""Kills the server of views, of a chain, a join with versions and a group, while others read, wait and follow.

`python tests/faults/view_kills.py --kills 50 [--seed 7]` says what it did. It ends with 1 if a read saw half a batch, a
token told what was not so, or a subscription lost or doubled a change.

Each file of the stream has a row for each of a few cities. So in whole batches all cities have one count, that of the
files.
"""

import argparse
import contextlib
import datetime
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from quick_java import SUBMIT_OPTIONS  # noqa: E402

import cepsql  # noqa: E402
from cepsql.errors import Error, OperationalError  # noqa: E402

CITIES = ("Bern", "Oslo", "Rome")
STREAM = """CREATE STREAM orders (file INT, city STRING, at TIMESTAMP, total INT, WATERMARK FOR at AS at)
USING csv OPTIONS (path '{folder}', maxFilesPerTrigger '2')"""
COUNTS = "SELECT city, COUNT(*) AS n, SUM(total) AS total FROM orders GROUP BY city EMIT CHANGES"
VIEWS = {
    "spent": COUNTS,
    "large": "SELECT file, city, at FROM orders WHERE total >= 0",
    "sizes": "SELECT n, COUNT(*) AS cities FROM spent GROUP BY n",
    "met": """SELECT o.file, o.city, o.at, s.n FROM orders AS o
        LEFT JOIN spent FOR SYSTEM_TIME AS OF o.at AS s ON s.city = o.city""",
    "tops": "SELECT cities, MAX(n) AS n FROM sizes GROUP BY cities",
    "counted": COUNTS,
    "whole": "SELECT 'all' AS what, COUNT(*) AS n, SUM(total) AS total FROM orders GROUP BY 'all' EMIT CHANGES",
    "hours": """SELECT city, window_end, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 HOUR)
        GROUP BY city, window_start, window_end""",
}
KEYS = {"spent": ("city",), "sizes": ("n",), "tops": ("cities",), "counted": ("city",), "whole": ("what",)}
GROUPED = ("counted", "whole", "hours")
_PATIENCE_SECONDS = 480.0


def define(folder: Path) -> None:
    """Let a process of its own define all, whose queries a server runs later."""
    with cepsql.connect(catalog=str(folder / "catalog.db")) as engine:
        engine.sql(STREAM.format(folder=folder / "orders"))
        engine.sql("CREATE VIEW GROUP both")
        for name, query in VIEWS.items():
            group = " IN both" if name in GROUPED else ""
            options = "" if name in ("large", "met", "hours") else " OPTIONS (retain '1 hour')"
            engine.sql(f"CREATE MATERIALIZED VIEW {name}{group}{options} AS {query}")
        engine.sql("START VIEW GROUP both")


def program(folder: Path, text: str, *arguments: str) -> subprocess.Popen:
    """Start Python with a text, and its output in a log."""
    environment = os.environ | {"SPARK_SUBMIT_OPTS": SUBMIT_OPTIONS, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", text, *arguments]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)


class Server:
    """A server of the catalog; its JVM is a child of it."""

    def __init__(self, folder: Path):
        serve = "import sys; from cepsql.cli import main; sys.exit(main())"
        arguments = ("serve", "--catalog", str(folder / "catalog.db"), "--master", "local[2]")
        self._process = program(folder, serve, *arguments)

    def kill(self, who: str) -> None:
        """Kill Python, its JVM, or both, and wait for their end."""
        java = self._children()
        if who != "jvm":
            self._process.kill()
        for pid in java if who != "python" else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @property
    def runs(self) -> bool:
        """Whether its Python is there."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it at once."""
        self.kill("both")
        self._process.wait()

    def _children(self) -> list[int]:
        pids = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError):
                if int(stat.read_text().rpartition(")")[2].split()[1]) == self._process.pid:
                    pids.append(int(stat.parent.name))
        return pids


@dataclass
class Follower:
    """Follows a view, and applies each change to the rows that it had; now and then as a process would that comes back
    with its token alone."""

    folder: Path
    view: str
    chance: random.Random
    rows: dict[tuple, tuple] = field(default_factory=dict)
    token: str | None = None
    changes: int = 0
    returns: int = 0

    def follow(self, until: threading.Event) -> None:
        """Follow for a while, then come back."""
        while not until.is_set():
            with cepsql.connect(catalog=str(self.folder / "catalog.db")) as engine:
                try:
                    subscription = engine.subscribe(self.view, since=self.token)
                except OperationalError as error:
                    # Before its first batch there is no table.
                    assert self.token is None, error
                    until.wait(0.2)
                    continue
                with subscription:
                    self.returns += 1
                    end = time.monotonic() + self.chance.uniform(0.5, 15)
                    while time.monotonic() < end and not until.is_set():
                        self._step(subscription, until)

    def catch_up(self, expected: dict[tuple, tuple]) -> None:
        """Come to the last rows."""
        end = time.monotonic() + 60
        with (
            cepsql.connect(catalog=str(self.folder / "catalog.db")) as engine,
            engine.subscribe(self.view, since=self.token) as subscription,
        ):
            while self.rows != expected:
                assert time.monotonic() < end, (self.view, self.rows, expected)
                self._step(subscription, threading.Event())

    def _step(self, subscription, until: threading.Event) -> None:
        first = self.token is None
        changes = subscription.poll()
        if changes is None:
            until.wait(0.02)
            return
        names = [name for name in changes.rows.column_names if name != "op"]
        keys = [names.index(name) for name in KEYS.get(self.view, names)]
        for row in changes.rows.to_pylist():
            values = tuple(row[name] for name in names)
            key, op = tuple(values[place] for place in keys), row["op"]
            said = (self.view, op, values, self.rows.get(key), changes.token)
            if op in ("-D", "-U"):
                assert self.rows.pop(key, None) == values, said
            else:
                assert key not in self.rows, said
                self.rows[key] = values
            self.changes += 1
        # A snapshot comes in one piece or several, which have one token.
        assert not first or changes.token, changes
        self.token = changes.token


class Round:
    """A server over a stream to which files come, which is killed, and started again each time."""

    def __init__(self, folder: Path, chance: random.Random):
        self.folder, self.chance = folder, chance
        self.orders = folder / "orders"
        self.orders.mkdir(parents=True)
        self.files = self.kills = self.reads = self.waits = 0
        self.errors: list[BaseException] = []
        self._seen: dict[str, int] = {}
        self._over = threading.Event()

    def run(self, kills: int, until: float) -> None:
        """Kill so often, unless the monotonic clock says that it is time, and check what is there in the end."""
        self.put()
        definition = program(
            self.folder, f"import view_kills, pathlib; view_kills.define(pathlib.Path({str(self.folder)!r}))"
        )
        assert definition.wait(_PATIENCE_SECONDS) == 0, (self.folder / "log").read_text()[-3000:]
        followers = [Follower(self.folder, name, random.Random(self.chance.random())) for name in VIEWS]
        threads = [threading.Thread(target=self._guarded, args=(one.follow, self._over)) for one in followers]
        threads.append(threading.Thread(target=self._guarded, args=(self._read, self._over)))
        server = Server(self.folder)
        try:
            for thread in threads:
                thread.start()
            while self.kills < kills and time.monotonic() < until and not self.errors:
                server = self._live(server)
            if not server.runs:
                server = Server(self.folder)
            self._come_to_the_end(server)
            self._over.set()
            for thread in threads:
                thread.join()
            for follower in followers if not self.errors else ():
                self._guarded(follower.catch_up, self._rows(follower.view))
            self.changes = sum(follower.changes for follower in followers)
            self.returns = sum(follower.returns for follower in followers)
        finally:
            self._over.set()
            server.close()
            for thread in threads:
                if thread.is_alive():
                    thread.join(60)

    def put(self) -> str:
        """Put a file into the stream, and return its name."""
        name = f"{self.files:06d}.csv"
        at = datetime.datetime(2026, 1, 5) + datetime.timedelta(minutes=self.files)
        lines = [f"{self.files},{city},{at},{self.files}\n" for city in CITIES]
        # Spark takes files in the order of their times, in milliseconds.
        time.sleep(0.002)
        (self.orders / f".{name}").write_text("".join(lines))
        (self.orders / f".{name}").rename(self.orders / name)
        self.files += 1
        return name

    def _live(self, server: Server) -> Server:
        """Put files for a time, wait for one now and then, and kill."""
        with cepsql.connect(catalog=str(self.folder / "catalog.db")) as engine:
            self._progress(engine, server)
            end, token = time.monotonic() + self.chance.uniform(0.0, 4.0), None
            while time.monotonic() < end:
                token = self.put()
                if self.chance.random() < 0.2:
                    self._wait(engine, token)
                time.sleep(self.chance.uniform(0.0, 0.6))
        who = self.chance.choice(["both", "both", "python", "jvm"])
        server.kill(who)
        self.kills += 1
        if who == "jvm":
            # The server starts another one.
            return server
        server.close()
        return Server(self.folder)

    def _progress(self, engine, server: Server) -> None:
        """Wait until a view goes on, so that there is something to break."""
        view = self.chance.choice(list(VIEWS))
        token, end = self.put(), time.monotonic() + _PATIENCE_SECONDS
        while not self.errors:
            if not server.runs:
                raise AssertionError(f"the server ended by itself: {(self.folder / 'log').read_text()[-3000:]}")
            assert time.monotonic() < end, f"{view} does not go on: {engine.sql('SHOW EXTENDED QUERIES')}"
            with contextlib.suppress(OperationalError):
                engine.sql(f"WAIT FOR {view} UNTIL 'orders@{token}' TIMEOUT INTERVAL '1' SECONDS")
                return

    def _wait(self, engine, name: str) -> None:
        """Wait for a file; when its token is said to have been taken, its rows are there."""
        view = self.chance.choice(["large", "large", "spent", "whole", "tops"])
        try:
            engine.sql(f"WAIT FOR {view} UNTIL 'orders@{name}' TIMEOUT INTERVAL '3' SECONDS")
        except OperationalError:
            return
        self.waits += 1
        number = int(name.partition(".")[0])
        if view == "large":
            (row,) = engine.query(f"SELECT COUNT(*) AS n FROM large WHERE file = {number}").arrow().to_pylist()
            assert row["n"] == len(CITIES), (name, row)
        else:
            column = "n / 3" if view == "whole" else "n"
            (row,) = engine.query(f"SELECT MIN({column}) AS n FROM {view}").arrow().to_pylist()
            assert row["n"] >= 1, (view, name, row)

    def _read(self, over: threading.Event) -> None:
        """Read views again and again: each as whole batches, a group as one of them, and none goes back."""
        with cepsql.connect(catalog=str(self.folder / "catalog.db")) as engine:
            while not over.is_set():
                with contextlib.suppress(OperationalError):
                    self._check(engine)
                    self.reads += 1
                over.wait(0.05)

    def _check(self, engine) -> None:
        def rows(sql: str) -> list[dict]:
            return engine.query(sql).arrow().to_pylist()

        for view in ("spent", "counted"):
            counts = {row["n"] for row in rows(f"SELECT city, n FROM {view}")}
            assert len(counts) <= 1, (view, counts)
            self._goes_on(view, counts)
        for view, column in (("sizes", "n"), ("tops", "n")):
            totals = rows(f"SELECT cities, n FROM {view}")
            assert len(totals) <= 1 and all(row["cities"] == len(CITIES) for row in totals), (view, totals)
            self._goes_on(view, {row[column] for row in totals})
        both = "SELECT SUM(n) AS n, SUM(total) AS total FROM counted UNION ALL SELECT SUM(n), SUM(total) FROM whole"
        one, other = rows(both)
        assert one == other, (one, other)
        counts = {row["n"] for row in rows("SELECT file, COUNT(*) AS n FROM large GROUP BY file")}
        assert counts <= {len(CITIES)}, counts
        for row in rows("SELECT file, COUNT(*) AS cities, MIN(n) AS least, MAX(n) AS most FROM met GROUP BY file"):
            # A version has whole files, and none after the row.
            assert (row["cities"], row["least"]) == (len(CITIES), row["most"]), row
            assert row["most"] is None or row["most"] <= row["file"] + 1, row
        closed = "SELECT window_end, COUNT(*) AS cities, MIN(n) AS least, MAX(n) AS most FROM hours GROUP BY window_end"
        for row in rows(closed):
            assert (row["cities"], row["least"]) == (len(CITIES), row["most"]), row

    def _goes_on(self, view: str, counts: set[int]) -> None:
        for count in counts:
            assert count >= self._seen.get(view, 0), (view, count, self._seen)
            self._seen[view] = count

    def _rows(self, view: str) -> dict[tuple, tuple]:
        with cepsql.connect(catalog=str(self.folder / "catalog.db")) as engine:
            rows = engine.query(f"SELECT * FROM {view}").arrow().to_pylist()
        keys = KEYS.get(view)
        return {tuple(row[name] for name in keys or row): tuple(row.values()) for row in rows}

    def _come_to_the_end(self, server: Server) -> None:
        """Let the server take all files, and compare the views with them."""
        end = time.monotonic() + _PATIENCE_SECONDS
        expected = {
            "spent": {(city,): (city, self.files, sum(range(self.files))) for city in CITIES},
            "sizes": {(self.files,): (self.files, len(CITIES))},
            "tops": {(len(CITIES),): (len(CITIES), self.files)},
            "whole": {("all",): ("all", self.files * len(CITIES), len(CITIES) * sum(range(self.files)))},
        }
        expected["counted"] = expected["spent"]
        for view, rows in expected.items():
            while not self.errors:
                with contextlib.suppress(OperationalError):
                    if (actual := self._rows(view)) == rows:
                        break
                    assert time.monotonic() < end, (view, actual, rows)
                time.sleep(0.2)
        # The rows of the last file wait for a later watermark.
        while not self.errors and (met := len(self._rows("met"))) != (self.files - 1) * len(CITIES):
            assert time.monotonic() < end, (met, self.files)
            time.sleep(0.2)
        while not self.errors and (large := len(self._rows("large"))) != self.files * len(CITIES):
            assert time.monotonic() < end, (large, self.files)
            time.sleep(0.2)

    def _guarded(self, action, *arguments) -> None:
        try:
            action(*arguments)
        except (AssertionError, Error) as error:
            self.errors.append(error)


def main() -> int:
    """Run rounds until there were enough kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no more are killed")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cepsql-view-kills-"))
    begun = time.monotonic()
    killed = Round(folder, random.Random(options.seed))
    killed.run(options.kills, begun + options.seconds)
    print(
        f"{killed.kills} kills, {time.monotonic() - begun:.0f} seconds, {killed.files} files, {killed.reads} rounds of "
        f"reads, {killed.waits} tokens, {killed.changes} changes in {killed.returns} subscriptions:",
        *(killed.errors or ["all true"]),
    )
    if killed.errors:
        print(f"kept in {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if killed.errors else 0


if __name__ == "__main__":
    sys.exit(main())
