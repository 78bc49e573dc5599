"""CPU time to parse and plan the statements of `queries/`, of Nexmark and of TPC-H.

    python tests/bench/planning.py [--rounds 5] [--sets queries nexmark tpch]

Prints milliseconds of CPU for each set: of each query the least of all rounds. Compare two checkouts in one session, in
turns. TPC-H needs the packages duckdb and duckdb-extension-tpch, which have its texts.
"""

import argparse
import importlib.util
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "nexmark"), str(ROOT / "tests" / "tpch")]

import auction_house  # noqa: E402 (found by the line above)

import cepsql  # noqa: E402
from cepsql.language.parse import split  # noqa: E402

HAS_TPCH = all(map(importlib.util.find_spec, ("duckdb", "duckdb_extension_tpch")))


def main() -> None:
    """Print how long planning takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    options = parser.parse_args()
    os.chdir(ROOT)
    for name in options.sets:
        if name == "tpch" and not HAS_TPCH:
            print(f"{name}: skipped, for it needs the packages duckdb and duckdb-extension-tpch")
            continue
        setup, texts = SETS[name]()
        rounds = (_planned(setup, texts) for _ in range(options.rounds))
        least = [min(times) for times in zip(*rounds, strict=True)]
        print(f"{name}: {sum(least) * 1000:.0f} ms of CPU for {len(least)} queries")


def _queries() -> tuple[str, list[str]]:
    return "", _texts(ROOT / "queries")


def _nexmark() -> tuple[str, list[str]]:
    mark = "WATERMARK FOR dateTime AS dateTime - INTERVAL '1' SECOND"
    streams = _streams({name: f"{columns}, {mark}" for name, columns in auction_house.COLUMNS.items()})
    side = "CREATE TABLE side_input (number BIGINT, side STRING) USING csv OPTIONS (path 'side')"
    return f"{streams};\n{side}", _texts(ROOT / "tests" / "nexmark" / "queries")


def _tpch() -> tuple[str, list[str]]:
    import generator

    return _streams(generator.definitions()), [f"{text} EMIT CHANGES" for text in generator.queries().values()]


SETS = {"queries": _queries, "nexmark": _nexmark, "tpch": _tpch}
"""What is planned: definitions that come first, and texts with queries."""


def _texts(folder: Path) -> list[str]:
    return [file.read_text("utf-8") for file in sorted(folder.glob("*.sql"))]


def _streams(columns: dict[str, str]) -> str:
    sources = [f"CREATE STREAM {name} ({told}) USING csv OPTIONS (path '{name}')" for name, told in columns.items()]
    return ";\n".join(sources)


def _planned(setup: str, texts: list[str]) -> list[float]:
    """Return the CPU time, seconds, that planning each query of the texts takes."""
    spent = []
    for text in texts:
        with cepsql.connect(catalog="") as engine:
            for _ in engine.execute(setup) if setup else ():
                pass
            for _, statement in split(text):
                begin = time.process_time()
                if isinstance(engine.sql(statement), cepsql.Query):
                    spent.append(time.process_time() - begin)
    return spent


if __name__ == "__main__":
    main()
