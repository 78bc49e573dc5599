"""Feed a standing query batch by batch from Arrow tables, with restarts between them."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cepsql.spark.checkpoint.checkpoint import Checkpoint
from cepsql.spark.checkpoint.control import end_input, give_heartbeat
from cepsql.spark.run.sink import RowSink
from cepsql.spark.run.standing_query import StandingQuery, StartOptions, start
from cepsql.spark.sources.late_rows import LateFiles


def replay_source(spark: SparkSession, folder: str | Path, schema: StructType | str) -> DataFrame:
    """Return a stream of the tables that `write_batch` puts into the folder, one a batch, in that order."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", "1").parquet(str(folder))


def write_batch(folder: str | Path, rows: pa.Table) -> None:
    """Add a batch; it appears whole or not at all."""
    folder = Path(folder)
    number = len(list(folder.glob("*.parquet")))
    hidden = folder / f".{number}"
    pq.write_table(rows, hidden)
    # Spark takes files in the order of their times, and these may have been written in the same millisecond.
    os.utime(hidden, (1_000_000_000 + number, 1_000_000_000 + number))
    os.replace(hidden, folder / f"{number:06d}.parquet")


class Replay:
    """A standing query that processes what is there when it is asked to, and returns the rows that came out.

    frame:    reads from `replay_source` and ends by the checkpoint's control folder.
    patterns: its row patterns as text, for warnings.
    late_files: where rows go that it does not use.
    """

    def __init__(
        self, frame: DataFrame, checkpoint: Checkpoint, patterns: str = "", late_files: tuple[LateFiles, ...] = ()
    ):
        self._frame, self._checkpoint = frame, checkpoint
        self._options = StartOptions(patterns=patterns, late_files=late_files)
        self._tables: list[pa.Table] = []
        self._query = self._start()
        try:
            # What is there before any row came makes a micro-batch of its own, or one with the first rows.
            self._query.process_available()
        except BaseException:
            self._query.stop()
            raise

    def __enter__(self) -> "Replay":
        return self

    def __exit__(self, *exception) -> None:
        self._query.stop()

    @property
    def query(self) -> StandingQuery:
        """The query that runs now."""
        return self._query

    def advance(self) -> pa.Table | None:
        """Process all batches written so far; return the rows that came out since the last call, None if none did."""
        self._query.process_available()
        tables, self._tables = self._tables, []
        return pa.concat_tables(tables) if tables else None

    def heartbeat(self, clock: int) -> pa.Table | None:
        """Tell the query what the clock shows, in microseconds, and return the rows that this decides, None if none."""
        give_heartbeat(self._checkpoint.control_folder, clock)
        return self.advance()

    def end(self) -> pa.Table | None:
        """End the input and return the rows that this decides, None if there are none."""
        end_input(self._checkpoint.control_folder)
        return self.advance()

    def restart(self) -> None:
        """Stop the query and start it again from its checkpoint."""
        self._query.stop()
        self._query = self._start()

    def _start(self) -> StandingQuery:
        sink = RowSink(lambda table, _: self._tables.append(table))
        return start(self._frame, sink, self._checkpoint, self._options)
