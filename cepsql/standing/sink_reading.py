"""A sink as a table with the rows that queries have written."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cepsql.base.loading import load_spark
from cepsql.catalog import ColumnDefinition, Registered, Sink
from cepsql.catalog.references import valued_sink
from cepsql.errors import Error, NotSupportedError
from cepsql.language.translate import one_query
from cepsql.standing.statement_host import StatementHost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


READABLE = ("parquet", "json", "csv", "orc", "text", "avro", "xml", "delta", "sqlite", "postgresql")
"""The formats of sinks whose rows can be read."""


def read_sink(host: StatementHost, sink: Sink, spark: "Callable[[], SparkSession]") -> Registered:
    """Return the current rows of a sink, in whole batches, under its name.

    Raises NotSupportedError for a sink that cannot be read, OperationalError if it does not answer.
    """
    if sink.format.lower() not in READABLE:
        raise NotSupportedError(
            f"sink {sink.name} USING {sink.format} cannot be read",
            hint="SUBSCRIBE follows the query that writes it; files, sqlite, postgresql and delta can be read",
        )
    load_spark()
    from cepsql.spark.frames.column_types import frame_columns
    from cepsql.spark.jvm.messages.failures import translated_failures
    from cepsql.spark.sources.sink_rows import sink_rows

    with translated_failures():
        frame = sink_rows(spark(), valued_sink(sink), written_columns(host, sink))
    return Registered(sink.name, frame_columns(frame), frame)


def written_columns(host: StatementHost, sink: Sink) -> tuple[ColumnDefinition, ...]:
    """Return the columns that a sink declares, or those of the first query of the catalog that writes it; empty if they
    are unknown."""
    if sink.columns:
        return sink.columns
    from cepsql.sinks import added_columns

    for query in host.catalog.names.queries:
        if query.sink is not None and query.sink.lower() == sink.name.lower():
            try:
                # As its start does: changes of views have other columns than their rows.
                plan = host.plan_standing(one_query(query.sql))
                columns = [(column.name, column.type) for column in host.typed_columns(plan)]
                written = added_columns.written_columns(sink, columns, plan.changes)
                return tuple(ColumnDefinition(name, kind) for name, kind in written)
            except Error:
                continue
    return ()
