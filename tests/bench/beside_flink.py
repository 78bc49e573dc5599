"""Queries by cepsql and by Flink SQL over the same files, with equal rows: what all such benchmarks share.

A workload says which tables there are, how their rows are made, and what is asked. Each system is a process of its own,
which runs every query over few rows before the clock starts for it. Either reads CSV files and writes CSV files; a run
ends when the input has, and everything is decided. Flink has the same rows in as many files of each table as it has
readers. Of queries whose rows change (EMIT CHANGES) the rows are those that are there in the end; Flink prints their
changes, for its files take none.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

HERE = Path(__file__).resolve().parent
READERS = 2
_FILES = 20
_WHOLE_MINUTE = r"^([\d-]{10}T[\d:]{5})$"
_TIME = r"^([\d-]{10})[T ]([\d:]{8})(?:\.0+|(\.\d*?[1-9])0*)?Z?$"


@dataclass(frozen=True)
class Query:
    """A query as either system says it. `flink_key`: the columns of keys with one row each, whose updates Flink prints
    without the row as it was."""

    cepsql: str
    flink: str
    flink_key: tuple[int, ...] | None = None

    @property
    def changing(self) -> bool:
        """Whether the rows change."""
        return "EMIT CHANGES" in self.cepsql


@dataclass(frozen=True)
class Workload:
    """What is measured.

    tables:  the columns of each, as cepsql declares them.
    time:    the column of each that is its event time, with a delay of a second; None: rows have none.
    write:   writes so many rows in so many files of each table, one after another in event time, into a folder with one
             folder for each table.
    warm_up: how many rows are run through before the clock starts.
    keys:    the primary key of tables that have one.
    cepsql, flink: what either is told before the queries.
    flink_settings: of its jobs.
    """

    name: str
    tables: Mapping[str, str]
    time: str | None
    write: Callable[[Path, int, int], None]
    queries: Mapping[str, Query]
    rows: int
    warm_up: int
    keys: Mapping[str, str] = field(default_factory=dict)
    cepsql: tuple[str, ...] = ()
    flink: tuple[str, ...] = ()
    flink_settings: Mapping[str, str] = field(default_factory=dict)

    def folder(self, place: Path, rows: int, system: str) -> Path:
        """Return where the rows are that a system reads."""
        return place / f"{self.name}-{rows}-{system}"

    def results(self, place: Path, query: str, system: str) -> Path:
        """Return where a system writes the rows of a query."""
        return place / f"{self.name}-results" / f"{system}-{query}"


def main(workload: Workload, doc: str) -> int:
    """Measure a workload as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flink", help="the Python of Flink's environment; without it only cepsql is measured")
    parser.add_argument("--rows", "--events", type=int, default=workload.rows)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--queries", nargs="+", choices=workload.queries, default=list(workload.queries))
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "cepsql-bench")
    parser.add_argument("--json", type=Path, help="append the results to this file, one JSON line each")
    fresh = "run each query in a process of its own that ran none before, and count from its start to its end"
    parser.add_argument("--fresh", action="store_true", help=fresh)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        for found in _measure(workload, options):
            print(json.dumps(found), flush=True)
        return 0
    for rows in (workload.warm_up, options.rows):
        _prepare(workload, options.dir, rows)
    results = _fresh_results if options.fresh else _results
    by_system = {"cepsql": results([sys.executable, sys.argv[0], "--measure"], options)}
    if options.flink:
        by_system["flink"] = results([options.flink, str(HERE / "flink_queries.py"), workload.name], options)
    return _report(workload, by_system, options)


def _prepare(workload: Workload, folder: Path, rows: int) -> None:
    """Write the rows as either system reads them, unless they are there already."""
    place = workload.folder(folder, rows, "cepsql")
    if place.exists():
        return
    begun = place.with_name(f".{place.name}")
    workload.write(begun, rows, _FILES)
    for table in workload.tables:
        lines = [line for file in sorted((begun / table).glob("*.csv")) for line in file.open("rb")]
        other = workload.folder(folder, rows, "flink") / table
        other.mkdir(parents=True, exist_ok=True)
        for reader in range(READERS):
            (other / f"{reader}.csv").write_bytes(b"".join(lines[reader::READERS]))
    begun.rename(place)


def _fresh_results(command: list[str], options: argparse.Namespace) -> dict[str, dict]:
    """Run a process for each query and round; return the results by query, with the seconds of each process."""
    by_query = {}
    for name in options.queries:
        seconds = []
        for _ in range(options.rounds):
            start = time.perf_counter()
            one = argparse.Namespace(**{**vars(options), "queries": [name], "rounds": 1})
            by_query |= _results([*command, "--fresh"], one)
            seconds.append(time.perf_counter() - start)
        if name in by_query and by_query[name]["seconds"]:
            by_query[name]["seconds"] = seconds
    return by_query


