"""Rows of a DataFrame as a file of Arrow rows, which tasks of later queries read."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from cepsql.spark.frames.arrow_rows import map_rows, refuse_months
from cepsql.spark.frames.worker import settle


def keep_rows(frame: DataFrame, path: Path) -> None:
    """Write the rows of a bounded frame to a file; there is none if that fails.

    Raises what Spark raises, and NotSupportedError for columns that Arrow does not get.
    """
    refuse_months(
        frame.schema, "tables with REFRESH EVERY, or after BACKFILL FROM,", "leave the column out of the table"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        map_rows(frame.coalesce(1), partial(_write, path), "rows BIGINT").collect()
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def kept_rows(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, in a task; they share its memory."""
    # Without rows it has no schema either.
    if path.stat().st_size:
        with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as rows:
            yield from rows


def _write(path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    writer, count = None, 0
    with pa.OSFile(str(path), "wb") as file:
        for batch in batches:
            writer = writer or pa.ipc.new_stream(file, batch.schema)
            writer.write_batch(batch)
            count += batch.num_rows
        if writer is not None:
            writer.close()
    yield pa.RecordBatch.from_arrays([pa.array([count], pa.int64())], ["rows"])
