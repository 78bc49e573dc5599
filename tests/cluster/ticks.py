"""Files of random ticks, the same in each folder."""

import os
import random
from pathlib import Path


def write_ticks(folder: Path) -> None:
    """Write four CSV files, each a little newer than the one before: key, time, number."""
    chance = random.Random(5)
    folder.mkdir(parents=True)
    for number in range(4):
        path = folder / f"{number}.csv"
        path.write_text("".join(_row(chance, number * 60 + i) for i in range(60)))
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def _row(chance: random.Random, place: int) -> str:
    at = max(0, place + chance.choice([0, 0, -3, 3, -60]))
    return f"{'abc'[chance.randrange(3)]},2026-01-01 00:{at // 60:02}:{at % 60:02},{chance.randrange(30)}\n"
