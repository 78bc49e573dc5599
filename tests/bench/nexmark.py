"""The queries of Nexmark by cepsql and by Flink SQL, over the same events, with equal rows.

    python tests/bench/nexmark.py --flink /path/to/flink-venv/bin/python [--events 1000000] [--rounds 1]
                                  [--queries q00 q05 ...] [--dir DIR] [--json FILE]

Each system is a process of its own, which runs every query over few events before the clock starts for it. Either reads
CSV files and writes CSV files; a run ends when the input has, and everything is decided. Flink has the same rows in as
many files of each kind as it has readers, and its own text for a query (`tests/nexmark/flink`) where it has no such
function or join. Of queries whose rows change (EMIT CHANGES) the rows are those that are there in the end; Flink prints
their changes, for its files take none. Prints the median seconds of either and their ratio. Exits with 1 if the rows
differ.
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
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

HERE = Path(__file__).resolve().parent
NEXMARK = HERE.parent / "nexmark"
sys.path[:0] = [str(NEXMARK)]

import auction_house  # noqa: E402 (found by the line above)

QUERIES = sorted(file.stem for file in NEXMARK.glob("queries/*.sql"))
CHANGING = [query for query in QUERIES if "EMIT CHANGES" in (NEXMARK / "queries" / f"{query}.sql").read_text("utf-8")]
_WHOLE_MINUTE = r"^([\d-]{10}T[\d:]{5})$"
_TIME = r"^([\d-]{10})[T ]([\d:]{8})(?:\.0+|(\.\d*?[1-9])0*)?Z?$"
WARM_UP_EVENTS, FILES, READERS = 100_000, 20, 2


def main() -> int:
    """Measure as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flink", help="the Python of Flink's environment; without it only cepsql is measured")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--queries", nargs="+", choices=QUERIES, default=QUERIES)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "cepsql-bench")
    parser.add_argument("--json", type=Path, help="append the results to this file, one JSON line each")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        for found in measure(options):
            print(json.dumps(found), flush=True)
        return 0
    for events in (WARM_UP_EVENTS, options.events):
        prepare(options.dir, events)
    given = ["--events", options.events, "--rounds", options.rounds, "--dir", options.dir, "--queries"]
    given = [*map(str, given), *options.queries]
    found = {"cepsql": results([sys.executable, __file__, "--measure", *given])}
    if options.flink:
        found["flink"] = results([options.flink, str(HERE / "flink_nexmark.py"), *given])
    return report(found, options)


def prepare(folder: Path, events: int) -> None:
    """Write the events as either system reads them, unless they are there already."""
    place = events_folder(folder, events, "cepsql")
    if place.exists():
        return
    begun = place.with_name(f".{place.name}")
    auction_house.write_events(begun, events, files=FILES, microseconds=10)
    for kind in auction_house.COLUMNS:
        lines = [line for file in sorted((begun / kind).glob("*.csv")) for line in file.open("rb")]
        other = events_folder(folder, events, "flink") / kind
        other.mkdir(parents=True, exist_ok=True)
        for reader in range(READERS):
            (other / f"{reader}.csv").write_bytes(b"".join(lines[reader::READERS]))
    begun.rename(place)


def events_folder(folder: Path, events: int, form: str) -> Path:
    """Return where the events are that a system reads."""
    return folder / f"nexmark-{events}-{form}"


def results(command: list[str]) -> dict[str, dict]:
    """Run a process that prints what each query took, as JSON; return that by query."""
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


def measure(options: argparse.Namespace) -> Iterator[dict]:
    """Yield the seconds of each run, and where its rows are, of each query by cepsql."""
    from measure import session

    import cepsql

    spark = session(READERS)
    for query in options.queries:
        text = (NEXMARK / "queries" / f"{query}.sql").read_text("utf-8")
        seconds = []
        for run in range(options.rounds + 1):
            place = options.dir / "nexmark-results" / f"cepsql-{query}"
            shutil.rmtree(place, ignore_errors=True)
            events = options.events if run else WARM_UP_EVENTS
            with cepsql.connect(spark) as engine:
                for name, columns in auction_house.COLUMNS.items():
                    folder = events_folder(options.dir, events, "cepsql") / name
                    mark = "WATERMARK FOR dateTime AS dateTime - INTERVAL '1' SECOND"
                    engine.sql(f"CREATE STREAM {name} ({columns}, {mark}) USING csv OPTIONS (path '{folder}')")
                engine.sql("CREATE VIEW side_input AS SELECT id AS number, concat('side ', id) AS side FROM range(100)")
                engine.sql(f"CREATE SINK results USING csv OPTIONS (path '{place}')")
                start = time.perf_counter()
                engine.sql(f"INSERT INTO results {text}")
                seconds.append(time.perf_counter() - start)
        yield {"query": query, "seconds": seconds[1:], "results": str(place)}
    spark.stop()


def rows(folder: str, changing: bool = False) -> list[str]:
    """Return the rows of a folder of CSV files in order; numbers and times are written in one way.

    changing: the last column says what each row does, and the rows are those that are there in the end.
    """
    import pandas as pd

    places = [file.relative_to(folder) for file in Path(folder).rglob("*") if file.is_file()]
    files = [Path(folder, place) for place in places if not any(part[0] in "._" for part in place.parts)]
    tables = [pd.read_csv(file, header=None, dtype=str, keep_default_na=False) for file in files if file.stat().st_size]
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


def report(found: dict[str, dict[str, dict]], options: argparse.Namespace) -> int:
    """Print what was found; return 1 if the rows of a query differ or one failed."""
    wrong, ratios = 0, []
    print(f"{options.events:,} events\nquery  {'cepsql':>8} {'flink':>8}  ratio     rows")
    for query in options.queries:
        ours, theirs = found["cepsql"].get(query), found.get("flink", {}).get(query)
        mine = statistics.median(ours["seconds"]) if ours and ours["seconds"] else None
        other = statistics.median(theirs["seconds"]) if theirs and theirs["seconds"] else None
        if mine is None:
            wrong, told = 1, "cepsql failed"
        else:
            given = rows(ours["results"], query in CHANGING)
            told = f"{len(given):>8,}"
            if other is not None and (theirs_given := rows(theirs["results"], query in CHANGING)) != given:
                wrong, told = 1, f"{told} rows differ from Flink's {len(theirs_given):,}"
        ratio = None if mine is None or other is None else other / mine
        ratios += [ratio] if ratio is not None else []
        cells = ["       -" if value is None else f"{value:8.2f}" for value in (mine, other)]
        print(f"{query}    {cells[0]} {cells[1]}  {'    -' if ratio is None else f'{ratio:5.2f}'} {told}")
        if options.json:
            with options.json.open("a") as file:
                one = {"query": query, "events": options.events, "cepsql": mine, "flink": other, "ratio": ratio}
                file.write(json.dumps(one) + "\n")
    if ratios:
        print(f"median of {len(ratios)} ratios: {statistics.median(ratios):.2f}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
