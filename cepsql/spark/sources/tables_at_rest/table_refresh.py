"""Read tables again while a query runs; on failure, the rows read before stay in use."""

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from functools import partial

from pyspark.sql import SparkSession

from cepsql.base.secrets import secret_values
from cepsql.catalog import Source
from cepsql.catalog.working_for import thread_beside
from cepsql.errors import Error
from cepsql.spark.checkpoint.host_files import HostFiles
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.sources.tables_at_rest.snapshots import drop_snapshots, snapshot_folder, snapshots, take_snapshot
from cepsql.spark.sources.tables_at_rest.table_disks import table_place
from cepsql.spark.sources.tables_at_rest.table_files import TableFiles

LOGGER = logging.getLogger("cepsql")
_END_SECONDS = 5.0


class TableRefresh:
    """Manages the snapshots of a query's tables with REFRESH EVERY; `failures` counts failed readings.

    files:  of the snapshots; None if no table is read again.
    tables: all tables that the query reads.
    """

    def __init__(
        self,
        spark: SparkSession,
        files: HostFiles | None,
        tables: Iterable[Source],
        mounts: Mapping[str, str] | None = None,
    ):
        tables = tuple(tables)
        self.failures = 0
        self._spark, self._snapshot_files, self._mounts = spark, files, mounts or {}
        self._tables = [table for table in tables if table.refresh is not None]
        self._table_files = TableFiles(tables)
        self._failing: set[str] = set()
        self._planned = [0, 0]
        self._ended, self._threads = threading.Event(), list[threading.Thread]()

    @property
    def _files(self) -> HostFiles:
        assert self._snapshot_files is not None
        return self._snapshot_files

    def begin(self) -> None:
        """Read every table before the query starts.

        If a table can't be read, the snapshot of an earlier run is used. Without such a snapshot, raises the error.
        """
        for table in self._tables:
            self._refresh(table, needed=not snapshots(snapshot_folder(self._files, table)))

    def follow(self) -> None:
        """Read each table at its interval, in its own thread, until `end` is called."""
        for table in self._tables:
            thread = thread_beside(partial(self._follow, table), "cepsql-refresh")
            self._threads.append(thread)
            thread.start()

    def end(self) -> None:
        """Stop reading tables; wait a few seconds for those that are being read."""
        self._ended.set()
        for thread in self._threads:
            thread.join(_END_SECONDS)

    def batch_done(self) -> None:
        """Note that a micro-batch is about to commit: the batch before it will not be repeated."""
        self._planned = [self._planned[1], _now()]
        self._table_files.check()

    def _follow(self, table: Source) -> None:
        assert table.refresh is not None
        while not self._ended.wait(table.refresh / 1_000_000):
            self._refresh(table, needed=False)

    def _refresh(self, table: Source, needed: bool) -> None:
        try:
            mount = self._mounts.get(table_place(table))
            take_snapshot(self._spark, self._files, table, _now(), mount)
            drop_snapshots(self._files, table, self._planned[0])
        except Exception as exception:
            error = translate_failure(exception, secret_values(table.options))
            if needed:
                raise error from exception
            if not self._ended.is_set():
                self._report(table, error)
            return
        if table.name in self._failing:
            self._failing.remove(table.name)
            LOGGER.warning("the table %s is read again", table.name)

    def _report(self, table: Source, error: Error) -> None:
        self.failures += 1
        if table.name not in self._failing:
            self._failing.add(table.name)
            last = max(snapshots(snapshot_folder(self._files, table)))
            read = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last / 1000))
            LOGGER.warning(
                "the table %s cannot be read again, so the query continues with what it read at %s: %s",
                table.name,
                read,
                error.message,
            )


def _now() -> int:
    return time.time_ns() // 1_000_000
