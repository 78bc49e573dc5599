"""Write the rejected rows of a standing query to the files of LATE ROWS INTO, each exactly once.

A micro-batch that is repeated, after a failure or by a second task, replaces its files with files of the same names and
rows. When the query resumes, it removes the files of a batch that did not commit.

When it starts, the query writes a mark into each folder, named by its id in Spark's checkpoint. The checkpoint records
the marks (`cepsql.ordered.late_file`).
"""

import contextlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from cepsql.analysis.ddl.late_rows_clause import kept_seconds
from cepsql.catalog import Relation, Source
from cepsql.catalog.file_names import file_name
from cepsql.catalog.locations import local_path
from cepsql.catalog.mounts import check_mounted
from cepsql.errors import OperationalError
from cepsql.ordered.late_file import (
    Unmarked,
    alert_rows,
    late_rows,
    mark_folder,
    mark_of,
    marked_folder,
    remove_mark,
    write_file,
)
from cepsql.ordered.plain_columns import marked, plain_batch, stack
from cepsql.ordered.rejected import set_aside
from cepsql.spark.checkpoint.checkpoint import Checkpoint, disk_named, keep_records
from cepsql.spark.checkpoint.checkpoint_files import last_committed
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, make_folder, write_whole
from cepsql.spark.frames.arrow_rows import map_rows
from cepsql.spark.sources.source import AHEAD, MALFORMED, WHOLE, count_source
from cepsql.spark.sources.watching.time_alerts import LateAlert

_QUERY_PROPERTY, _BATCH_PROPERTY = "sql.streaming.queryId", "streaming.sql.batchId"
_PIECE_ROWS = 100_000


@dataclass(frozen=True)
class LateFiles:
    """Where rejected rows are written.

    folder: an absolute path.
    format: as in `cepsql.ordered.late_file`.
    stream: the stream's name; the names of files begin with it.
    keep:   after how many seconds files are removed, None: never.
    reading: number of the input of the query that reads the stream; each input writes its own files.
    """

    folder: str
    format: str
    stream: str
    keep: float | None = None
    reading: int = 0

    @property
    def prefix(self) -> str:
        """The prefix of the names of this stream's files; no other stream's files have it."""
        name = file_name(self.stream)
        # Readers skip files whose names begin with `_`.
        return (f"%5f{name[1:]}" if name.startswith("_") else name) + "-"


def late_files(relation: Relation) -> LateFiles | None:
    """Return where the late rows of a relation are written, or None."""
    if not isinstance(relation, Source) or relation.late_rows is None:
        return None
    table = relation.late_rows
    folder = local_path(dict(table.options)["path"])
    return LateFiles(folder, table.format, relation.name, kept_seconds(table))


def write_rejected(files: LateFiles, rejected: pa.Table, part: str) -> None:
    """Write rejected rows from a task of a micro-batch; `part` is unique to the task among those of the input.

    Raises OperationalError if the file cannot be written.
    """
    query, batch = _task_property(_QUERY_PROPERTY), int(_task_property(_BATCH_PROPERTY))
    _write(files, late_rows(rejected, query, batch), query, batch, f"{files.reading}-{part}")


def _write(files: LateFiles, rows: pa.Table, query: str, batch: int, part: str) -> None:
    name = f"{files.prefix}{query}-{batch:09d}-{part}.{files.format}"
    with _used(files.folder, query, f"late rows of {files.stream} cannot be written to {files.folder}"):
        write_file(rows, Path(files.folder), name, files.format, query)


@contextlib.contextmanager
def _used(folder: str, query: str | None, failed: str) -> Iterator[None]:
    """Raise failures of the block, which uses a folder of late rows, as OperationalError; `failed`: its message."""
    try:
        yield
    except Unmarked as error:
        raise OperationalError(
            f"the folder {folder} of late rows lacks the mark of the query, which has written to it before; it was "
            "moved or removed, or its disk is not mounted",
            hint="put it back: the next start resumes with this batch; if you emptied it on purpose, make the file "
            f"{mark_of(Path(folder), query or '')} again",
        ) from error
    except OSError as error:
        raise OperationalError(f"{failed}: {error.strerror or error}") from error


def begin_folders(files: Iterable[LateFiles], checkpoint: Checkpoint) -> Checkpoint:
    """Write the query's mark into the folders of its late rows, unless it is there already.

    Return the checkpoint with the marks recorded.
    Raises OperationalError if a folder lacks the mark that the checkpoint records.
    """
    places = {f"late rows {one.folder}": one for one in files}
    if not places:
        return checkpoint
    query = _begun_query(checkpoint.spark_folder)
    for place, one in places.items():
        folder = Path(one.folder)
        recorded_query = checkpoint.known_record(place, folder)
        with (
            disk_named(checkpoint, place, folder),
            _used(one.folder, recorded_query, f"late rows of {one.stream} cannot be written to {folder}"),
        ):
            if recorded_query is not None:
                with marked_folder(folder, recorded_query):
                    pass
            if recorded_query != query:
                check_mounted(folder, f"the folder of late rows of {one.stream}")
                mark_folder(folder, query)
    paths = {place: Path(one.folder) for place, one in places.items()}
    return keep_records(checkpoint, dict.fromkeys(places, query), paths)


