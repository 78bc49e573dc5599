"""The fixed input of queries that are killed: files of two streams, with rows that are late or wrong among them."""

import os
import random
from pathlib import Path

FILES, ROWS, KEYS = 5, 60, 6


def write_input(folder: Path) -> None:
    """Write the files of the streams `a` and `b` below a folder, in an order that Spark keeps, and two tables."""
    chance = random.Random(11)
    for name, rows in (
        ("earlier", "".join(_row(chance, place % ROWS) for place in range(ROWS))),
        ("rates", "".join(f"{key},{key + 2}\n" for key in range(KEYS))),
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "00.csv").write_text(rows)
    for stream in "ab":
        (folder / stream).mkdir(parents=True)
        for number in range(FILES):
            path = folder / stream / f"{number:02}.csv"
            path.write_text("".join(_row(chance, number * ROWS + i) for i in range(ROWS)))
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def _row(chance: random.Random, place: int) -> str:
    at = max(0, place + chance.choice([0, 0, -3, 3, -60]))
    time = chance.choice(["", *[f"2026-01-01 00:{at // 60:02}:{at % 60:02}"] * 30])
    value = chance.choice(["many", *map(str, range(30))])
    return f"{chance.randrange(KEYS)},{time},{value},{place}\n"
