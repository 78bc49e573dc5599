"""Time the queries of Nexmark with Flink SQL; run by the Python of an environment that has apache-flink.

    flink_nexmark.py --events N --rounds N --dir DIR --queries q00 ...

Flink runs in this process in streaming mode, with heap state and no checkpoints, and writes CSV files. Rows that change
it prints into a file, of which CSV files are made when the clock has stopped. Prints a line of
JSON for each query: its seconds, one for each round, and where its rows are; or the error that it ended with.
"""

import argparse
import csv
import json
import os
import re
import shutil
import time
from pathlib import Path

from nexmark import CHANGING, NEXMARK, READERS, WARM_UP_EVENTS, auction_house, events_folder
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

PRINTED = "flink-printed.txt"
_CHANGE = re.compile(r"(?:\d+> )?([+-][IUD])\[(.*)\]")


_KEYS = {"q09": [0], "q18": [0, 1]}
"""The columns of keys with one row each, whose updates Flink prints without the row as it was."""


def main() -> None:
    """Run the queries as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--queries", nargs="+", required=True)
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w")
    # Flink's JVM, which is not there yet, prints into what is the standard output now.
    options.dir.mkdir(parents=True, exist_ok=True)
    os.dup2(os.open(options.dir / PRINTED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), 1)
    for query in options.queries:
        place = options.dir / "nexmark-results" / f"flink-{query}"
        found: dict = {"query": query, "seconds": [], "results": str(place)}
        try:
            _run(query, WARM_UP_EVENTS, place, options.dir)
            found["seconds"] = [_run(query, options.events, place, options.dir) for _ in range(options.rounds)]
        except Exception as error:
            found["error"] = next((line for line in str(error).splitlines() if "Caused by" in line), str(error)[:600])
        print(json.dumps(found), file=answers, flush=True)


def _run(query: str, events: int, place: Path, folder: Path) -> float:
    shutil.rmtree(place, ignore_errors=True)
    own = NEXMARK / "flink" / f"{query}.sql"
    text = (own if own.exists() else NEXMARK / "queries" / f"{query}.sql").read_text("utf-8")
    # A reserved word of Flink's.
    text = text.replace("dateTime", "`dateTime`")
    environment = _environment()
    for name, columns in auction_house.COLUMNS.items():
        files = events_folder(folder, events, "flink") / name
        environment.execute_sql(
            f"CREATE TABLE {name} ({_quoted(columns)}, "
            "WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '1' SECOND) "
            f"WITH ('connector' = 'filesystem', 'path' = '{files.absolute()}', 'format' = 'csv')"
        )
    sides = ", ".join(f"({number}, 'side {number}')" for number in range(100))
    environment.execute_sql(f"CREATE VIEW side_input AS SELECT * FROM (VALUES {sides}) AS t (`number`, side)")
    text, printed = text.replace("EMIT CHANGES", ""), folder / PRINTED
    begin = printed.stat().st_size
    start = time.perf_counter()
    results = TableDescriptor.for_connector("filesystem").option("path", str(place.absolute())).format("csv").build()
    if query in CHANGING:
        results = TableDescriptor.for_connector("print").build()
    environment.sql_query(text).execute_insert(results).wait()
    seconds = time.perf_counter() - start
    if query in CHANGING:
        _keep_printed(printed, begin, place, _KEYS.get(query))
    return seconds


def _keep_printed(printed: Path, begin: int, place: Path, key: list[int] | None) -> None:
    """Write the changes that were printed from a place on, with what each does as the last column; with a key the last
    one of each."""
    place.mkdir(parents=True)
    with printed.open(encoding="utf-8") as lines, (place / "changes.csv").open("w", newline="") as file:
        lines.seek(begin)
        changes = [[*one[2].split(", "), one[1]] for one in filter(None, map(_CHANGE.match, lines))]
        if key is not None:
            changes = list({tuple(change[column] for column in key): change for change in changes}.values())
        csv.writer(file).writerows(changes)


def _quoted(columns: str) -> str:
    named = [column.split(" ") for column in columns.replace("TIMESTAMP", "TIMESTAMP(3)").split(", ")]
    return ", ".join(f"`{name}` {kind}" for name, kind in named)


def _environment() -> TableEnvironment:
    configuration = Configuration()
    configuration.set_string("parallelism.default", str(READERS))
    configuration.set_string("state.backend.type", "hashmap")
    configuration.set_string("table.local-time-zone", "UTC")
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    return TableEnvironment.create(settings)


if __name__ == "__main__":
    main()