def _results(command: list[str], options: argparse.Namespace) -> dict[str, dict]:
    """Run a process that prints what each query took, as JSON; return that by query."""
    command = [*command, "--rows", str(options.rows), "--rounds", str(options.rounds), "--dir", str(options.dir)]
    command += ["--queries", *options.queries]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        found = {}
        for line in process.stdout:
            if line.startswith("{"):
                one = json.loads(line)
                found[one["query"]] = one
                print(f"... {one['query']} {one['seconds']} {one.get('error', '')}", file=sys.stderr, flush=True)
        if process.wait():
            print(process.stderr.read()[-3000:], file=sys.stderr)
    return found


def _measure(workload: Workload, options: argparse.Namespace) -> Iterator[dict]:
    """Yield the seconds of each run, and where its rows are, of each query by cepsql."""
    from measure import session

    import cepsql

    spark = session(READERS)
    for name in options.queries:
        place, seconds = workload.results(options.dir, name, "cepsql"), []
        for run in range(1 if options.fresh else 0, options.rounds + 1):
            shutil.rmtree(place, ignore_errors=True)
            files = workload.folder(options.dir, options.rows if run else workload.warm_up, "cepsql")
            with cepsql.connect(spark) as engine:
                for table, columns in workload.tables.items():
                    time_column = workload.time
                    marks = [f"WATERMARK FOR {time_column} AS {time_column} - INTERVAL '1' SECOND"] * bool(time_column)
                    marks += [f"PRIMARY KEY ({workload.keys[table]})"] if table in workload.keys else []
                    declared = ", ".join([columns, *marks])
                    engine.sql(f"CREATE STREAM {table} ({declared}) USING csv OPTIONS (path '{files / table}')")
                for statement in workload.cepsql:
                    engine.sql(statement)
                engine.sql(f"CREATE SINK results USING csv OPTIONS (path '{place}')")
                start = time.perf_counter()
                engine.sql(f"INSERT INTO results {workload.queries[name].cepsql}")
                seconds += [time.perf_counter() - start] if run else []
        yield {"query": name, "seconds": seconds, "results": str(place)}
    spark.stop()


def _rows(folder: str, changing: bool) -> list[str]:
    """Return the rows of a folder of CSV files in order; numbers and times are written in one way.

    changing: the last column says what each row does, and the rows are those that are there in the end.
    """
    import pandas as pd

    places = [file.relative_to(folder) for file in Path(folder).rglob("*") if file.is_file()]
    files = [Path(folder, place) for place in places if not any(part[0] in "._" for part in place.parts)]
    tables = [pd.read_csv(file, header=None, dtype=str, keep_default_na=False) for file in files if file.stat().st_size]
    if not tables:
        return []
    found = pd.concat(tables)
    for name in found.columns:
        column = found[name]
        # All values of a column are times, or none is.
        if column.iloc[:100].str.match(r"[\d-]{10}[T ]").any():
            column = column.str.replace(_WHOLE_MINUTE, r"\1:00", regex=True).str.replace(_TIME, r"\1 \2\3", regex=True)
        numbers = pd.to_numeric(column, errors="coerce")
        found[name] = numbers.round(4).astype(str) if numbers.notna().all() else column
    if not changing:
        return sorted(_lines(found))
    does, shown = found.pop(found.columns[-1]).str[0], _lines(found)
    there = Counter(shown[does == "+"])
    there.subtract(Counter(shown[does == "-"]))
    return sorted(there.elements())


def _lines(table: "pd.DataFrame") -> "pd.Series":
    first, *others = (table[name] for name in table.columns)
    return first.str.cat(others, sep="|") if others else first


def _report(workload: Workload, found: dict[str, dict[str, dict]], options: argparse.Namespace) -> int:
    """Print what was found; return 1 if the rows of a query differ or one failed."""
    wrong, ratios = 0, []
    width = max(map(len, ("query", *options.queries)))
    print(f"{options.rows:,} rows of input\n{'query':{width}}    {'cepsql':>8} {'flink':>8}  ratio     rows")
    for query in options.queries:
        changing = workload.queries[query].changing
        ours, theirs = found["cepsql"].get(query), found.get("flink", {}).get(query)
        mine = statistics.median(ours["seconds"]) if ours and ours["seconds"] else None
        other = statistics.median(theirs["seconds"]) if theirs and theirs["seconds"] else None
        if mine is None:
            wrong, told = 1, "cepsql failed"
        else:
            given = _rows(ours["results"], changing)
            told = f"{len(given):>8,}"
            if other is not None and (theirs_given := _rows(theirs["results"], changing)) != given:
                wrong, told = 1, f"{told} rows differ from Flink's {len(theirs_given):,}"
        ratio = None if mine is None or other is None else other / mine
        ratios += [ratio] if ratio is not None else []
        cells = ["       -" if value is None else f"{value:8.2f}" for value in (mine, other)]
        print(f"{query:{width}}    {cells[0]} {cells[1]}  {'    -' if ratio is None else f'{ratio:5.2f}'} {told}")
        if options.json:
            with options.json.open("a") as file:
                one = {"query": query, "rows": options.rows, "cepsql": mine, "flink": other, "ratio": ratio}
                file.write(json.dumps(one) + "\n")
    if ratios:
        print(f"median of {len(ratios)} ratios: {statistics.median(ratios):.2f}")
    return wrong
