"""Time the queries of a workload with Flink SQL; run by the Python of an environment that has apache-flink.

    flink_queries.py nexmark|joins|tpch --rows N --rounds N --dir DIR --queries q00 ...

Flink runs in this process in streaming mode, with heap state and no checkpoints, and writes CSV files. Rows that change
it prints into a file, of which CSV files are made when the clock has stopped. Prints a line of
JSON for each query: its seconds, one for each round, and where its rows are; or the error that it ended with.
"""

import argparse
import csv
import importlib
import json
import os
import re
import shutil
import time
from pathlib import Path

from beside_flink import READERS, Query, Workload
from flink import environment
from pyflink.table import Table, TableDescriptor, TableEnvironment

PRINTED = "flink-printed.txt"
_CHANGE = re.compile(r"(?:\d+> )?([+-][IUD])\[(.*)\]")
_END = "\x1f"
"""What stands behind each value that is printed: Flink puts ", " between them, which texts may have, too."""


def main() -> None:
    """Run the queries as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=["nexmark", "joins", "tpch"])
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--queries", nargs="+", required=True)
    parser.add_argument("--fresh", action="store_true", help="begin with all rows")
    options = parser.parse_args()
    workload: Workload = importlib.import_module(options.workload).WORKLOAD
    answers = os.fdopen(os.dup(1), "w")
    # Flink's JVM, which is not there yet, prints into what is the standard output now.
    options.dir.mkdir(parents=True, exist_ok=True)
    printed = options.dir / PRINTED
    os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), 1)
    for name in options.queries:
        query, place = workload.queries[name], workload.results(options.dir, name, "flink")
        found: dict = {"query": name, "seconds": [], "results": str(place)}
        try:
            for run in range(1 if options.fresh else 0, options.rounds + 1):
                files = workload.folder(options.dir, options.rows if run else workload.warm_up, "flink")
                seconds = _run(workload, query, files, place, printed)
                found["seconds"] += [seconds] if run else []
        except Exception as error:
            found["error"] = " ".join(line for line in str(error).splitlines() if "Caused by" in line)[-600:]
        print(json.dumps(found), file=answers, flush=True)


def _run(workload: Workload, query: Query, files: Path, place: Path, printed: Path) -> float:
    shutil.rmtree(place, ignore_errors=True)
    tables = environment(READERS, "hashmap", workload.flink_settings)
    for name, columns in workload.tables.items():
        marks = [f"WATERMARK FOR `{workload.time}` AS `{workload.time}` - INTERVAL '1' SECOND"] * bool(workload.time)
        marks += [f"PRIMARY KEY ({workload.keys[name]}) NOT ENFORCED"] if name in workload.keys else []
        tables.execute_sql(
            f"CREATE TABLE {name} ({', '.join([_quoted(columns), *marks])}) "
            f"WITH ('connector' = 'filesystem', 'path' = '{(files / name).absolute()}', 'format' = 'csv')"
        )
    for statement in workload.flink:
        tables.execute_sql(statement)
    # A reserved word of Flink's.
    text = query.flink.replace("dateTime", "`dateTime`").replace("EMIT CHANGES", "")
    begin = printed.stat().st_size
    start = time.perf_counter()
    results = TableDescriptor.for_connector("filesystem").option("path", str(place.absolute())).format("csv").build()
    if query.changing:
        results = TableDescriptor.for_connector("print").build()
    rows = tables.sql_query(text)
    (_printable(tables, rows) if query.changing else rows).execute_insert(results).wait()
    seconds = time.perf_counter() - start
    if query.changing:
        _keep_printed(printed, begin, place, query.flink_key)
    return seconds


def _printable(tables: TableEnvironment, rows: Table) -> Table:
    """Return rows as texts whose ends can be told."""
    tables.create_temporary_view("printed", rows)
    names = rows.get_schema().get_field_names()
    items = [f"COALESCE(CAST(`{name}` AS STRING), '') || U&'\\001F' AS `{name}`" for name in names]
    return tables.sql_query(f"SELECT {', '.join(items)} FROM printed")


def _keep_printed(printed: Path, begin: int, place: Path, key: tuple[int, ...] | None) -> None:
    """Write the changes that were printed from a place on, with what each does as the last column; with a key the last
    one of each."""
    place.mkdir(parents=True)
    with printed.open(encoding="utf-8") as lines, (place / "changes.csv").open("w", newline="") as file:
        lines.seek(begin)
        found = filter(None, map(_CHANGE.match, lines))
        changes = [[*one[2].removesuffix(_END).split(f"{_END}, "), one[1]] for one in found]
        if key is not None:
            changes = list({tuple(change[column] for column in key): change for change in changes}.values())
        csv.writer(file).writerows(changes)


def _quoted(columns: str) -> str:
    named = [column.split(" ") for column in columns.replace("TIMESTAMP", "TIMESTAMP(3)").split(", ")]
    return ", ".join(f"`{name}` {kind}" for name, kind in named)


if __name__ == "__main__":
    main()
