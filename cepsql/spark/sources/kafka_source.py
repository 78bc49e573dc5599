"""Kafka as a Python data source of Spark's: Spark plans and checkpoints offsets, confluent-kafka reads the records."""

import base64
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from cepsql.cached_property import cached_property
from cepsql.errors import OperationalError
from cepsql.kafka.cluster import Cluster
from cepsql.kafka.options import KafkaOptions, Offsets
from cepsql.kafka.ranges import Range, limited, ranges_between, spread
from cepsql.kafka.records import read_ranges

_NAME = "cepsql_kafka"
_SPEC = "secret.spec"
"""The option that holds everything; Spark does not show the values of options with such names."""


@dataclass(frozen=True)
class KafkaReading:
    """What is read, and what it is made into.

    make:  the function, pickled, that turns the records of a task into batches of the schema. Every query has a process
           that only asks for offsets, and imports nothing for it.
    tasks: into how many a micro-batch is cut at most.
    """

    options: KafkaOptions
    make: bytes
    tasks: int


def kafka_frame(spark: SparkSession, reading: KafkaReading, ddl: str, streaming: bool) -> DataFrame:
    """Return a stream, or a bounded frame, of what `reading` makes of records, with the columns of `ddl`.

    Raises OperationalError if no broker answers or there is no such topic.
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

    def reader(self, schema: StructType) -> "_BoundedReader":
        return _BoundedReader(self._reading())

    def streamReader(self, schema: StructType) -> "_StreamReader":
        return _StreamReader(self._reading())


class _BoundedReader(DataSourceReader):
    def __init__(self, reading: KafkaReading):
        self._reading = reading

    def partitions(self) -> list[InputPartition]:
        cluster, options = Cluster(self._reading.options), self._reading.options
        ranges = ranges_between(cluster.positions(options.start), cluster.positions(options.end))
        return [InputPartition(share) for share in spread(ranges, self._reading.tasks)] or [InputPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._reading, partition.value)


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are {"start": where the query began, "next": what is read next}, each by topic and partition, and
    "ids": what Kafka identifies each topic by, as far as it is known.

    Spark logs where the first micro-batch ends but not where it begins. Done again after a crash it must begin where
    it did, although the latest offsets are others by then; so every offset says where the query began.
    """

    def __init__(self, reading: KafkaReading):
        self._reading = reading
        self._target: Offsets | None = None
        self._ids: dict[str, str] | None = None

    @cached_property
    def _cluster(self) -> Cluster:
        # Tasks get a copy of this object, and must not get a connection with it.
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
        known = {t: {p: begin.get(t, {}).get(p, 0) for p in ends} for t, ends in latest.items()}
        if self._target is not None:
            # A query that goes on may have passed the target already.
            latest = {t: {p: max(end, known[t][p]) for p, end in ends.items()} for t, ends in latest.items()}
        self._check_nothing_lost(begin, latest)
        end = limited(known, latest, limit.max_rows) if isinstance(limit, ReadMaxRows) else latest
        if end == begin:
            return start
        return {"start": start["start"], "next": end, "ids": self._same_topics(start.get("ids", {}), end)}

    def reportLatestOffset(self) -> dict:
        return {"next": self._cluster.latest()}

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        if end.get("ids", self._ids) != self._ids:
            # A batch that an earlier start planned.
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

    def _same_topics(self, known: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
        """Return the ids of topics; raise OperationalError if one had another: it has other records."""
        if not self._reading.options.fail_on_loss:
            return {}
        self._ids = self._cluster.ids(topics)
        for topic, id in self._ids.items():
            if known.get(topic, id) != id:
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
