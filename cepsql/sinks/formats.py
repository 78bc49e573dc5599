"""The formats of sinks: which there are, what each promises, and what opens it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cepsql.catalog import Sink
from cepsql.catalog.view_store import GroupSink, ViewSink
from cepsql.sinks.added_columns import DATABASES
from cepsql.sinks.writer import WriterIdentity

if TYPE_CHECKING:
    from cepsql.sinks.fitted import FittedSink

EXACTLY_ONCE = "exactly once"
AT_LEAST_ONCE = "at least once"

FILE_FORMATS = ("parquet", "json", "csv", "orc", "text", "avro", "xml")
"""Formats of files, by the names that Spark writes them by."""


def promise(sink: Sink) -> str:
    """Return a sentence on what becomes of a row if anything fails in between."""
    name = sink.format.lower()
    if name in FILE_FORMATS:
        from cepsql.sinks.files import is_local

        if is_local(sink):
            return f"{EXACTLY_ONCE}: the files of a batch appear once, whole, also if it is done again"
        return f"{AT_LEAST_ONCE}: a batch that is done again is written again, on a file system that is not mounted"
    if name in DATABASES:
        return f"{EXACTLY_ONCE}: rows and the number of their batch are written in one transaction"
    if name == "webhook":
        return f"{AT_LEAST_ONCE}: a request that is sent again has the same Idempotency-Key"
    if name == "python":
        return f"{AT_LEAST_ONCE}: a batch that comes again has the same key"
    if name == "kafka":
        return f"{AT_LEAST_ONCE}: a record that is sent again has the same key, where the sink has a key"
    if name == "delta":
        return f"{EXACTLY_ONCE}: Delta keeps the number of the last batch of each query"
    if name == "noop":
        return "nothing is kept"
    return f"{AT_LEAST_ONCE}: a batch that is done again is written again"


def open_sink(sink: Sink, writer: WriterIdentity, changes: bool = False, parts: Sequence[bool] = ()) -> "FittedSink":
    """Return the sink opened for a writer; nothing is written, and no server asked, before `check` or `attach`.

    changes: the rows say what each does to the result; see `cepsql.analysis.clauses.emit_clause`.
    parts:   the same of the rows of each view of a group.
    Raises ProgrammingError for options that are wrong, NotSupportedError if a package is missing that it needs.
    """
    if isinstance(sink, GroupSink):
        from cepsql.sinks.view_group import ViewGroupTables

        return ViewGroupTables(sink, writer, parts)
    opened = _opener(sink)(sink, writer)
    opened.changes = changes
    return opened


def _opener(sink: Sink) -> "type[FittedSink]":
    if isinstance(sink, ViewSink):
        from cepsql.sinks.view_table import ViewTable

        return ViewTable
    match sink.format.lower():
        case name if name in FILE_FORMATS:
            from cepsql.sinks.files import FileSink, is_local

            if is_local(sink):
                return FileSink
        case name if name in DATABASES:
            from cepsql.sinks.database_table import TableSink

            return TableSink
        case "webhook":
            from cepsql.sinks.webhook import WebhookSink

            return WebhookSink
        case "kafka":
            from cepsql.sinks.kafka_topic import KafkaSink

            return KafkaSink
        case "python":
            from cepsql.sinks.function import FunctionSink

            return FunctionSink
        case "console":
            from cepsql.sinks.console import ConsoleSink

            return ConsoleSink
    from cepsql.sinks.spark_format import SparkSink

    return SparkSink
