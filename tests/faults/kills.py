"""Kills standing queries over a fixed input, at named places and at random times, and compares what they wrote.

`python tests/faults/kills.py --kills 500 [--seed 7]` goes on until so many kills have been survived, and says what it
did; it ends with 1 if a row is lost or doubled, or a count is wrong.
"""

import argparse
import contextlib
import json
import os
import random
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "servers"), str(HERE.parent / "kafka")]

from failpoints import PLACES  # noqa: E402
from hdfs import running_hdfs  # noqa: E402
from input import write_input  # noqa: E402
from kafka_broker import running_broker  # noqa: E402
from kafka_topics import Topics  # noqa: E402
from postgresql import PostgreSQL, running_postgresql  # noqa: E402
from quick_java import SUBMIT_OPTIONS  # noqa: E402
from s3 import BUCKET, running_s3, settings  # noqa: E402
from server import Unavailable  # noqa: E402
from standing import is_finished  # noqa: E402

_COUNTED = (
    "rows_read", "rows_used", "rows_late", "rows_malformed", "rows_null_time", "rows_out", "matches", "timeouts",
    "inputs",
)  # fmt: skip
_CHANGING = {"groups": ("rows_out",), "tables": ("rows_out", "inputs")}
"""Counts that hang on which rows share a micro-batch; a first one that was cut short may take a file more."""

_LONGEST_RUN_SECONDS = 240
PARQUET = ("match", "calls", "history", "rated", "pairs", "frames")
DATABASES = {"unions": "s.db", "keyed": "k.db", "groups": "g.db", "tables": "t.db"}
FILES = (*(name for name in PARQUET if name != "calls"), "windows", "plain")
QUERIES = (*PARQUET, *DATABASES, "windows", "plain", "chain", "topic")
ONCE = ("end of the input", "finish", "start of a run", "a claim", "claim of a folder", "claim of a table")
"""Places to which a query comes once in a run."""


@dataclass
class Outcome:
    """What a round has written, and what its queries counted of the input.

    written: the rows, as text, of each sink and of the tables of late rows; of the topic each record once.
    counts:  by query, as its checkpoint has them.
    """

    written: dict[str, Counter]
    counts: dict[str, dict[str, int]]


