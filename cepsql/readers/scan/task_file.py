"""A task's rows in its own file, if the sink lets tasks write."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from cepsql.readers.scan.csv_text import csv_lines
from cepsql.readers.scan.plain import READ
from cepsql.scalar.zone import Zone

_ROWS_AT_ONCE = 65_536
_CSV, _ARROW = "csv", "arrow"
_NAME = re.compile(r"part-(\d+)-(\d+)rows\.(csv|arrow)")


def written_rows(folder: Path) -> int:
    """Return how many rows tasks have written to CSV files in a folder."""
    return sum(int(match[2]) for match in map(_NAME.fullmatch, os.listdir(folder)) if match and match[3] == _CSV)


def arrow_files(folder: Path) -> list[tuple[Path, int]]:
    """Return the Arrow streams that tasks have written in a folder, in task order, each with its row count."""
    matches = map(_NAME.fullmatch, sorted(os.listdir(folder)))
    return [(folder / one[0], int(one[2])) for one in matches if one and one[3] == _ARROW]


class StreamFile:
    """An Arrow stream in a file that is created with the first batch, and complete after the `with` block.

    rows: the number of rows written.
    """

    def __init__(self, path: Path):
        self._path = path
        self._writer: pa.RecordBatchStreamWriter | None = None
        self.rows = 0

    def __enter__(self) -> "StreamFile":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._writer = self._writer or pa.ipc.new_stream(str(self._path), batch.schema)
        self._writer.write_batch(batch)
        self.rows += batch.num_rows


def write_rows(
    folder: Path, task: int, attempt: int, columns: int, zone: Zone, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write rows to the file of a task, as CSV; yield those that Spark must write, and the row that only counts.

    attempt: distinguishes the attempts of a task; each attempt that ends renames its file to the final name.
    columns: how many are written; READ may be among the columns after them, as in
             `cepsql.readers.scan.plain.plain_rows`.
    zone:    the session's time zone, in which times are written.
    """
    begun, rows = folder / f".{task}-{attempt}", 0
    with begun.open("wb") as file:
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                piece = batch.slice(start, _ROWS_AT_ONCE)
                lines = None if _only_counts(piece) else csv_lines(piece.select(range(columns)), zone)
                if lines is None:
                    yield piece
                else:
                    file.write(lines)
                    rows += piece.num_rows
    if rows:
        _name(begun, task, rows, _CSV)
    else:
        begun.unlink()


def write_arrow(
    folder: Path, task: int, attempt: int, columns: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write rows to the file of a task like `write_rows`, as an Arrow stream; yield the row that only counts."""
    begun = folder / f".{task}-{attempt}"
    with StreamFile(begun) as file:
        for batch in batches:
            if batch.num_rows and _only_counts(batch):
                yield batch
            elif batch.num_rows:
                file.write(batch.select(range(columns)))
    if file.rows:
        _name(begun, task, file.rows, _ARROW)


def _only_counts(batch: pa.RecordBatch) -> bool:
    return READ in batch.schema.names and batch[READ].is_valid()[0].as_py()


def _name(begun: Path, task: int, rows: int, ending: str) -> None:
    begun.rename(begun.with_name(f"part-{task:05}-{rows}rows.{ending}"))
