"""Kafka as a Spark Python data source: Spark plans and checkpoints offsets, confluent-kafka reads the records."""

import base64
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from cepsql.base.cached_property import cached_property
from cepsql.errors import OperationalError
from cepsql.readers.kafka.cluster import Cluster
from cepsql.readers.kafka.kafka_options import KafkaOptions, Offsets
from cepsql.readers.kafka.ranges import Range, limited, ranges_between, spread
from cepsql.readers.kafka.read_records import read_ranges

_NAME = "cepsql_kafka"
_SPEC = "secret.spec"
"""The option with the whole reading; Spark redacts the values of options with such names."""


@dataclass(frozen=True)
class KafkaReading:
    """What is read, and how.

    make:  the function, pickled, that turns the records of a task into batches of the schema. Pickled, because every
           query has a process that only asks for offsets, and needs none of the function's imports.
    tasks: the maximum number of tasks of a micro-batch.
    """

    options: KafkaOptions
    make: bytes
    tasks: int


def kafka_frame(spark: SparkSession, reading: KafkaReading, ddl: str, streaming: bool) -> DataFrame:
    """Return a stream, or a bounded frame, of the rows that `reading` makes from records, with the columns of `ddl`.

    Raises OperationalError if no broker answers or the topic is missing.
    """
    Cluster(reading.options, patience=0).partitions()
    spark.dataSource.register(_Kafka)
    reader = spark.readStream if streaming else spark.read
    spec = base64.b64encode(pickle.dumps(reading)).decode()
    return reader.format(_NAME).schema(ddl).option(_SPEC, spec).load()


class _Kafka(DataSource):
    @classmethod
    def name(cls) -> str:
        return _NAME

    def _reading(self) -> KafkaReading:
        return pickle.loads(base64.b64decode(self.options[_SPEC]))

    def reader(self, schema: StructType) -> "_KafkaReader":
        return _KafkaReader(self._reading())

    def streamReader(self, schema: StructType) -> "_KafkaStreamReader":
        return _KafkaStreamReader(self._reading())


class _KafkaReader(DataSourceReader):
    def __init__(self, reading: KafkaReading):
        self._reading = reading

    def partitions(self) -> list[InputPartition]:
        cluster, options = Cluster(self._reading.options), self._reading.options
        ranges = ranges_between(cluster.positions(options.start), cluster.positions(options.end))
        return [InputPartition(share) for share in spread(ranges, self._reading.tasks)] or [InputPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._reading, partition.value)


class _KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are {"start": where the query began, "next": the next offset to read}, each by topic and partition, and
    "ids": Kafka's id of each topic, where known.

    Spark logs where the first micro-batch ends but not where it begins. Repeated after a crash, it must begin at the
    same offsets, although the latest offsets have moved; so every offset says where the query began.
    """

    def __init__(self, reading: KafkaReading):
        self._reading = reading
        self._target: Offsets | None = None
        self._ids: dict[str, str] | None = None

    @cached_property
    def _cluster(self) -> Cluster:
        # Tasks get a copy of this object, which must not include a connection.
        return Cluster(self._reading.options)

    def initialOffset(self) -> dict:
        start = self._cluster.positions(self._reading.options.start)
        return {"start": start, "next": start, "ids": self._same_topics({}, start)}

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self._reading.options.limit
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._cluster.latest()

    def latestOffset(self, start: dict, limit: ReadLimit) -> dict:
        begin = _next(start)
        latest = self._cluster.latest() if self._target is None else self._target
        positions = {t: {p: begin.get(t, {}).get(p, 0) for p in ends} for t, ends in latest.items()}
        if self._target is not None:
            # A query that resumes may already be past the target.
            latest = {t: {p: max(end, positions[t][p]) for p, end in ends.items()} for t, ends in latest.items()}
        self._check_nothing_lost(begin, latest)
        end = limited(positions, latest, limit.max_rows) if isinstance(limit, ReadMaxRows) else latest
        if end == begin:
            return start
        return {"start": start["start"], "next": end, "ids": self._same_topics(start.get("ids", {}), end)}

    def reportLatestOffset(self) -> dict:
        return {"next": self._cluster.latest()}

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        if end.get("ids", self._ids) != self._ids:
            # An earlier start planned this batch.
            self._same_topics(end["ids"], _next(end))
        begin = _next(start) if start["start"] == end["start"] else end["start"]
        ranges = ranges_between(begin, _next(end))
        return [InputPartition(share) for share in spread(ranges, self._reading.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._reading, partition.value)

    def _check_nothing_lost(self, begin: Offsets, latest: Offsets) -> None:
        if not self._reading.options.fail_on_loss:
            return
        for topic, offsets in begin.items():
            for partition, offset in offsets.items():
                end = latest.get(topic, {}).get(partition)
                if end is None or end < offset:
                    gone = "is gone from Kafka" if end is None else f"ends at offset {end}, but was read up to {offset}"
                    raise OperationalError(
                        f"{topic}, partition {partition}, {gone}",
                        hint="was the topic created again? begin with a new checkpoint, or set failOnDataLoss to false",
                    )

    def _same_topics(self, ids_before: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
        """Return the ids of topics; raise OperationalError if an id has changed: the topic was created again."""
        if not self._reading.options.fail_on_loss:
            return {}
        self._ids = self._cluster.ids(topics)
        for topic, id in self._ids.items():
            if ids_before.get(topic, id) != id:
                raise OperationalError(
                    f"the topic {topic} was deleted and created again since it was read",
                    hint="begin with a new checkpoint; with failOnDataLoss 'false' the query goes on at the offset "
                    "where it was",
                )
        return self._ids


def _next(offset: dict) -> Mapping[str, Mapping[str, int]]:
    if "next" not in offset or "start" not in offset:
        raise OperationalError(
            "the checkpoint was begun with Spark's connector for Kafka",
            hint="OPTIONS (reader 'spark', ...) continues with it",
        )
    return offset["next"]


def _read(reading: KafkaReading, ranges: Sequence[Range]) -> Iterator[pa.RecordBatch]:
    records = read_ranges(reading.options.client, ranges, reading.options.fail_on_loss)
    try:
        yield from pickle.loads(reading.make)(records)
    finally:
        records.close()
