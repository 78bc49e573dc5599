"""Time the queries of Nexmark with Flink SQL; run by the Python of an environment that has apache-flink.

    flink_nexmark.py --events N --rounds N --dir DIR --queries q00 ...

Flink runs in this process in streaming mode, with heap state and no checkpoints, and writes CSV files. Prints a line of
JSON for each query: its seconds, one for each round, and where its rows are; or the error that it ended with.
"""

import argparse
import json
import shutil
import time
from pathlib import Path

from nexmark import NEXMARK, READERS, WARM_UP_EVENTS, auction_house, events_folder
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment


def main() -> None:
    """Run the queries as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--queries", nargs="+", required=True)
    options = parser.parse_args()
    for query in options.queries:
        place = options.dir / "nexmark-results" / f"flink-{query}"
        found: dict = {"query": query, "seconds": [], "results": str(place)}
        try:
            _run(query, WARM_UP_EVENTS, place, options.dir)
            found["seconds"] = [_run(query, options.events, place, options.dir) for _ in range(options.rounds)]
        except Exception as error:
            found["error"] = next((line for line in str(error).splitlines() if "Caused by" in line), str(error)[:600])
        print(json.dumps(found), flush=True)


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
    start = time.perf_counter()
    results = TableDescriptor.for_connector("filesystem").option("path", str(place.absolute())).format("csv").build()
    environment.sql_query(text).execute_insert(results).wait()
    return time.perf_counter() - start


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
