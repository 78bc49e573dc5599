"""The queries of TPC-H, kept up to date by cepsql and by Flink SQL over the same rows, which are only added.

    python tests/bench/tpch.py --flink /path/to/flink-venv/bin/python [--rows 600000] [--rounds 1]
                               [--queries q01 q03 ...] [--fresh] [--dir DIR] [--json FILE]

So many rows has the table of line items, the others accordingly; 600,000 are scale 0.1. Either environment needs the
packages duckdb and duckdb-extension-tpch, which have the rows and the texts. Flink runs with mini-batches of a second.
With --fresh each query is a process of its own, which starts, runs the query, and ends.
Prints the median seconds of either and their ratio. Exits with 1 if the rows differ.
"""

import re
import sys
from pathlib import Path

from beside_flink import HERE, Query, Workload, main

sys.path[:0] = [str(HERE.parent / "tpch")]

import generator  # noqa: E402 (found by the line above)

_RESERVED = re.compile(r"\bvalue\b", re.IGNORECASE)


def _write(folder: Path, rows: int, files: int) -> None:
    database = generator.generated(rows)
    for name in generator.KEYS:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(files):
            found = f"SELECT * FROM {name} WHERE rowid % {files} = {number}"
            database.execute(f"COPY ({found}) TO '{folder / name / f'{number:03d}.csv'}' (HEADER false)")


def _query(text: str) -> Query:
    return Query(f"{text} EMIT CHANGES", _RESERVED.sub("`value`", text))


WORKLOAD = Workload(
    name="tpch",
    tables=generator.definitions(),
    time=None,
    write=_write,
    queries={f"q{number:02d}": _query(text) for number, text in generator.queries().items()},
    rows=600_000,
    warm_up=6_000,
    flink_settings={
        "table.exec.mini-batch.enabled": "true", "table.exec.mini-batch.allow-latency": "1 s",
        "table.exec.mini-batch.size": "50000",
    },
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(WORKLOAD, __doc__))
