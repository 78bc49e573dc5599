"""Rows that tasks write to files by themselves, where the sink of their query lets them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from cepsql.readers.scan.task_file import write_rows
from cepsql.scalar.zone import Zone

_FOLDER = "cepsql.taskFolder."
"""What the local property of Spark's is called that says where tasks write, before the name of who writes."""


@contextlib.contextmanager
def writing_tasks(spark: SparkSession, writer: str, folder: Path) -> Iterator[None]:
    """Let the tasks of this writer that run in this block write CSV into a local folder; rows that they cannot write
    come out."""
    context = spark.sparkContext
    context.setLocalProperty(_FOLDER + writer, str(folder))
    try:
        yield
    finally:
        context.setLocalProperty(_FOLDER + writer, None)  # type: ignore[arg-type]


def written_or_given(
    writer: str | None, rows: Iterator[pa.RecordBatch], columns: int, zone: Zone
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task, or write them; arguments as of `cepsql.readers.scan.task_file.write_rows`.

    writer: whose rows they are; None: they are nobody's who could write them.
    """
    context = TaskContext.get()
    folder = None if context is None or writer is None else context.getLocalProperty(_FOLDER + writer)
    if context is None or folder is None:
        return rows
    return write_rows(Path(folder), context.partitionId(), context.taskAttemptId(), columns, zone, rows)
