"""Rows sent to a topic of Kafka as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from cepsql.analysis.clauses.emit_clause import GONE, OPERATION, THERE
from cepsql.catalog import Sink
from cepsql.errors import NotSupportedError, OperationalError, ProgrammingError
from cepsql.readers.kafka.kafka_options import client_settings
from cepsql.readers.kafka.producer import Producer, TopicMissing, Undelivered
from cepsql.render.sound_text import sound_text
from cepsql.sinks.added_columns import Columns, fitted_columns, key_columns
from cepsql.sinks.fitted import PATIENCE_SECONDS, FittedSink, Unavailable
from cepsql.sinks.plain_values import json_objects
from cepsql.sinks.sink_options import Options
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.frames.pieces import Pieces

OPTIONS = ("topic", "retry_for", "kafka.")


class KafkaSink(FittedSink):
    """Sends each row as a JSON object, with the columns of the sink's key as the key of the record.

    A key of one column is its text, one of several an object of them; without a key records have none. A batch that is
    done again is sent again, with the same keys. Changes are applied by the key: the record of a key has its row as it
    is, one without a value says that the row is gone.

    Options: topic (default: the name of the sink), retry_for (default 10 minutes), and the settings of Kafka's client
    behind `kafka.`, of which kafka.bootstrap.servers must be there.
    """

    def __init__(self, sink: Sink, writer: WriterIdentity):
        super().__init__(sink, writer)
        options = Options(sink, OPTIONS)
        self._topic = options.text("topic") or sink.name
        self._patience = options.seconds("retry_for", PATIENCE_SECONDS)
        settings = options.below("kafka.")
        if "bootstrap.servers" not in settings:
            raise ProgrammingError(
                f"sink {sink.name} does not say where Kafka is",
                hint="OPTIONS (kafka.bootstrap.servers 'host:9092', ...)",
            )
        self._client = client_settings(settings, producing=True)
        self._producer: Producer | None = None

    def check(self, columns: Columns) -> None:
        """Refuse columns that do not fit, and a topic that is not there."""
        super().check(columns)
        try:
            self._connected().check(self._topic)
        except TopicMissing as missing:
            raise OperationalError(f"sink {self.sink.name}: {missing}") from missing
        except Undelivered as failure:
            does = "does not answer" if failure.passing else "cannot be used"
            raise OperationalError(f"sink {self.sink.name} {does}: {failure}") from failure

    def write(self, frame: DataFrame, batch: int) -> int:
        """Send the rows of a micro-batch, and wait until Kafka has them all."""
        columns = column_types(frame)
        key = key_columns(self.sink, fitted_columns(self.sink, columns))
        with self.collected(frame) as pieces:
            if pieces.rows:
                self.persistently(partial(self._send, pieces, key), self._patience)
            return pieces.rows

    def _send(self, pieces: Pieces, key: list[str]) -> int:
        try:
            records = _changes(pieces, key) if self.applies else _records(pieces, key)
            return self._connected().send(self._topic, records)
        except Undelivered as failure:
            # One that gave a record up may send no other in the order that it promises.
            self._producer = None
            if failure.passing:
                raise Unavailable(str(failure)) from failure
            raise OperationalError(f"sink {self.sink.name}: Kafka does not take a record: {failure}") from failure

    def _connected(self) -> Producer:
        if self._producer is None:
            try:
                self._producer = Producer(self._client)
            except ImportError as missing:
                raise NotSupportedError(
                    f"sink {self.sink.name} needs the package confluent-kafka", hint="pip install 'cepsql[kafka]'"
                ) from missing
        return self._producer


def _changes(pieces: Pieces, key: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Yield the key of each row that is gone, without a value, then the records of rows that are there."""
    there = {one for rows in map(sound_text, pieces) for one in _keys(_of(rows, THERE), key)}
    for rows in map(sound_text, pieces):
        for one in _keys(_of(rows, GONE), key):
            # Without a key nobody knows which row is gone.
            if one is not None and one not in there:
                yield one, None
    for rows in map(sound_text, pieces):
        yield from _records([_of(rows, THERE)], key)


def _of(rows: pa.Table, operations: Sequence[str]) -> pa.Table:
    return rows.filter(pc.is_in(rows[OPERATION], pa.array(operations))).drop_columns([OPERATION])


def _records(pieces: Iterable[pa.Table], key: list[str]) -> Iterator[tuple[str | None, str]]:
    """Yield the key and the value of each record."""
    for rows in map(sound_text, pieces):
        yield from zip(_keys(rows, key), json_objects(rows), strict=True)


def _keys(rows: pa.Table, key: list[str]) -> Iterator[str | None]:
    if not key:
        return iter([None] * rows.num_rows)
    if len(key) == 1 and pa.types.is_string(rows.schema.field(key[0]).type):
        return iter(rows[key[0]].to_pylist())
    return json_objects(rows.select(key))
