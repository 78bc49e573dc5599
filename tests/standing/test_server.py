"""`cepsql serve` as it is used: processes that are killed, frozen, and take over from one another."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path

import pytest
import sqlalchemy as sa
from chance import is_night

from cepsql.engine import connect

DEFINITIONS = """
CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
USING json OPTIONS (path '${TICKS}');
CREATE SINK pairs (k STRING, a INT, b INT, PRIMARY KEY (k, a, b))
USING sqlite OPTIONS (path 'pairs.db', create_table 'true');
CREATE QUERY rises INTO pairs OPTIONS (spark.sql.shuffle.partitions 2) AS
SELECT k, a, b FROM ticks MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) DEFINE B AS n > A.n
) AS m;
CREATE STREAM nothing (k STRING) USING json OPTIONS (path '${NOWHERE}');
CREATE QUERY broken AS SELECT k FROM nothing
"""


class Server:
    """A server as a process of its own; its JVM is a child of it."""

    def __init__(self, folder: Path, *more: str):
        self.log = folder / f"{time.monotonic_ns()}.log"
        script = "import sys; from cepsql.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", script, "serve", "--catalog", str(folder / "catalog.db")]
        command += ["--master", "local[2]", *more]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log)

    def signal(self, number: int) -> None:
        """Send a signal to Python and its JVM."""
        pids = self.children()
        os.kill(self.process.pid, number)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def children(self) -> list[int]:
        pids = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(stat.read_text().rpartition(")")[2].split()[1]) == self.process.pid:
                    pids.append(int(stat.parent.name))
        return pids

    @property
    def said(self) -> list[dict]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def messages(self) -> str:
        return "\n".join(line["message"] for line in self.said)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ticks").mkdir()
    monkeypatch.setenv("TICKS", str(tmp_path / "ticks"))
    monkeypatch.setenv("CEPSQL_TIMEZONE", "UTC")
    return tmp_path


@pytest.fixture
def serve(folder):
    running = []

    def start(*more):
        running.append(Server(folder, *more))
        return running[-1]

    yield start
    for server in running:
        if server.process.poll() is None:
            server.signal(signal.SIGKILL)
            server.process.wait()
        # Shown where the test fails.
        print(f"exit code {server.process.returncode}\n{server.log.read_text()}")


@pytest.fixture
def on_postgresql(postgresql):
    """The location of a new catalog in a PostgreSQL server."""
    url = sa.make_url(postgresql.url).set(drivername="postgresql+psycopg")
    name = f"catalog_{uuid.uuid4().hex}"
    with sa.create_engine(url, isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    return url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)


def put(folder, minute, count=8):
    """Add a file with a key's ticks of a minute; each but the last two of them is decided by those after it."""
    rows = [{"k": "a", "ts": f"2026-01-01 00:{minute:02}:{i:02}", "n": 100 * minute + i} for i in range(count)]
    (folder / "ticks" / f".{minute}").write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.replace(folder / "ticks" / f".{minute}", folder / "ticks" / f"{minute}.json")


def pairs(folder):
    if not (folder / "pairs.db").exists():
        return []
    connecting = contextlib.closing(sqlite3.connect(folder / "pairs.db"))
    with connecting as connection, contextlib.suppress(sqlite3.OperationalError):
        return connection.execute("SELECT a, b FROM pairs ORDER BY a").fetchall()
    return []


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def freeze(server, catalog):
    """Stop a process while it writes nothing: SQLite lets nobody write until a writer that is frozen goes on."""
    with contextlib.closing(sqlite3.connect(catalog, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        server.signal(signal.SIGSTOP)
        connection.execute("ROLLBACK")


def test_servers_die_and_freeze_and_take_over(folder, serve):
    engine = connect(catalog=str(folder / "catalog.db"))
    engine.sql(DEFINITIONS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    first = serve("--metrics-port", str(port))
    until(lambda: "leads from now on" in first.messages())
    second = serve()
    rises = engine.queries["rises"]
    put(folder, 0)
    assert rises.start() in first.messages()
    until(lambda: len(pairs(folder)) == 3)
    until(lambda: "stands by" in second.messages())

    # What it does is there for Prometheus and for every process.
    until(lambda: rises.progress.get("matches") == 3)
    metrics = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    assert 'cepsql_query_matches_total{query="rises"} 3.0' in metrics
    assert 'cepsql_query_state{query="rises",state="running"} 1.0' in metrics
    assert "cepsql_server_leads 1.0" in metrics
    health = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz"))
    assert (health["role"], health["queries"]) == ("leads", ["rises"])
    assert health["states"]["rises"] == {"state": "running", "reason": None, "restarts": 0, "last_error": None}

    # The first freezes: the second takes over; the first comes back, writes nothing, and stands by.
    freeze(first, folder / "catalog.db")
    put(folder, 1)
    until(lambda: len(pairs(folder)) == 7)
    first.signal(signal.SIGCONT)
    until(lambda: "no longer run here" in first.messages())
    put(folder, 2)
    until(lambda: len(pairs(folder)) == 11)

    expected = [(100 * m + i, 100 * m + i + 1) for m in range(3) for i in (0, 2, 4, 6)]
    assert pairs(folder) == expected[:-1]
    assert rises.state.restarts == 1

    # A query that cannot run is tried again, and says why, to whoever asks.
    engine.home.states.desire("broken", "running")
    until(lambda: engine.queries["broken"].status == "failing")
    assert "needs the environment variable NOWHERE" in engine.sql("SHOW QUERIES").rows[0][-1]
    until(lambda: engine.queries["broken"].state.restarts >= 1)
    engine.sql("STOP QUERY broken")

    leads = second
    if is_night():
        # The second dies, Python and JVM at once: the first takes over.
        second.signal(signal.SIGKILL)
        put(folder, 3)
        until(lambda: len(pairs(folder)) == 15)
        assert pairs(folder) == [*expected, (300, 301), (302, 303), (304, 305)]
        assert rises.state.restarts == 2
        leads = first
    else:
        first.signal(signal.SIGKILL)

    # Told to end, it gives its queries back.
    leads.process.terminate()
    assert leads.process.wait(60) == 0
    assert (rises.status, rises.state.desired) == ("stopped", "running")
    engine.close()


@pytest.mark.nightly("it takes a minute")
def test_java_is_killed(folder, serve, on_postgresql):
    engine = connect(catalog=on_postgresql)
    engine.sql(DEFINITIONS.replace("OPTIONS (spark", f"OPTIONS (checkpoint '{folder}/rises', spark"))
    rises = engine.queries["rises"]
    server = serve("--catalog", on_postgresql, "--lease", "60")
    until(lambda: "leads from now on" in server.messages())
    rises.start()
    killed = []
    for minute in range(4):
        put(folder, minute)
        if minute != 2:
            until(lambda: len(pairs(folder)) == 4 * minute + 3)  # noqa: B023
        # The third time it dies while it is about to read what has come.
        (java,) = (pid for pid in server.children() if Path(f"/proc/{pid}/comm").read_text().strip() == "java")
        killed.append(java)
        os.kill(java, signal.SIGKILL)
        # For a moment the catalog still says that the query runs.
        until(lambda: rises.state.restarts > minute)  # noqa: B023
        until(lambda: rises.status == "running")
    put(folder, 4)
    until(lambda: len(pairs(folder)) == 19)
    assert pairs(folder) == [(100 * m + i, 100 * m + i + 1) for m in range(5) for i in (0, 2, 4, 6)][:-1]
    assert len(set(killed)) == 4
    assert server.process.poll() is None
    server.process.terminate()
    assert server.process.wait(60) == 0
    engine.close()
