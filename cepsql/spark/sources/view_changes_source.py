"""The changes of a view as a Spark Python data source: an offset is a batch of the view's query."""

import base64
import pickle
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from cepsql.catalog.view_store import ViewSource
from cepsql.views.change_feed import Point, begin_reading, changes_between, last_point, read_until
from cepsql.views.version_changes import versions_between

_NAME = "cepsql_view_changes"
_SPEC = "secret.spec"
"""The option with the whole reading; Spark redacts the values of options with such names."""

_ROWS = 50_000
_SEEN_EVERY = 3_600.0
"""After how many seconds without changes a reader reports that it is alive."""


@dataclass(frozen=True)
class ChangesReading:
    """What is read: the changes of a view, as columns of these names.

    owner: of the reader; `cepsql.views.change_feed.end_reading` ends the readings of an owner.
    """

    view: ViewSource
    names: tuple[str, ...]
    owner: str


def changes_frame(spark: SparkSession, reading: ChangesReading, ddl: str) -> DataFrame:
    """Return the stream of a reading, with the columns of `ddl`."""
    spark.dataSource.register(_ViewChanges)
    spec = base64.b64encode(pickle.dumps(reading)).decode()
    return spark.readStream.format(_NAME).schema(ddl).option(_SPEC, spec).load()


class _ViewChanges(DataSource):
    @classmethod
    def name(cls) -> str:
        return _NAME

    def streamReader(self, schema: StructType) -> "_ChangesStreamReader":
        return _ChangesStreamReader(pickle.loads(base64.b64decode(self.options[_SPEC])))


class _ChangesStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are {"reader": the reader's id in the store, "view", "checkpoint", "batch": the last batch read}.

    The first offset is {}. It is followed by the rows as of a batch, which can be read again because the store keeps
    the changes since. For versions that is the first batch kept, and all offsets have it as "first".
    """

    def __init__(self, reading: ChangesReading):
        self._reading = reading
        self._target: Point | None = None
        self._all = False
        self._reported_at = time.monotonic()

    def initialOffset(self) -> dict:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._target, self._all = last_point(self._reading.view), True

    def latestOffset(self, start: dict, limit: ReadLimit) -> dict:
        if not start:
            reader = uuid.uuid4().hex
            begun = begin_reading(self._reading.view, reader, self._reading.owner)
            if begun is None:
                return {}
            offset = {"reader": reader, "view": self._reading.view.name, "checkpoint": begun.checkpoint}
            if not self._reading.view.versions:
                return {**offset, "batch": begun.batch}
            now = last_point(self._reading.view) or begun
            return {**offset, "batch": max(now.batch, begun.batch), "first": begun.batch}
        last = self._target if self._all else last_point(self._reading.view)
        if last is None or (last.checkpoint == start["checkpoint"] and last.batch <= start["batch"]):
            self._let_be_known(start)
            return start
        return {**start, "checkpoint": last.checkpoint, "batch": last.batch}

    def commit(self, end: dict) -> None:
        if end:
            read_until(self._reading.view, end["reader"], self._reading.owner, end["batch"])
            self._reported_at = time.monotonic()

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        return [InputPartition((start, end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        start, end = partition.value
        if not end:
            return
        after = Point(start["checkpoint"], start["batch"]) if start else None
        view, until = self._reading.view, Point(end["checkpoint"], end["batch"])
        if view.versions:
            changes = versions_between(view, after, until, end["first"])
        else:
            changes = changes_between(view, after, until)
        yield from changes.select(list(self._reading.names)).combine_chunks().to_batches(_ROWS)

    def _let_be_known(self, start: dict) -> None:
        if time.monotonic() - self._reported_at > _SEEN_EVERY:
            self.commit(start)
