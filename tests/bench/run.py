"""Measure cepsql's throughput against what it stands on and against its peer, one system after another on this machine.

    python tests/bench/run.py [--rows 4000000] [--keys 10000 200000] [--queries match within vshape dropped]
                              [--flink /path/to/flink-venv/bin/python] [--esper] [--repeat 1] [--dir DIR]
                              [--json FILE]

Every measurement is a process of its own that first runs the same thing over a few rows to get warm. docs/benchmark.md
tells what the lines of the table mean. Exits with 1 if a measurement fails, or if the numbers of matches differ between
cepsql, Flink and what is known.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from events import Events, prepare
from memory import PeakMemory
from report import (
    CEPSQL,
    CEPSQL_SPARK_SCAN,
    ESPER,
    FLINK,
    FLINK_ROCKSDB,
    PASS_THROUGH,
    PER_KEY,
    SYSTEMS,
    Measurement,
    Ratio,
    disagreements,
    ratio_table,
    ratios,
    record,
    table,
)

from queries import QUERIES

HERE = Path(__file__).resolve().parent
WARM_UP_ROWS = 200_000
FEWER_ROWS = 200_000
FEWER_WARM_UP_ROWS = 5_000
"""A state per key is measured on fewer rows, since it takes around a millisecond for each key of a batch; so is Flink
with RocksDB, which takes about as long for each row."""


@dataclass(frozen=True)
class Case:
    """One measurement to make: the system, the query (None if it runs none) and the events for the clock and before."""

    system: str
    query: str | None
    events: Events
    warm_up: Events

    def __str__(self) -> str:
        query = f" {self.query}" if self.query else ""
        return f"{self.system}{query}, {self.events.rows:,} rows, {self.events.keys:,} keys"


def main() -> int:
    """Measure as the command line says; return the exit code."""
    options = _options()
    measurements, failures = [], []
    for case in _cases(options):
        print(f"... {case}", file=sys.stderr, flush=True)
        try:
            measurements.append(_measure(case, options))
            _write_json(options.json, measurements[-1])
        except subprocess.CalledProcessError as error:
            failures.append(case)
            print(f"{case}: failed:\n{error.stderr}", file=sys.stderr)
    compared = ratios(measurements)
    for ratio in compared:
        _write_json(options.json, ratio)
    print(table(measurements))
    print(f"per-key and flink-rocksdb: at most the first {FEWER_ROWS:,} rows; rows/s compare, seconds do not.\n")
    print(ratio_table(compared))
    differing = disagreements(measurements)
    for sentence in differing:
        print(f"\nnumbers of matches differ: {sentence}", file=sys.stderr)
    return 1 if failures or differing else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--keys", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--queries", choices=QUERIES, nargs="+", default=list(QUERIES))
    parser.add_argument("--systems", choices=SYSTEMS, nargs="+", default=list(SYSTEMS))
    parser.add_argument(
        "--flink", type=Path, help="the Python of an environment with apache-flink; no Flink without it"
    )
    parser.add_argument("--esper", action="store_true", help="Esper too, which Maven fetches and javac compiles for")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each measurement; the median counts")
    parser.add_argument(
        "--dir", type=Path, default=Path(tempfile.gettempdir(), "cepsql-bench"), help="keeps the events"
    )
    parser.add_argument("--json", type=Path, help="append every measurement and ratio to this file, one JSON line each")
    return parser.parse_args()


def _cases(options: argparse.Namespace) -> Iterator[Case]:
    asked = {FLINK: options.flink, FLINK_ROCKSDB: options.flink, ESPER: options.esper}
    for keys in options.keys:
        events = prepare(options.dir, options.rows, keys)
        warm_up = prepare(options.dir, options.rows, keys, WARM_UP_ROWS)
        few = prepare(options.dir, options.rows, keys, FEWER_ROWS)
        very_few = prepare(options.dir, options.rows, keys, FEWER_WARM_UP_ROWS)
        cases = [Case(PASS_THROUGH, None, events, warm_up), Case(PER_KEY, None, few, very_few)]
        cases += [
            Case(system, query, events, warm_up)
            for query in options.queries
            for system in (CEPSQL, CEPSQL_SPARK_SCAN, FLINK, ESPER)
        ]
        cases += [Case(FLINK_ROCKSDB, query, few, very_few) for query in options.queries]
        for case in cases:
            if case.system in options.systems and asked.get(case.system, True):
                yield case


def _measure(case: Case, options: argparse.Namespace) -> Measurement:
    """Run a case in a process of its own.

    Raises CalledProcessError, with what the process wrote to stderr, if it fails.
    """
    with tempfile.TemporaryDirectory(prefix="cepsql-bench-") as folder, tempfile.TemporaryFile("w+") as log:
        command = _command(case, options, Path(folder))
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        with started as process, PeakMemory(process.pid) as memory:
            output = process.stdout.read()
        if process.returncode:
            log.seek(0)
            raise subprocess.CalledProcessError(process.returncode, command, output, log.read())
    runs = json.loads(output.splitlines()[-1])
    return Measurement(case.system, case.query, case.events.rows, case.events.keys, peak_mib=memory.mebibytes, **runs)


def _command(case: Case, options: argparse.Namespace, folder: Path) -> list[str]:
    if case.system in (FLINK, FLINK_ROCKSDB):
        files, warm_up = case.events.flink, case.warm_up.flink
        command = [options.flink, HERE / "flink.py", files, case.query, "--results", folder / "results"]
        command += ["--rocksdb"] if case.system == FLINK_ROCKSDB else []
    elif case.system == ESPER:
        files, warm_up = case.events.spark, case.warm_up.spark
        command = [sys.executable, HERE / "esper.py", files, case.query]
    else:
        files, warm_up = case.events.spark, case.warm_up.spark
        query = ["--query", case.query] if case.query else []
        command = [sys.executable, HERE / "measure.py", case.system, files, *query]
    return [*map(str, command), "--warm-up", str(warm_up), "--repeat", str(options.repeat)]


def _write_json(path: Path | None, item: Measurement | Ratio) -> None:
    if path:
        with path.open("a") as file:
            print(json.dumps(record(item)), file=file)


if __name__ == "__main__":
    sys.exit(main())
