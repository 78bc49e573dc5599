"""Rows that tasks write to files by themselves, where the sink of their query lets them: its own, or those in which it
gets rows."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from cepsql.readers.scan.task_file import write_arrow, write_rows
from cepsql.scalar.zone import Zone

_FOLDER = "cepsql.taskFolder."
"""What the local property of Spark's is called that says where tasks write, before the name of who writes."""

_ARROW_FOLDER = "cepsql.taskArrowFolder."


@contextlib.contextmanager
def writing_tasks(spark: SparkSession, writer: str, folder: Path, arrow: bool = False) -> Iterator[None]:
    """Let the tasks of this writer that run in this block write into a local folder; rows that they cannot write come
    out.

    arrow: they write Arrow streams, not CSV.
    """
    context, name = spark.sparkContext, (_ARROW_FOLDER if arrow else _FOLDER) + writer
    context.setLocalProperty(name, str(folder))
    try:
        yield
    finally:
        context.setLocalProperty(name, None)  # type: ignore[arg-type]


def written_or_given(
    writer: str | None, rows: Iterator[pa.RecordBatch], columns: int, zone: Zone
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task, or write them; arguments as of `cepsql.readers.scan.task_file.write_rows`.

    writer: whose rows they are; None: they are nobody's who could write them.
    """
    context = TaskContext.get()
    if context is None or writer is None:
        return rows
    task = context.partitionId(), context.taskAttemptId()
    if (folder := context.getLocalProperty(_ARROW_FOLDER + writer)) is not None:
        return write_arrow(Path(folder), *task, columns, rows)
    if (folder := context.getLocalProperty(_FOLDER + writer)) is not None:
        return write_rows(Path(folder), *task, columns, zone, rows)
    return rows
