"""The rows of a task as a file of its own, where their sink lets tasks write them."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from cepsql.readers.scan.csv_text import csv_lines
from cepsql.readers.scan.plain import READ
from cepsql.scalar.zone import Zone

_ROWS_AT_ONCE = 65_536
_NAME = re.compile(r"part-\d+-(\d+)rows\.csv")


def written_rows(folder: Path) -> int:
    """Return how many rows tasks have written to files in a folder."""
    return sum(int(found[1]) for found in map(_NAME.fullmatch, os.listdir(folder)) if found)


def write_rows(
    folder: Path, task: int, attempt: int, columns: int, zone: Zone, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write rows to the file of a task, as CSV; yield those that Spark must write, and the one that only counts.

    attempt: tells the tries of a task apart, of which each that ends gives the file its name.
    columns: how many are written; READ may be among those behind them, as in `cepsql.readers.scan.plain.plain_rows`.
    zone:    that of the session, in which times are written.
    """
    begun, rows = folder / f".{task}-{attempt}", 0
    with begun.open("wb") as file:
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                piece = batch.slice(start, _ROWS_AT_ONCE)
                counts = READ in piece.schema.names and piece[READ].is_valid()[0].as_py()
                lines = None if counts else csv_lines(piece.select(range(columns)), zone)
                if lines is None:
                    yield piece
                else:
                    file.write(lines)
                    rows += piece.num_rows
    if rows:
        begun.rename(begun.with_name(f"part-{task:05}-{rows}rows.csv"))
    else:
        begun.unlink()
