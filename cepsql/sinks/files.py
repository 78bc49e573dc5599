"""A folder of files that holds each row of a query exactly once.

1. Spark writes the files of a micro-batch into a hidden folder beside their place.
2. A small record names the micro-batch and its files. It is written atomically and commits the batch.
3. The files get their names.

The record is named after the id of the query's checkpoint, and the checkpoint knows that it exists. A folder without it
is not the one that the query has written to, but perhaps an empty mount point, and is refused.

A batch that stopped in between is completed when it is repeated, and a committed batch is never written again. Every
reader of the folder, Spark or not, sees whole files and no row twice.
"""

import contextlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlparse

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from cepsql.catalog import Sink
from cepsql.catalog.locations import local_path
from cepsql.catalog.mounts import check_mounted
from cepsql.errors import InternalError, NotSupportedError, OperationalError, ProgrammingError
from cepsql.readers.scan.task_file import written_rows
from cepsql.sinks.added_columns import Columns
from cepsql.sinks.fitted import FittedSink
from cepsql.sinks.sink_options import Options
from cepsql.sinks.text_options import is_plain_csv, writing_options
from cepsql.sinks.writer import WriterIdentity, fenced
from cepsql.spark.checkpoint.checkpoint_path import synchronize
from cepsql.spark.checkpoint.file_turn import turn
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.frames.task_files import writing_tasks
from cepsql.spark.jvm.lent_settings import setting, tasks_share_files
from cepsql.spark.sources.watching.folder_watch import watched_folder

_OWN = "_cepsql"
"""The subfolder for records and for files that are not yet in place; readers skip it."""

_ROWS_OF_A_FILE = "spark.sql.files.maxRecordsPerFile"
_ONE_COLUMN = ("text",)
_PART = re.compile(r"part-(\d+)-[0-9a-f-]{36}(?:[-.]c(\d+))?(.*)")
"""The number of the task, and the number of the file among those of the task."""


def is_local(sink: Sink) -> bool:
    """Tell whether the folder is on a local or mounted file system."""
    path = next((value for name, value in sink.options if name.lower() == "path"), "")
    return urlparse(path).scheme in ("", "file")


