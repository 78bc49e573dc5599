"""The last rows of a frame, collected by one action that reads all rows."""

from collections import deque
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from cepsql.spark.frames.arrow_rows import arrow_columns, handed_out, map_rows, serialized
from cepsql.spark.frames.worker import settle


def last_rows(frame: DataFrame, most: int) -> tuple[int, list[pa.Table]]:
    """Run a frame once; return its row count, and the last rows of each task, at most `most`, in order."""
    handed = map_rows(arrow_columns(frame), partial(_last, most), "rows BIGINT, data BINARY").toArrow()
    tables = []
    for data in handed["data"]:
        if data.is_valid:
            with pa.ipc.open_stream(data.as_buffer()) as reader:
                tables.append(handed_out(reader.read_all(), frame))
    last: list[pa.Table] = []
    for table in reversed(tables):
        if most > 0:
            last.insert(0, table.slice(max(0, table.num_rows - most)))
            most -= table.num_rows
    return sum(handed["rows"].to_pylist()), last


def _last(most: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the row count of a task, and its last rows."""
    settle()
    batches_held: deque[pa.RecordBatch] = deque()
    rows = held = 0
    for batch in batches:
        rows, held = rows + batch.num_rows, held + batch.num_rows
        batches_held.append(batch)
        while held - batches_held[0].num_rows >= most:
            held -= batches_held.popleft().num_rows
            if not batches_held:
                break
    for batch in batches_held:
        if batch.num_rows:
            yield _handed(0, serialized(batch))
    yield _handed(rows, None)


def _handed(rows: int, data: bytes | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([rows], pa.int64()), pa.array([data], pa.binary())], ["rows", "data"])
