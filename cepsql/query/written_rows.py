"""The rows of a bounded query, written into a sink, a stream or a table at once."""

import uuid
from collections.abc import Sequence

from cepsql.catalog import Sink, Source
from cepsql.catalog.references import valued_sink
from cepsql.query.planned_query import PlannedQuery
from cepsql.query.spark_rows import SparkRows
from cepsql.readers.kafka.kafka_reader import PYTHON, reader_of
from cepsql.sinks import WriterIdentity, open_sink
from cepsql.sinks.inserted_rows import fitted_rows, insert_files, insertion_sink


def write_once(planned: PlannedQuery, rows: SparkRows, sink: Sink) -> int:
    """Write all rows to a sink as one batch; return how many there were; see `Query.write`."""
    target = open_sink(valued_sink(sink), _writer(), planned.plan.changes)

    def written() -> int:
        target.check(rows.columns())
        target.claim()
        return target.accept(rows.frame, 0)

    try:
        return rows.run(written, sink)
    finally:
        target.close()


def insert_once(planned: PlannedQuery, rows: SparkRows, into: Source, names: Sequence[str]) -> tuple[int, str | None]:
    """Insert all rows into a stream or table; see `Query.insert`.

    Return how many there were, and the token that tells which they were, None where that is not known.
    """
    sink = valued_sink(insertion_sink(into))

    def written() -> tuple[int, str | None]:
        frame = fitted_rows(rows.frame, into, names)
        if sink.format != "kafka":
            count, file = insert_files(frame, sink, into)
            return count, None if file is None else f"{into.name}@{file}"
        target = open_sink(sink, _writer())
        try:
            target.check([(column.name, column.type) for column in sink.columns])
            return target.accept(frame, 0), _reached(planned, into)
        finally:
            target.close()

    return rows.run(written, sink)


def _writer() -> WriterIdentity:
    once = uuid.uuid4().hex
    return WriterIdentity(f"insert-{once}", 1, once)


def _reached(planned: PlannedQuery, into: Source) -> str | None:
    """Return the token of all records that a topic has now, None where that is not known."""
    if reader_of(into) != PYTHON:
        return None
    from cepsql.readers.kafka.cluster import Cluster
    from cepsql.spark.sources.kafka_frames import parsed_options

    (offsets,) = Cluster(parsed_options(planned.host.spark, into)).latest().values()
    return f"{into.name}@{','.join(f'{part}:{end}' for part, end in sorted(offsets.items()))}"
