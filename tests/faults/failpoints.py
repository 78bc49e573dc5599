"""Named places of the product at which a process of the tests can be made to die, by patching it from outside."""

import functools
import os
import signal
from collections.abc import Callable

import cepsql.query
import cepsql.spark.checkpoint.checkpoint
import cepsql.spark.checkpoint.checkpoint_lock
import cepsql.spark.run.standing_query
import cepsql.spark.sources.backfill
import cepsql.spark.sources.tables_at_rest.table_refresh
from cepsql.sinks.database_table import TableSink
from cepsql.sinks.files import FileSink
from cepsql.sinks.function import FunctionSink
from cepsql.sinks.postgresql import PostgreSQL
from cepsql.sinks.sqlite import SQLite
from cepsql.spark.jvm.hadoop_path import HadoopPath
from cepsql.spark.run.standing_query import StandingQuery

PLACES: dict[str, tuple[object, str]] = {
    "plan.json": (cepsql.spark.checkpoint.checkpoint, "_write_plan"),
    "end of the input": (cepsql.spark.run.standing_query, "end_input"),
    "finish": (cepsql.spark.run.standing_query, "finish"),
    "start of a run": (StandingQuery, "_start_spark"),
    "batch, before Spark's commit": (StandingQuery, "_after_batch"),
    "files of a batch": (FileSink, "write"),
    "record of files": (FileSink, "_write"),
    "names of files": (FileSink, "_put_in_place"),
    "a name": (os, "replace"),
    "a file in a file system of Hadoop's": (HadoopPath, "write_whole"),
    "a claim": (cepsql.spark.checkpoint.checkpoint_lock, "claim_checkpoint"),
    "claim of a folder": (FileSink, "claim"),
    "transaction": (TableSink, "transaction"),
    "rows in a transaction of SQLite": (SQLite, "add_rows"),
    "rows in a transaction of PostgreSQL": (PostgreSQL, "add_rows"),
    "claim of a table": (TableSink, "claim"),
    "history before a stream": (cepsql.spark.sources.backfill, "keep_rows"),
    "table that is read again": (cepsql.spark.sources.tables_at_rest.table_refresh, "take_snapshot"),
    "function": (FunctionSink, "write"),
}
"""What is patched, by what happens there."""


def arm(place: str, moment: str, count: int, die: Callable[[], None]) -> None:
    """Let the process die when a place is reached for the count-th time, `before` or `after` it."""
    owner, name = PLACES[place]
    original = getattr(owner, name)
    left = [count]

    @functools.wraps(original)
    def failing(*arguments, **named):
        left[0] -= 1
        last = left[0] == 0
        if last and moment == "before":
            die()
        result = original(*arguments, **named)
        if last and moment == "after":
            die()
        return result

    setattr(owner, name, failing)


def kill(pids: list[int]) -> None:
    """Kill processes of the tests' own, as far as they still are."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