@dataclass
class Round:
    """One run over the input, killed as often as it takes, in a folder of its own.

    checkpoints: where they lie if not there, and the settings by which Spark reaches it.
    """

    folder: Path
    server: PostgreSQL | None
    broker: str | None
    queries: tuple[str, ...] = QUERIES
    checkpoints: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    kills: list[str] = field(default_factory=list)
    _handles: list[int] = field(default_factory=list)

    def __post_init__(self):
        write_input(self.folder / "in")
        self._schema = f"f{secrets.token_hex(6)}"
        if self.server is not None:
            self._query(f"CREATE SCHEMA {self._schema}")
        if self.broker is not None:
            Topics(self.broker).create(self._schema)

    def run(self, chance: random.Random | None, kills: int = 0, until: float = float("inf")) -> None:
        """Run the queries to their end; with chance they are killed so often before, as long as they run.

        until: when the monotonic clock says so, no more are killed.

        A JVM whose program was killed is left to end by itself, beside the next one.
        """
        names = [name for name in self.queries if name != "topic" or self.broker is not None]
        while left := [name for name in names if not is_finished(self.folder, name)]:
            killing = len(self.kills) < kills and time.monotonic() < until
            plan, few = self._death(chance, left) if chance is not None and killing else ((), left)
            if not self._run_once(plan, few):
                self.kills.append(" ".join(map(str, plan)))
        for handle in self._handles:
            _kill(handle)
            os.close(handle)
        self._handles.clear()

    def _death(self, chance: random.Random, left: list[str]) -> tuple[tuple, list[str]]:
        """Draw how to die, at a place or at a time, and two of the queries to die with, of which one comes there.

        A start of all of them takes longer than one that is soon killed needs.
        """
        who = chance.choice(["both", "both", "jvm", "python"])
        met = {place: [name for name in left if name in self._there(place)] for place in PLACES}
        if chance.random() < 0.4:
            names = {"both": ("jvm", "python")}.get(who, (who,))
            return ("at random", round(chance.uniform(0, 8), 2), names), chance.sample(left, min(2, len(left)))
        place = chance.choice([place for place in PLACES if met[place]])
        count = chance.choice([1, 1, 2] if place in ONCE else [1, 1, 2, 3, 5])
        one = chance.choice(met[place])
        others = [name for name in (met[place] if count > 1 else left) if name != one]
        plan = (place, chance.choice(["before", "after"]), count, who)
        return plan, [one, *chance.sample(others, min(1, len(others)))]

    def _there(self, place: str) -> Collection[str]:
        """Return the queries that come to a place."""
        tables = {*DATABASES, "chain"}
        return {
            "files of a batch": FILES, "record of files": FILES, "names of files": FILES, "claim of a folder": FILES,
            "transaction": tables, "claim of a table": tables,
            "rows in a transaction of SQLite": tables if self.server is None else DATABASES,
            "rows in a transaction of PostgreSQL": () if self.server is None else ("chain",),
            "a file in a file system of Hadoop's": () if self.checkpoints is None else QUERIES,
            "history before a stream": ("history",),
            "table that is read again": ("rated",),
            "function": ("calls",),
        }.get(place, QUERIES)  # fmt: skip

    def outcome(self) -> Outcome:
        """Return what has come of it."""
        return Outcome(self._written(), self._counts())

    def _written(self) -> dict[str, Counter]:
        rows_by_sink = {name: _files(self.folder / name, "parquet") for name in (*PARQUET, "late_a", "late_b")}
        rows_by_sink["windows"] = _files(self.folder / "windows", "json")
        rows_by_sink["plain"] = Counter(
            line for file in (self.folder / "plain").glob("*.csv") for line in file.read_text("utf-8").splitlines()
        )
        databases = DATABASES if self.server is not None else DATABASES | {"chain": "p.db"}
        for name in databases.keys() & set(self.queries):
            rows_by_sink[name] = _rows(sqlite3.connect(self.folder / databases[name]).execute(f"SELECT * FROM {name}"))
        if self.server is not None and "chain" in self.queries:
            rows_by_sink["chain"] = Counter(map(str, self._query(f"SELECT * FROM {self._schema}.chain")))
        if self.broker is not None:
            # A batch that is done again is sent again, with the same match ids: those may come more than once.
            rows_by_sink["topic"] = Counter(map(str, set(Topics(self.broker).records(self._schema))))
        return rows_by_sink

    def _counts(self) -> dict[str, dict[str, int]]:
        counts = {}
        for path in sorted(self.folder.glob("checkpoint_*/progress.json")):
            totals = json.loads(path.read_text())["totals"]
            name = path.parent.name.removeprefix("checkpoint_")
            counts[name] = {key: totals[key] for key in _COUNTED if key not in _CHANGING.get(name, ())}
        return counts

    def _run_once(self, plan: tuple, names: list[str]) -> bool:
        """Run queries of these names once; return whether they came to their end. A plan says how they die."""
        pids = self.folder / "pids"
        pids.unlink(missing_ok=True)
        at_random = bool(plan) and plan[0] == "at random"
        arguments = [] if at_random else list(map(str, plan))
        environment = os.environ | {"SPARK_SUBMIT_OPTS": SUBMIT_OPTIONS, "FAULTS_SCHEMA": self._schema}
        environment["FAULTS_QUERIES"] = " ".join(names)
        if self.server is not None:
            environment["FAULTS_POSTGRESQL"] = self.server.url
        if self.broker is not None:
            environment |= {"FAULTS_KAFKA": self.broker, "FAULTS_TOPIC": self._schema}
        if self.checkpoints is not None:
            environment["FAULTS_CHECKPOINTS"] = f"{self.checkpoints}/{self._schema}"
            environment["FAULTS_SETTINGS"] = json.dumps(dict(self.settings))
        with (self.folder / "log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, HERE / "standing.py", self.folder, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True,
            )  # fmt: skip
            try:
                while not pids.exists() and child.poll() is None:
                    time.sleep(0.05)
                handles = {name: os.pidfd_open(pid) for name, pid in json.loads(pids.read_text()).items()}
                self._handles += handles.values()
                if at_random:
                    # Restarts need some seconds before the first batch; there is something to break from then on.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(plan[1])
                    for name in plan[2]:
                        _kill(handles[name])
                code = child.wait(_LONGEST_RUN_SECONDS)
            finally:
                child.kill()
                child.wait()
        # Without its JVM a program ends with an error; else it ends well, or by our hand.
        if code != 0 and not (plan and (code == -signal.SIGKILL or plan[-1] in ("jvm", ("jvm",)))):
            raise AssertionError(f"{plan}: failed by itself:\n{(self.folder / 'log').read_text()[-3000:]}")
        return code == 0

    def _query(self, sql: str) -> list[tuple]:
        import psycopg

        assert self.server is not None
        with psycopg.connect(self.server.url) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []


