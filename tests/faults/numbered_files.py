"""Files of a stream that Spark takes one after another, by their numbers."""

import os
from pathlib import Path


def put(folder: Path, number: int, *rows: str) -> None:
    """Put a CSV file into the folder `in`; it appears whole. Rows have the time after the hour, and what follows."""
    file = folder / "in" / f".{number}.csv"
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"1,2026-01-01 00:{row}\n" for row in rows))
    os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
    file.rename(file.parent / f"{number}.csv")
