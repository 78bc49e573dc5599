"""The benchmark's events: the same rows once as CSV files for Spark and once for Flink, written once and kept.

A folder of events holds

    spark/000.csv ... 019.csv   20 files, one after another in event time
    flink/0.csv, 1.csv          row i in file i mod 2, so that each file is ordered and spans the whole time

A row is ts,key,price,kind without header: one row a millisecond, `key` below the number of keys, `price` from 0 to 100,
`kind` one of a, b, c, d. The generator is seeded, so equal sizes give equal rows on every machine.

Flink gets as many files as it has readers: it takes many small files in no order, its watermark then runs ahead, and it
drops the rows that come after it as late.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

SPARK_FILES = 20
FLINK_FILES = 2
FIRST_TIME = np.datetime64("2026-01-01T00:00:00", "ms")
KINDS = np.array(["a", "b", "c", "d"])
SEED = 7


@dataclass(frozen=True)
class Events:
    """A folder of events, how many rows it holds and over how many keys they were drawn."""

    folder: Path
    rows: int
    keys: int

    @property
    def spark(self) -> Path:
        """The folder of files in event-time order, one after another."""
        return self.folder / "spark"

    @property
    def flink(self) -> Path:
        """The folder of files that each span the whole time."""
        return self.folder / "flink"


def prepare(folder: Path, rows: int, keys: int, first: int | None = None) -> Events:
    """Return events below `folder`, written there unless they are there already.

    rows:  how many are drawn, rounded down to a multiple of the number of files.
    first: keep only that many rows from the start (in one file for Spark), None for all.
    """
    rows -= rows % SPARK_FILES
    kept = rows if first is None else min(first, rows)
    events = Events(folder / f"{rows}x{keys}{'' if first is None else f'-first-{kept}'}", kept, keys)
    if not events.folder.exists():
        tables = _tables(rows, keys)
        _write(events.folder, list(tables) if first is None else [_first(tables, kept)])
    return events


def _tables(rows: int, keys: int) -> Iterator[pa.Table]:
    random = np.random.default_rng(SEED)
    size = rows // SPARK_FILES
    for begin in range(0, rows, size):
        columns = {
            "ts": FIRST_TIME + np.arange(begin, begin + size).astype("timedelta64[ms]"),
            "key": random.integers(0, keys, size),
            "price": random.random(size) * 100,
            "kind": KINDS[random.integers(0, len(KINDS), size)],
        }
        yield pa.table(columns)


def _first(tables: Iterator[pa.Table], rows: int) -> pa.Table:
    taken = []
    while sum(map(len, taken)) < rows:
        taken.append(next(tables))
    return pa.concat_tables(taken)[:rows]


def _write(folder: Path, tables: list[pa.Table]) -> None:
    # Under another name until complete: a run that was cut short leaves no half-written events behind.
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=folder.parent))
    try:
        rows = pa.concat_tables(tables)
        _write_files(draft / "spark", tables)
        _write_files(draft / "flink", [rows.take(np.arange(n, len(rows), FLINK_FILES)) for n in range(FLINK_FILES)])
        os.rename(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write_files(folder: Path, tables: list[pa.Table]) -> None:
    folder.mkdir()
    for number, table in enumerate(tables):
        options = csv.WriteOptions(include_header=False, quoting_style="none")
        csv.write_csv(table, folder / f"{number:03d}.csv", options)
