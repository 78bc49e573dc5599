"""Whatever Spark can write, by the name of its format.

A Delta table stores the number of the last batch of each query under the id of the query's checkpoint, and the
checkpoint knows that. A table without the number is not the one that the query has written to, and is refused.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, Observation
from pyspark.sql import functions as F

from cepsql.analysis.ddl.format_names import SINK_FORMATS, near_format
from cepsql.catalog import Sink
from cepsql.catalog.locations import is_local, local_path
from cepsql.catalog.mounts import check_mounted, check_still_mounted
from cepsql.errors import NotSupportedError
from cepsql.sinks.added_columns import Columns
from cepsql.sinks.fitted import FittedSink
from cepsql.sinks.text_options import writing_options
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.jvm.delta_log import last_transaction
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.sources.watching.folder_watch import watched_folder

_DELTA_LOG = "_delta_log"
"""The folder with the log of a Delta table."""


class SparkSink(FittedSink):
    """A sink that appends each micro-batch by `DataFrame.write`, with its options unchanged.

    Formats that Spark writes only as a stream are refused.
    """

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__(sink, writer)
        if sink.key:
            raise NotSupportedError(
                f"sink {sink.name} has a key, by which USING {sink.format} cannot update rows",
                hint="leave PRIMARY KEY out, or take sqlite or postgresql",
            )
        self._path = next((value for name, value in sink.options if name.lower() == "path"), "")
        self._local = Path(local_path(self._path)) if self._path and is_local(self._path) else None
        self._checked = False
        if self._path:
            self.place, self.folder = f"{sink.format.lower()} {self._local or self._path}", self._local

    def check(self, columns: Columns) -> None:
        """Refuse columns that do not fit, and a folder at an empty mount point."""
        super().check(columns)
        if self._local is not None and not (self._local.is_dir() and any(self._local.iterdir())):
            check_mounted(self._local, f"the folder of sink {self.sink.name}")

    def write(self, frame: DataFrame, batch: int) -> int:
        """Write the rows of a micro-batch; Delta Lake stores its number, and skips a repeated batch."""
        if self._local is not None and not self.recorded:
            check_still_mounted(self.mount, self._local, f"sink {self.sink.name} at")
        try:
            return self._written_once(frame, batch) if self.sink.format.lower() == "delta" else self._written(frame)
        except (PySparkException, Py4JJavaError) as failure:
            error = translate_failure(failure, self._secrets)
            near = near_format(self.sink.format, SINK_FORMATS) if "data source" in error.message else None
            error.hint = error.hint if near is None else f"did you mean USING {near}?"
            raise error from failure

    def _written(self, frame: DataFrame) -> int:
        counted = Observation()
        self._writer(frame.observe(counted, F.count(F.lit(1)).alias("rows"))).save()
        return counted.get["rows"]

    def _written_once(self, frame: DataFrame, batch: int) -> int:
        spark, application = frame.sparkSession, f"{self.writer.query}/{self.writer.checkpoint}"
        if not self._checked:
            written = last_transaction(spark, self._path, application)
            if written < 0 and self.record_id is not None:
                raise self.lost(f"the table {self._path}")
            self.check_last_batch(written)
            self.recorded = written >= 0
            self._checked = True
        # Delta Lake reads no row of a repeated batch, so rows must be counted before the write.
        persisted = frame.persist()
        try:
            rows = persisted.count()
            writer = self._writer(persisted).option("txnAppId", application)
            with self._same_table():
                writer.option("txnVersion", batch).save()
            if not self.recorded:
                # Delta Lake may not commit a batch without rows.
                self.recorded = last_transaction(spark, self._path, application) >= 0
            return rows
        finally:
            persisted.unpersist()

    @contextlib.contextmanager
    def _same_table(self) -> Iterator[None]:
        """Raise OperationalError if the folder of a table with a record was missing before or within the block: the
        rows would be written to another folder in its place."""
        if self._local is None or not self.recorded:
            yield
            return
        try:
            with watched_folder(self._local / _DELTA_LOG) as watch:
                yield
                if not watch.stayed:
                    raise self.lost(f"the table {self._path}")
        except OSError as error:
            raise self.lost(f"the table {self._path}") from error

    def _writer(self, frame: DataFrame) -> DataFrameWriter:
        options = writing_options(self.sink, len(frame.columns))
        return frame.write.format(self.sink.format).mode("append").options(**options)
