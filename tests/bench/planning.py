"""CPU time to parse and plan the statements of `queries/` and of Nexmark.

    python tests/bench/planning.py [--rounds 5]

Prints milliseconds of CPU for each set, the least of all rounds. Compare two checkouts in one session, in turns.
"""

import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "nexmark")]

import auction_house  # noqa: E402 (found by the line above)

import cepsql  # noqa: E402
from cepsql.analysis.sql import resolve  # noqa: E402
from cepsql.language.parse import split  # noqa: E402


def main() -> None:
    """Print how long planning takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    os.chdir(ROOT)
    for name, files in {"queries": ROOT / "queries", "nexmark": ROOT / "tests" / "nexmark" / "queries"}.items():
        texts = [file.read_text("utf-8") for file in sorted(files.glob("*.sql"))]
        setup = _streams() if name == "nexmark" else ""
        times, planned = zip(*(_planned(setup, texts) for _ in range(rounds)), strict=True)
        print(f"{name}: {min(times) * 1000:.0f} ms of CPU for {planned[0]} queries")


def _streams() -> str:
    mark = "WATERMARK FOR dateTime AS dateTime - INTERVAL '1' SECOND"
    sources = [f"CREATE STREAM {name} ({columns}, {mark}) USING csv OPTIONS (path '{name}')"
               for name, columns in auction_house.COLUMNS.items()]  # fmt: skip
    side = "CREATE TABLE side_input (number BIGINT, side STRING) USING csv OPTIONS (path 'side')"
    return ";\n".join([*sources, side])


def _planned(setup: str, texts: list[str]) -> tuple[float, int]:
    """Return the CPU time, seconds, that planning the queries of texts takes, and how many they are."""
    spent, planned = 0.0, 0
    for text in texts:
        with cepsql.connect(catalog="") as engine:
            for _ in engine.execute(setup) if setup else ():
                pass
            for _, statement in split(text):
                resolve._resolved.cache_clear()
                begin = time.process_time()
                if isinstance(engine.sql(statement), cepsql.Query):
                    spent += time.process_time() - begin
                    planned += 1
    return spent, planned


if __name__ == "__main__":
    main()