def remove_marks(folders: Iterable[str], spark: CheckpointPath) -> None:
    """Remove the marks of a query whose checkpoint is removed. Raises OSError."""
    query = _query_id(spark)
    if query is not None:
        for folder in folders:
            remove_mark(Path(folder), query)


def _begun_query(spark: CheckpointPath) -> str:
    """Return the query id in Spark's checkpoint; write one if Spark has not begun the checkpoint."""
    query = _query_id(spark)
    if query is None:
        query = str(uuid.uuid4())
        make_folder(spark)
        write_whole(spark / "metadata", json.dumps({"id": query}))
    return query


def _query_id(spark: CheckpointPath) -> str | None:
    """Return the query id in Spark's checkpoint, None if Spark has not begun the checkpoint."""
    metadata = spark / "metadata"
    return json.loads(metadata.read_text("utf-8"))["id"] if metadata.exists() else None


def write_alerts(
    files: Iterable[LateFiles], alerts: Sequence[LateAlert], bound: int | None, query: str, batch: int
) -> None:
    """Write the alerts of a micro-batch to the late rows of their streams, if these are written.

    Raises OperationalError if the file cannot be written.
    """
    for one in files:
        stream_alerts = [alert for alert in alerts if alert.stream.lower() == one.stream.lower()]
        if stream_alerts:
            texts = [json.dumps({"rows": a.rows, "late": a.late, "above": a.above}) for a in stream_alerts]
            _write(one, alert_rows(texts, bound, query, batch), query, batch, "alert")


def remove_batch(folders: Iterable[str], spark: CheckpointPath, batch: int) -> None:
    """Remove what the query of Spark's checkpoint wrote for a batch; raises OperationalError if a folder is missing."""
    query = _query_id(spark)
    assert query is not None
    for folder in folders:
        _remove(folder, query, lambda name: f"{query}-{batch:09d}-" in name)


def _remove(folder: str, query: str, unwanted: Callable[[str], bool]) -> None:
    """Remove a query's files with unwanted names from the folder of its late rows."""
    with (
        _used(folder, query, f"late rows cannot be removed from {folder}"),
        marked_folder(Path(folder), query) as handle,
    ):
        for name in os.listdir(handle):
            if query in name and unwanted(name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=handle)


def remove_old(files: Iterable[LateFiles], now: float) -> None:
    """Remove files that are older than a table of late rows keeps them; `now` is in seconds since 1970.

    The next call retries files that cannot be removed.
    """
    for one in files:
        if one.keep is None:
            continue
        for path in Path(one.folder).glob(f"{one.prefix}*.{one.format}"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < now - one.keep:
                    path.unlink()


def divert(frame: DataFrame, name: str, files: LateFiles) -> DataFrame:
    """Return the rows of a stream as `observe_source` does, and write the rejected ones.

    name: of the observation, as of `cepsql.spark.sources.source.count_source`.
    """
    counted = count_source(frame, name)
    marks = tuple(mark for mark in (MALFORMED, AHEAD) if mark in frame.columns)
    if not marks:
        return counted
    return map_rows(counted, partial(_divert, files, marks), frame.drop(*marks).schema)


def remove_uncommitted(folders: Iterable[str], spark: CheckpointPath) -> None:
    """Remove what a query that resumes from Spark's checkpoint wrote for batches that did not commit.

    Such a batch is repeated, and other tasks may then get its rows.
    Raises OperationalError if a folder lacks the mark of the query.
    """
    query = _query_id(spark)
    if query is None:
        return
    committed = last_committed(spark)

    def unwanted(name: str) -> bool:
        batch = int(name.split(f"{query}-")[1].split("-")[0])
        return committed is None or batch > committed or name.startswith(".")

    for folder in folders:
        _remove(folder, query, unwanted)


def _task() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context


def _task_property(name: str) -> str:
    """Return a property that Spark sets for the tasks of a micro-batch."""
    value = _task().getLocalProperty(name)
    assert value is not None
    return value


def _divert(files: LateFiles, marks: tuple[str, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rejected_batches: list[pa.RecordBatch] = []
    pieces = 0

    def write() -> None:
        rejected = stack([pa.Table.from_batches([batch]) for batch in rejected_batches])
        write_rejected(files, rejected, f"partition-{_task().partitionId()}-{pieces}")

    for batch in batches:
        malformed, ahead = (marked(batch, mark) for mark in (MALFORMED, AHEAD))
        dropped = malformed | ahead
        if dropped.any():
            wrong = plain_batch(batch.select([WHOLE]).filter(pa.array(dropped)))
            rejected_batches.append(set_aside(wrong[WHOLE], malformed[dropped], ahead[dropped]))
            batch = batch.filter(pa.array(~dropped))
        yield batch.drop_columns(list(marks))
        if sum(part.num_rows for part in rejected_batches) >= _PIECE_ROWS:
            write()
            rejected_batches, pieces = [], pieces + 1
    if rejected_batches:
        write()
