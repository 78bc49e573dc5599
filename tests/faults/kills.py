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
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "servers")]

from failpoints import PLACES, kill  # noqa: E402
from input import write_input  # noqa: E402
from postgresql import PostgreSQL, Unavailable, running_postgresql  # noqa: E402

_COUNTED = ("rows_read", "rows_used", "rows_late", "rows_malformed", "rows_null_time", "matches", "timeouts")
_LONGEST_RUN_SECONDS = 240


@dataclass
class Round:
    """One run over the input, killed as often as it takes, in a folder of its own."""

    folder: Path
    server: PostgreSQL | None
    kills: list[str] = field(default_factory=list)

    def __post_init__(self):
        write_input(self.folder / "in")
        self._schema = f"f{secrets.token_hex(6)}"
        if self.server is not None:
            self._query(f"CREATE SCHEMA {self._schema}")

    def run(self, chance: random.Random | None, kills: int = 0) -> None:
        """Run the queries to their end; with chance they are killed so often before, as long as they run."""
        while True:
            plan = _plan(chance) if chance is not None and len(self.kills) < kills else ()
            ended = self._run_once(plan, chance)
            if ended:
                return
            self.kills.append(" ".join(map(str, plan)))

    def written(self) -> dict[str, Counter]:
        """Return the rows of each sink, and of the tables of late rows."""
        found = {name: _files(self.folder / name, "parquet") for name in ("match", "calls", "late_a", "late_b")}
        found["windows"] = _files(self.folder / "windows", "json")
        for name, file in (("unions", "s.db"), ("keyed", "k.db")):
            found[name] = _rows(sqlite3.connect(self.folder / file).execute(f"SELECT * FROM {name}"))
        if self.server is None:
            found["chain"] = _rows(sqlite3.connect(self.folder / "p.db").execute("SELECT * FROM chain"))
        else:
            found["chain"] = Counter(map(str, self._query(f"SELECT * FROM {self._schema}.chain")))
        return found

    def counts(self) -> dict[str, dict[str, int]]:
        """Return what the queries counted of the input; windows of Spark's do not count on after a restart."""
        found = {}
        for path in sorted(self.folder.glob("finished_*")):
            progress = json.loads(path.read_text())
            name = path.name.removeprefix("finished_")
            if name != "windows" and progress["batches"]:
                found[name] = {key: progress[key] for key in _COUNTED}
        return found

    def _run_once(self, plan: tuple, chance: random.Random | None) -> bool:
        """Run the queries once; return whether they came to their end. A plan says how they die."""
        pids = self.folder / "pids"
        pids.unlink(missing_ok=True)
        at_random = bool(plan) and plan[0] == "at random"
        arguments = [] if at_random else list(map(str, plan))
        environment = os.environ | {"FAULTS_SCHEMA": self._schema}
        if self.server is not None:
            environment["FAULTS_POSTGRESQL"] = self.server.url
        with (self.folder / "log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, HERE / "standing.py", self.folder, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True,
            )  # fmt: skip
            try:
                if at_random:
                    while not pids.exists() and child.poll() is None:
                        time.sleep(0.05)
                    # Restarts need some seconds before the first batch; there is something to break from then on.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(plan[2])
                    kill([json.loads(pids.read_text())[who] for who in plan[1]])
                code = child.wait(_LONGEST_RUN_SECONDS)
            finally:
                kill([child.pid, *(json.loads(pids.read_text()).values() if pids.exists() else ())])
                child.wait()
        if code and not plan:
            raise AssertionError(f"a run that nobody killed failed:\n{(self.folder / 'log').read_text()[-3000:]}")
        return code == 0

    def _query(self, sql: str) -> list[tuple]:
        import psycopg

        assert self.server is not None
        with psycopg.connect(self.server.url) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []


def _plan(chance: random.Random) -> tuple:
    """Draw how to die: at a place, or at a time."""
    who = chance.choice(["both", "both", "jvm", "python"])
    if chance.random() < 0.4:
        names = {"both": ("jvm", "python")}.get(who, (who,))
        return "at random", names, round(chance.uniform(0, 20), 2)
    return chance.choice(list(PLACES)), chance.choice(["before", "after"]), chance.choice([1, 1, 2, 3, 5, 8]), who


def differences(expected: Round, found: Round) -> list[str]:
    """Return in what the sinks, the tables of late rows and the counts of two rounds differ."""
    said = []
    wanted, got = expected.written(), found.written()
    for name, rows in wanted.items():
        lost, more = rows - got[name], got[name] - rows
        if lost or more:
            said.append(f"{name}: {lost.total()} lost, {more.total()} too many, such as {[*lost, *more][:2]}")
    counted = expected.counts()
    said += [
        f"{name} counted {numbers}, not {counted[name]}"
        for name, numbers in found.counts().items()
        if numbers != counted[name]
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
def rounds(required: bool = False) -> Iterator["tuple[Path, PostgreSQL | None]"]:
    """Give a temporary folder, and a server of PostgreSQL if there can be one, which may be required."""
    folder = Path(tempfile.mkdtemp(prefix="cepsql-faults-"))
    try:
        with contextlib.ExitStack() as stack:
            server = None
            try:
                server = stack.enter_context(running_postgresql())
            except Unavailable:
                if required:
                    raise
            yield folder, server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run rounds until there were enough kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-round", type=int, default=12, help="kills of one run over the input")
    options = parser.parse_args()
    chance, done, wrong = random.Random(options.seed), 0, 0
    with rounds() as (folder, server):
        expected = Round(folder / "undisturbed", server)
        begun = time.monotonic()
        expected.run(None)
        sizes = {name: rows.total() for name, rows in expected.written().items()}
        print(f"undisturbed: {time.monotonic() - begun:.0f} seconds, rows {sizes}", flush=True)
        while done < options.kills:
            found = Round(folder / f"round {done}", server)
            found.run(chance, min(options.per_round, options.kills - done))
            done += len(found.kills)
            said = differences(expected, found)
            wrong += bool(said)
            print(
                f"{done} kills, {time.monotonic() - begun:.0f} seconds",
                *(said or ["all equal"]),
                sep="\n  ",
                flush=True,
            )
            if said:
                kept = shutil.copytree(found.folder, Path(tempfile.mkdtemp(prefix="cepsql-kept-")), dirs_exist_ok=True)
                print(f"  kept in {kept}, killed:", *found.kills, sep="\n    ", flush=True)
            shutil.rmtree(found.folder)
    servers = "with PostgreSQL" if server else "without PostgreSQL"
    print(f"{done} kills {servers}:", f"{wrong} rounds differ" if wrong else "all equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
