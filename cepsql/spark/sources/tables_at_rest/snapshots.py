"""Tables that are read again while a query runs: each reading is a snapshot, a file of Arrow rows in the checkpoint.

A micro-batch reads the last snapshot that was complete when Spark planned it. Spark records that time, so that all
tasks of a micro-batch read the same one, and so does a micro-batch that is done again after a failure.
"""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepsql.catalog import Source
from cepsql.catalog.file_names import file_name
from cepsql.errors import OperationalError
from cepsql.language.tokens import quoted
from cepsql.spark.checkpoint.host_files import TABLES, HostFiles
from cepsql.spark.frames.column_types import struct_of
from cepsql.spark.frames.saved_rows import keep_rows, kept_rows
from cepsql.spark.frames.worker import settle
from cepsql.spark.sources.source import read_source, without_marks
from cepsql.spark.sources.tables_at_rest.table_disks import check_table
from cepsql.spark.sources.tables_at_rest.table_files import FileState, local_files

_SUFFIX = ".arrow"
_READINGS, _REST_SECONDS = 5, 0.2
_BROADCAST_BYTES = 64 * 2**20
"""A larger table is not sent to every task whole; Spark does not know how large a snapshot is."""


def snapshot_folder(files: HostFiles, source: Source) -> Path:
    """Return where tasks find the snapshots of a table."""
    return files.folder / TABLES / file_name(source.name)


def snapshot_rows(spark: SparkSession, files: HostFiles, source: Source) -> DataFrame:
    """Return the rows of a table as a query reads them that runs: in each micro-batch those of a snapshot."""
    folder = snapshot_folder(files, source)
    clock = spark.range(0, 1, 1, 1).selectExpr("unix_millis(current_timestamp()) AS clock")
    rows = clock.mapInArrow(partial(_read, folder), _schema(source))
    last = max(snapshots(folder), default=None)
    large = last is not None and _file(folder, last).stat().st_size > _BROADCAST_BYTES
    return rows.hint("merge") if large else rows


def take_snapshot(spark: SparkSession, files: HostFiles, source: Source, clock: int, mount: str | None = None) -> None:
    """Read a table now, and keep its rows as the snapshot of `clock`, milliseconds since the epoch.

    Spark reads a file that is replaced meanwhile to the length that the earlier one had: then the table is read again.
    mount: where the disk of the table was mounted when the query began; None: not known.
    Raises what reading the source raises, OperationalError if its files never rest or its disk is not there, OSError.
    """
    folder = snapshot_folder(files, source)
    begun = folder / f".reading{_SUFFIX}"
    for _ in range(_READINGS):
        before = local_files(source)
        check_table(source, mount, before)
        keep_rows(without_marks(read_source(spark, source)).to(struct_of(_schema(source))), begun)
        now = local_files(source)
        if all(now.get(file) == state for file, state in before.items()):
            break
        time.sleep(_REST_SECONDS)
    else:
        if not all(file in now and _is_longer(state, now[file]) for file, state in before.items()):
            begun.unlink()
            raise OperationalError(f"the files of the table {source.name} change all the time while they are read")
    check_table(source, mount, now)
    files.put(begun, _file(folder, clock))


def snapshots(folder: Path) -> list[int]:
    """Return the times of the snapshots in a folder, in order."""
    return sorted(int(path.stem) for path in folder.glob(f"[0-9]*{_SUFFIX}"))


def drop_snapshots(files: HostFiles, source: Source, clock: int) -> None:
    """Remove the snapshots of a table that no micro-batch planned at `clock` or later reads. Raises OSError."""
    folder = snapshot_folder(files, source)
    before = [taken for taken in snapshots(folder) if taken <= clock]
    for taken in before[:-1]:
        files.remove(_file(folder, taken))


def _is_longer(before: FileState, after: FileState) -> bool:
    """Tell whether a file is as it was but for what may have been added at its end."""
    return before.inode == after.inode and before.size <= after.size


def _file(folder: Path, clock: int) -> Path:
    return folder / f"{clock}{_SUFFIX}"


def _schema(source: Source) -> str:
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in source.columns)


def _read(folder: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    for batch in batches:
        for clock in batch["clock"].to_pylist():
            there = snapshots(folder)
            taken = max((one for one in there if one <= clock), default=there[0])
            yield from kept_rows(_file(folder, taken))
