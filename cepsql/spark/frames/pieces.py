"""The rows of a micro-batch, collected to this process in pieces by one action, in bounded memory.

A few rows come with the result of their task. Tasks write further rows to files, so that neither the JVM nor this
process ever holds all rows.
"""

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from cepsql.base.temporary import remove_temporary, temporary_folder
from cepsql.readers.scan.task_file import StreamFile, arrow_files
from cepsql.spark.frames.arrow_rows import arrow_columns, has_plain_names, in_zone, map_rows, serialized, zone_of
from cepsql.spark.frames.task_files import writing_tasks
from cepsql.spark.frames.worker import settle
from cepsql.spark.jvm.lent_settings import tasks_share_files
from cepsql.spark.jvm.task_function import TaskFunction, collected_batches

PIECE_BYTES = 4 * 2**20
"""The maximum bytes of rows that come with the result of a task."""

# A schema as text would need a call to Java.
_HANDED = StructType(
    [StructField("rows", LongType()), StructField("data", BinaryType()), StructField("file", StringType())]
)


@dataclass(frozen=True)
class _Part:
    """Rows as an Arrow stream, in memory or in a file.

    schema: the names and types of its columns in the frame; None: those of the stream.
    """

    rows: int
    data: bytes | None
    file: str | None
    schema: pa.Schema | None = None

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows."""
        source = pa.py_buffer(self.data) if self.file is None else pa.memory_map(self.file)
        with pa.ipc.open_stream(source) as reader:
            for batch in reader:
                if batch.num_rows:
                    rows = pa.Table.from_batches([batch])
                    yield rows if self.schema is None else rows.rename_columns(self.schema.names).cast(self.schema)


class Pieces:
    """The rows of a frame, from `collect_pieces`, as an ordered series of tables that can be read repeatedly.

    As a context manager, it removes its files at the end.
    """

    def __init__(self, zone: str, parts: Sequence[_Part], remove: Callable[[], None]):
        self._zone, self._parts, self._remove = zone, parts, remove
        self.rows = sum(part.rows for part in parts)

    def __enter__(self) -> "Pieces":
        return self

    def __exit__(self, *exception) -> None:
        self._remove()

    def __iter__(self) -> Iterator[pa.Table]:
        return (in_zone(table, self._zone) for part in self._parts for table in part.tables())


def collect_pieces(frame: DataFrame) -> Pieces:
    """Run a frame once and return its rows; columns as in `cepsql.spark.frames.arrow_rows.to_arrow`.

    On a cluster, whose workers do not share this machine's files, all rows must fit into memory.
    """
    folder = tempfile.mkdtemp(prefix="cepsql-rows-") if tasks_share_files(frame.sparkSession) else None

    def remove() -> None:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    try:
        handed = map_rows(arrow_columns(frame), partial(_hand_over, folder), _HANDED).toArrow()
        return Pieces(zone_of(frame), _parts(handed), remove)
    except BaseException:
        remove()
        raise


class PieceCollector:
    """Collects the micro-batches of one query as `collect_pieces` does; the function is sent to Spark only once.

    If the last step of a query is one of our functions, its tasks write the rows, and no further step is needed.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._handing: TaskFunction | None = None
        self._zone: str | None = None
        # Set from the first batch with rows on.
        self._by_tasks = False

    def collect(self, frame: DataFrame, writer: str | None = None) -> Pieces:
        """Return the rows of a frame.

        writer: the name under which tasks may write them, as in `cepsql.spark.frames.task_files.written_or_given`.
        """
        arrow_frame = arrow_columns(frame)
        if not has_plain_names(arrow_frame.columns):
            return collect_pieces(frame)
        if self._handing is None:
            if tasks_share_files(frame.sparkSession):
                self._folder = temporary_folder("cepsql-rows-")
            folder = None if self._folder is None else str(self._folder)
            self._handing = TaskFunction(partial(_hand_over, folder), _HANDED)
        try:
            self._zone = self._zone or zone_of(frame)
            if writer is None or self._folder is None or arrow_frame is not frame:
                return Pieces(self._zone, _parts(self._handing.collected(arrow_frame)), self._remove_files)
            return Pieces(self._zone, self._written(frame, writer, self._handing, self._folder), self._remove_files)
        except BaseException:
            self._remove_files()
            raise

    def close(self) -> None:
        """Remove leftover files; nothing may be collected meanwhile."""
        self._handing, folder, self._folder = None, self._folder, None
        if folder is not None:
            remove_temporary(folder)

    def _written(self, frame: DataFrame, writer: str, handing: TaskFunction, folder: Path) -> list[_Part]:
        """Return the rows that tasks write, and those that they return nevertheless."""
        with writing_tasks(frame.sparkSession, writer, folder, arrow=True):
            if self._by_tasks:
                collected = [_Part(rows.num_rows, serialized(rows), None) for rows in collected_batches(frame)]
            else:
                collected = _parts(handing.collected(frame))
        kinds = to_arrow_schema(frame.schema, timezone="UTC")
        files = [_Part(rows, None, str(path), kinds) for path, rows in arrow_files(folder)]
        rest = [part for part in collected if part.rows]
        self._by_tasks = not rest and (self._by_tasks or bool(files))
        return files + rest

    def _remove_files(self) -> None:
        for path in self._folder.iterdir() if self._folder is not None else ():
            path.unlink(missing_ok=True)


def _parts(handed: pa.Table) -> list[_Part]:
    return [_Part(**row) for row in handed.to_pylist()]


def _hand_over(folder: str | None, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task: Arrow streams of the first ones, then the name of a file with the others."""
    settle()
    room, path = PIECE_BYTES, Path(folder or "", uuid.uuid4().hex)
    with StreamFile(path) as file:
        for batch in batches:
            if folder is None or batch.nbytes <= room:
                room -= batch.nbytes
                yield _handed(batch.num_rows, serialized(batch), None)
            else:
                room = 0
                file.write(batch)
    if file.rows:
        yield _handed(file.rows, None, str(path))


def _handed(rows: int, data: bytes | None, file: str | None) -> pa.RecordBatch:
    columns = [pa.array([rows], pa.int64()), pa.array([data], pa.binary()), pa.array([file], pa.string())]
    return pa.RecordBatch.from_arrays(columns, ["rows", "data", "file"])