class FileSink(FittedSink):
    """Writes files in one of Spark's formats into the folder `path`.

    Options: path, partitionBy (columns, separated by commas: a folder for each value), and those of the format.
    """

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__(sink, writer)
        if sink.key:
            raise NotSupportedError(
                f"sink {sink.name} has a key, and rows of files cannot be updated", hint="USING sqlite, or without key"
            )
        options = Options(sink, {name.lower() for name, _ in sink.options})
        self._folder = Path(local_path(options.needed("path", f"/data/{sink.name}")))
        self._partitions = [name.strip() for name in (options.text("partitionby") or "").split(",") if name.strip()]
        # The prefix tells which query wrote a file, and two writers never choose the same name.
        self._prefix = re.sub(r"\W+", "-", writer.query) + f"-{writer.checkpoint[:8]}"
        self._record = self._folder / _OWN / f"{writer.checkpoint or writer.query}.json"
        self.place, self.folder = f"files {self._folder}", self._folder

    def check(self, columns: Columns) -> None:
        """Refuse columns that the format cannot hold, and a folder that cannot be created."""
        super().check(columns)
        names = [name.lower() for name, _ in columns]
        missing = next((name for name in self._partitions if name.lower() not in names), None)
        if missing is not None:
            raise ProgrammingError(f"sink {self.sink.name} is partitioned by {missing}, which the query does not give")
        if self.sink.format.lower() == "xml" and "rowtag" not in (name.lower() for name, _ in self.sink.options):
            raise ProgrammingError(
                f"sink {self.sink.name} USING xml does not say which element is a row", hint="OPTIONS (rowTag 'row')"
            )
        if self.sink.format.lower() in _ONE_COLUMN and [kind for _, kind in columns] != ["string"]:
            raise ProgrammingError(f"sink {self.sink.name} USING {self.sink.format} takes one column of type STRING")
        if self.sink.format.lower() == "csv":
            nested = next((n for n, k in columns if re.match(r"array|map|struct|binary|variant|interval", k)), None)
            if nested is not None:
                hint = f"to_json({nested}), USING json, or USING parquet"
                raise ProgrammingError(f"sink {self.sink.name} USING csv cannot hold the column {nested}", hint=hint)
        self._begin()

    def claim(self) -> None:
        """Take over the folder from earlier epochs, and complete the last batch of an earlier writer."""
        self._begin()
        # An older copy of the checkpoint has an earlier epoch, too.
        if (record := self._read()) is not None:
            self.check_last_batch(record["batch"])
        with self._locked():
            record = self._read()
            if record is not None:
                self._put_in_place(record)
            self._write({"query": self.writer.query, "batch": -1, "files": {}} | (record or {}) | self._epoch())
            self._remove_unfinished()
        self.recorded = True

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write the files of a micro-batch, unless they were written before."""
        staging = self._record.parent / f"{self._record.stem}-{batch}-{uuid.uuid4().hex}"
        counted = Observation()
        options = writing_options(self.sink, len(frame.columns) - len(self._partitions))
        options = {name: value for name, value in options.items() if name.lower() not in ("path", "partitionby")}
        writer = frame.observe(counted, F.count(F.lit(1)).alias("rows")).write.format(self.sink.format)
        writer = writer.options(**options).partitionBy(*self._partitions).mode("append")
        task_writer = self.task_writer if self.task_writer and self._is_written_by_tasks(frame) else None
        self._check_there()
        try:
            staging.mkdir()
            tasks = writing_tasks(frame.sparkSession, task_writer, staging) if task_writer else contextlib.nullcontext()
            with watched_folder(staging) as watch, tasks:
                # Not escaped as a URI: Hadoop would take the escapes as part of the name.
                writer.save(f"file://{staging}")
                if not watch.stayed:
                    raise self.lost(f"the folder {self._folder}")
            rows = counted.get["rows"] + written_rows(staging)
            if rows:
                with self._locked():
                    self._publish(staging, batch)
            return rows
        except OSError as error:
            raise self._unwritable(error) from error
        except Exception:
            # Spark's error names only one of its own files.
            self._check_there()
            raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _begin(self) -> None:
        """Create the folder, or check that it exists if the query has written to it before.

        Raises OperationalError if it does not, or cannot be created.
        """
        if self.record_id is not None or self.recorded:
            self._check_there()
            return
        check_mounted(self._folder, f"the folder of sink {self.sink.name}")
        try:
            self._record.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def _check_there(self) -> None:
        """Raise OperationalError if the folder lacks the query's record, which the checkpoint expects."""
        id = self._record.stem if self.recorded or self.record_id is None else self.record_id
        if not self._record.with_name(f"{id}.json").exists():
            raise self.lost(f"the folder {self._folder}")

    def _is_written_by_tasks(self, frame: DataFrame) -> bool:
        """Tell whether tasks may write rows themselves, exactly as Spark would."""
        spark = frame.sparkSession
        whole = int(setting(spark, _ROWS_OF_A_FILE)) <= 0
        return whole and tasks_share_files(spark) and is_plain_csv(self.sink, column_types(frame))

    def _publish(self, staging: Path, batch: int) -> None:
        """Commit a batch, unless it is on record, and put its files in place."""
        record = self._read()
        if record is None:
            raise self.lost(f"the folder {self._folder}")
        if record["batch"] >= batch:
            self._put_in_place(record)
            return
        files = {str(path.relative_to(self._folder)): self._name(path, staging, batch) for path in _parts(staging)}
        if not files:
            raise InternalError(f"Spark wrote the rows of batch {batch}, but no file of them is in {staging}")
        for name in files:
            synchronize(self._folder / name)
        record = {"query": self.writer.query, "batch": batch, "files": files} | self._epoch()
        self._write(record)
        self._put_in_place(record, fresh=True)

    def _name(self, path: Path, staging: Path, batch: int) -> str:
        """Return the name of one of Spark's files in the folder."""
        match = _PART.fullmatch(path.name)
        part, ending = (match[1], match[3]) if match else (path.name, "")
        if match and int(match[2] or 0):
            part += f"-{match[2]}"
        name = f"{self._prefix}-{batch:09d}-{part}{ending}"
        return str(path.parent.relative_to(staging) / name)

    def _put_in_place(self, record: dict, fresh: bool = False) -> None:
        """Rename the files on record that are not yet in place.

        fresh: none of them is in place, so that a missing one is an OSError.
        """
        for hidden, name in record["files"].items():
            if fresh or (self._folder / hidden).exists():
                (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(self._folder / hidden, self._folder / name)
        for folder in {(self._folder / name).parent for name in record["files"].values()}:
            synchronize(folder)

    def _remove_unfinished(self) -> None:
        """Remove the files of batches that were interrupted before their commit."""
        for folder in self._record.parent.glob(f"{self._record.stem}-*"):
            if folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)

    def _check_epoch(self) -> None:
        record = self._read()
        if record is not None and record["epoch"] > self.writer.epoch:
            raise fenced(self.sink, self.writer)

    def _epoch(self) -> dict:
        return {"epoch": self.writer.epoch}

    def _read(self) -> dict | None:
        try:
            return json.loads(self._record.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise OperationalError(
                f"the record {self._record} of what was written is damaged",
                hint="put it back from a copy of the folder",
            ) from error

    def _write(self, record: dict) -> None:
        hidden = self._record.with_suffix(".new")
        with hidden.open("w", encoding="utf-8") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, self._record)
        synchronize(self._record.parent)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of this query's writers, and refuse a writer of an earlier epoch."""
        try:
            with turn(self._record.with_suffix(".lock"), f"the folder {self._folder} of sink {self.sink.name}"):
                begun = self._record.parent.stat()
                self._check_epoch()
                yield
                if not os.path.samestat(begun, self._record.parent.stat()):
                    # A missing file may be on a disk that was unmounted.
                    raise self.lost(f"the folder {self._folder}")
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> OperationalError:
        if self.recorded and not self._record.exists():
            return self.lost(f"the folder {self._folder}")
        return OperationalError(f"sink {self.sink.name} cannot be written to {self._folder}: {error.strerror or error}")


def _parts(staging: Path) -> Sequence[Path]:
    """Return the files that Spark has written, also in folders of partitions, except those without rows."""
    files = (path for path in staging.rglob("part-*") if path.is_file() and not path.name.endswith(".crc"))
    return sorted(path for path in files if not _is_empty(path))


def _is_empty(path: Path) -> bool:
    """Tell whether a file has no rows: Spark writes a file for the first task even without rows."""
    if path.suffix == ".parquet":
        return pq.read_metadata(path).num_rows == 0
    return path.stat().st_size == 0
