"""The queries of Nexmark by cepsql and by Flink SQL, over the same events, with equal rows.

    python tests/bench/nexmark.py --flink /path/to/flink-venv/bin/python [--events 1000000] [--rounds 1]
                                  [--queries q00 q05 ...] [--dir DIR] [--json FILE]

Flink has its own text for a query (`tests/nexmark/flink`) where it has no such function or join. Prints the median
seconds of either and their ratio. Exits with 1 if the rows differ.
"""

import sys
from pathlib import Path

from beside_flink import HERE, Query, Workload, main

NEXMARK = HERE.parent / "nexmark"
sys.path[:0] = [str(NEXMARK)]

import auction_house  # noqa: E402 (found by the line above)

_FLINK_KEYS = {"q09": (0,), "q18": (0, 1)}
_SIDES = ", ".join(f"({number}, 'side {number}')" for number in range(100))


def _write(folder: Path, events: int, files: int) -> None:
    auction_house.write_events(folder, events, files=files, microseconds=10)


def _query(file: Path) -> Query:
    own = NEXMARK / "flink" / file.name
    ours = file.read_text("utf-8")
    return Query(ours, own.read_text("utf-8") if own.exists() else ours, _FLINK_KEYS.get(file.stem))


WORKLOAD = Workload(
    name="nexmark",
    tables=auction_house.COLUMNS,
    time="dateTime",
    write=_write,
    queries={file.stem: _query(file) for file in sorted(NEXMARK.glob("queries/*.sql"))},
    rows=1_000_000,
    warm_up=100_000,
    cepsql=("CREATE VIEW side_input AS SELECT id AS number, concat('side ', id) AS side FROM range(100)",),
    flink=(f"CREATE VIEW side_input AS SELECT * FROM (VALUES {_SIDES}) AS t (`number`, side)",),
)

if __name__ == "__main__":
    sys.exit(main(WORKLOAD, __doc__))