def _kill(handle: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)


def differences(expected: Outcome, actual: Outcome) -> list[str]:
    """Return in what the sinks, the tables of late rows and the counts of two rounds differ."""
    said = []
    for name, rows in expected.written.items():
        lost, more = rows - actual.written[name], actual.written[name] - rows
        if lost or more:
            said.append(f"{name}: {lost.total()} lost, {more.total()} too many, such as {[*lost, *more][:2]}")
    said += [
        f"{name} counted {numbers}, not {expected.counts[name]}"
        for name, numbers in actual.counts.items()
        if numbers != expected.counts[name]
    ]
    return said


def _files(folder: Path, format: str) -> Counter:
    if not folder.exists():
        return Counter()
    table = pyarrow.dataset.dataset(folder, format=format).to_table()
    # Every query has an identity of its own, and its batches depend on when it was stopped.
    return Counter(map(str, table.drop_columns([n for n in ("query", "batch") if n in table.column_names]).to_pylist()))


def _rows(rows) -> Counter:
    return Counter(map(str, rows))


@contextlib.contextmanager
def rounds(required: bool = False) -> Iterator["tuple[Path, PostgreSQL | None, str | None]"]:
    """Give a temporary folder, a server of PostgreSQL and the address of a broker: None where they cannot be had.

    required: without one of them the error says why.
    """
    folder = Path(tempfile.mkdtemp(prefix="cepsql-faults-"))
    try:
        with contextlib.ExitStack() as stack:
            server = broker = None
            try:
                server = stack.enter_context(running_postgresql())
                broker = stack.enter_context(running_broker())
            except Unavailable:
                if required:
                    raise
            yield folder, server, broker
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def remote(kind: str | None) -> Iterator[tuple[str | None, Mapping[str, str]]]:
    """Give where checkpoints lie, and the settings by which Spark reaches it: of an HDFS or S3 that runs meanwhile."""
    if kind is None:
        yield None, {}
    elif kind == "hdfs":
        with running_hdfs() as url:
            yield url, {}
    else:
        with running_s3() as url:
            yield f"s3a://{BUCKET}", settings(url)


def main() -> int:
    """Run rounds until there were enough kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no more are killed")
    parser.add_argument("--per-round", type=int, default=12, help="kills of one run over the input")
    parser.add_argument(
        "--expected", type=Path, help="file that keeps what an undisturbed run writes, for further ones"
    )
    parser.add_argument("--queries", nargs="+", choices=QUERIES, default=QUERIES, help="those that are run")
    parser.add_argument("--checkpoints", choices=["hdfs", "s3"], help="where they lie if not in a folder")
    options = parser.parse_args()
    # Servers and children are ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    chance, done, wrong = random.Random(options.seed), 0, 0
    with rounds() as (folder, server, broker), remote(options.checkpoints) as place:
        begun = time.monotonic()
        if options.expected and options.expected.exists():
            outcome = json.loads(options.expected.read_text())
            expected = Outcome({name: Counter(rows) for name, rows in outcome["written"].items()}, outcome["counts"])
        else:
            undisturbed = Round(folder / "undisturbed", server, broker, tuple(options.queries), *place)
            undisturbed.run(None)
            expected = undisturbed.outcome()
            sizes = {name: rows.total() for name, rows in expected.written.items()}
            print(f"undisturbed: {time.monotonic() - begun:.0f} seconds, rows {sizes}", flush=True)
            if options.expected:
                options.expected.write_text(json.dumps({"written": expected.written, "counts": expected.counts}))
        while done < options.kills and time.monotonic() - begun < options.seconds:
            killed = Round(folder / f"round {done}", server, broker, tuple(options.queries), *place)
            killed.run(chance, min(options.per_round, options.kills - done), begun + options.seconds)
            done += len(killed.kills)
            said = differences(expected, killed.outcome())
            wrong += bool(said)
            print(
                f"{done} kills, {time.monotonic() - begun:.0f} seconds",
                *(said or ["all equal"]),
                sep="\n  ",
                flush=True,
            )
            if said:
                copy = shutil.copytree(killed.folder, Path(tempfile.mkdtemp(prefix="cepsql-kept-")), dirs_exist_ok=True)
                print(f"  kept in {copy}, killed:", *killed.kills, sep="\n    ", flush=True)
            shutil.rmtree(killed.folder)
    servers = " and ".join(name for name, there in (("PostgreSQL", server), ("Kafka", broker)) if there)
    print(f"{done} kills with {servers or 'no server'}:", f"{wrong} rounds differ" if wrong else "all equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
