"""Reads tables again while a query runs, and goes on with what was read before where that fails."""

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from cepsql.catalog import Source
from cepsql.errors import Error
from cepsql.secrets import secret_values
from cepsql.spark.failures import translate_failure
from cepsql.spark.snapshots import drop_snapshots, snapshot_folder, snapshots, take_snapshot

LOGGER = logging.getLogger("cepsql")


@dataclass(frozen=True)
class Refreshed:
    """Tables that a query reads again, and the folder of its checkpoint, which holds the snapshots."""

    checkpoint: Path
    tables: tuple[Source, ...] = ()


class TableRefresh:
    """Keeps the snapshots of a query's tables; `failures` counts the readings that failed."""

    def __init__(self, spark: SparkSession, given: Refreshed):
        self.failures = 0
        self._spark, self._given = spark, given
        self._failing: set[str] = set()
        self._planned = [0, 0]

    def begin(self) -> None:
        """Read every table before the query starts.

        A table that cannot be read now, but was by an earlier run, is taken as it was then. Raises the error otherwise.
        """
        for table in self._given.tables:
            self._refresh(table, needed=not snapshots(snapshot_folder(self._given.checkpoint, table)))

    def follow(self, ended: threading.Event) -> None:
        """Read each table whenever its time has come, in threads of their own, until the query has ended."""
        for table in self._given.tables:
            threading.Thread(target=self._follow, args=(table, ended), name="cepsql-refresh", daemon=True).start()

    def batch_done(self) -> None:
        """Note that a micro-batch is about to be committed: the one before it will not come again."""
        self._planned = [self._planned[1], _now()]

    def _follow(self, table: Source, ended: threading.Event) -> None:
        assert table.refresh is not None
        while not ended.wait(table.refresh / 1_000_000):
            self._refresh(table, needed=False)

    def _refresh(self, table: Source, needed: bool) -> None:
        folder = snapshot_folder(self._given.checkpoint, table)
        try:
            take_snapshot(self._spark, self._given.checkpoint, table, _now())
        except Exception as exception:
            error = translate_failure(exception, secret_values(table.options))
            if needed:
                raise error from exception
            self._told(table, error)
            return
        drop_snapshots(folder, self._planned[0])
        if table.name in self._failing:
            self._failing.remove(table.name)
            LOGGER.warning("the table %s is read again", table.name)

    def _told(self, table: Source, error: Error) -> None:
        self.failures += 1
        if table.name not in self._failing:
            self._failing.add(table.name)
            last = max(snapshots(snapshot_folder(self._given.checkpoint, table)))
            read = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last / 1000))
            LOGGER.warning(
                "the table %s cannot be read again, so the query goes on with what it read at %s: %s",
                table.name,
                read,
                error.message,
            )


def _now() -> int:
    return time.time_ns() // 1_000_000
