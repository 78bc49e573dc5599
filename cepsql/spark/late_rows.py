"""Write the rows that a standing query does not use into the files of LATE ROWS INTO, each once.

A micro-batch that is done again, after a failure or by a second task, writes files of the same names with the same rows
in place of the first ones. Files of a batch that was not committed before a restart are removed when the query goes on.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from cepsql.analysis.late_rows import kept_seconds
from cepsql.catalog import Relation, Source
from cepsql.catalog.file_names import file_name
from cepsql.catalog.locations import local_path
from cepsql.errors import OperationalError
from cepsql.ordered.columns import marked, plain_batch, stack
from cepsql.ordered.late_file import alert_rows, late_rows, write_file
from cepsql.ordered.rejected import set_aside
from cepsql.spark.arrow import map_rows
from cepsql.spark.checkpoint_files import last_committed
from cepsql.spark.checkpoint_path import CheckpointPath
from cepsql.spark.source import AHEAD, MALFORMED, WHOLE, count_source
from cepsql.spark.time_alerts import LateAlert

_QUERY_PROPERTY, _BATCH_PROPERTY = "sql.streaming.queryId", "streaming.sql.batchId"
_PIECE_ROWS = 100_000


@dataclass(frozen=True)
class LateFiles:
    """Where rows go.

    folder: an absolute path.
    format: as in `cepsql.ordered.late_file`.
    stream: its name; the names of files begin with it.
    keep:   after how many seconds files are removed, None: never.
    reading: number of the place in a query that reads the stream, for each writes files of its own.
    """

    folder: str
    format: str
    stream: str
    keep: float | None = None
    reading: int = 0

    @property
    def prefix(self) -> str:
        """What the names of files begin with, and those of no other stream's."""
        name = file_name(self.stream)
        # Readers pass over files whose names begin with `_`.
        return (f"%5f{name[1:]}" if name.startswith("_") else name) + "-"


def late_files(relation: Relation) -> LateFiles | None:
    """Return where the late rows of a relation go, None if it does not say."""
    if not isinstance(relation, Source) or relation.late_rows is None:
        return None
    table = relation.late_rows
    folder = local_path(dict(table.options)["path"])
    return LateFiles(folder, table.format, relation.name, kept_seconds(table))


def write_rejected(files: LateFiles, rejected: pa.Table, part: str) -> None:
    """Write rejected rows from a task of a micro-batch; `part` tells its share of the reading from all others.

    Raises OperationalError where the file cannot be written.
    """
    query, batch = _task_property(_QUERY_PROPERTY), int(_task_property(_BATCH_PROPERTY))
    _write(files, late_rows(rejected, query, batch), query, batch, f"{files.reading}-{part}")


def _write(files: LateFiles, rows: pa.Table, query: str, batch: int, part: str) -> None:
    path = Path(files.folder) / f"{files.prefix}{query}-{batch:09d}-{part}.{files.format}"
    try:
        write_file(rows, path, files.format)
    except OSError as error:
        raise OperationalError(
            f"late rows of {files.stream} cannot be written to {files.folder}: {error.strerror or error}"
        ) from error


def write_alerts(
    files: Iterable[LateFiles], alerts: Sequence[LateAlert], bound: int | None, query: str, batch: int
) -> None:
    """Write the alerts of a micro-batch among the late rows of their streams, where these are kept.

    Raises OperationalError where the file cannot be written.
    """
    for one in files:
        found = [alert for alert in alerts if alert.stream.lower() == one.stream.lower()]
        if found:
            said = [json.dumps({"rows": a.rows, "late": a.late, "above": a.above}) for a in found]
            _write(one, alert_rows(said, bound, query, batch), query, batch, "alert")


def remove_batch(folders: Iterable[str], spark: CheckpointPath, batch: int) -> None:
    """Remove what the query of Spark's checkpoint wrote for a batch."""
    query = json.loads((spark / "metadata").read_text("utf-8"))["id"]
    for folder in folders:
        for path in Path(folder).glob(f"*{query}-{batch:09d}-*"):
            path.unlink(missing_ok=True)


def remove_old(files: Iterable[LateFiles], now: float) -> None:
    """Remove the files of all queries that a table of late rows does not keep any more; `now` is in seconds since 1970.

    What cannot be removed stays until the next time.
    """
    for one in files:
        if one.keep is None:
            continue
        for path in Path(one.folder).glob(f"{one.prefix}*.{one.format}"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < now - one.keep:
                    path.unlink()


def divert(frame: DataFrame, name: str, files: LateFiles) -> DataFrame:
    """Return the rows of a stream that `observe_source` gives; the others are written.

    name: of the observation, as of `cepsql.spark.source.count_source`.
    """
    counted = count_source(frame, name)
    marks = tuple(mark for mark in (MALFORMED, AHEAD) if mark in frame.columns)
    if not marks:
        return counted
    return map_rows(counted, partial(_divert, files, marks), frame.drop(*marks).schema)


def remove_uncommitted(folders: Iterable[str], spark: CheckpointPath) -> None:
    """Remove what a query that is about to go on from Spark's checkpoint wrote for batches that it never finished.

    Such a batch comes again, and its rows might fall to other tasks then.
    """
    metadata = spark / "metadata"
    if not metadata.exists():
        return
    query = json.loads(metadata.read_text("utf-8"))["id"]
    committed = last_committed(spark)
    for folder in folders:
        for path in Path(folder).glob(f"*{query}-*"):
            batch = int(path.name.split(f"{query}-")[1].split("-")[0])
            if committed is None or batch > committed or path.name.startswith("."):
                path.unlink(missing_ok=True)


def _task() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context


def _task_property(name: str) -> str:
    """Return a property that Spark gives the tasks of a micro-batch."""
    value = _task().getLocalProperty(name)
    assert value is not None
    return value


def _divert(files: LateFiles, marks: tuple[str, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found: list[pa.RecordBatch] = []
    pieces = 0

    def write() -> None:
        rejected = stack([pa.Table.from_batches([batch]) for batch in found])
        write_rejected(files, rejected, f"partition-{_task().partitionId()}-{pieces}")

    for batch in batches:
        malformed, ahead = (marked(batch, mark) for mark in (MALFORMED, AHEAD))
        dropped = malformed | ahead
        if dropped.any():
            wrong = plain_batch(batch.select([WHOLE]).filter(pa.array(dropped)))
            found.append(set_aside(wrong[WHOLE], malformed[dropped], ahead[dropped]))
            batch = batch.filter(pa.array(~dropped))
        yield batch.drop_columns(list(marks))
        if sum(part.num_rows for part in found) >= _PIECE_ROWS:
            write()
            found, pieces = [], pieces + 1
    if found:
        write()
