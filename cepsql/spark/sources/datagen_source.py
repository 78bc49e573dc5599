"""USING datagen as a Python data source of Spark's: an offset is the number of the next row."""

import base64
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from cepsql.errors import NotSupportedError
from cepsql.readers.datagen.fields import Generator
from cepsql.readers.datagen.generated_rows import BATCH
from cepsql.scalar.zone import Zone

_NAME = "cepsql_datagen"
_SPEC = "spec"


@dataclass(frozen=True)
class Making:
    """What is made: in `tasks` parts at most, times without zone read in `zone`."""

    generator: Generator
    tasks: int
    zone: Zone


def generated_frame(spark: SparkSession, making: Making, ddl: str, streaming: bool) -> DataFrame:
    """Return a stream, or a bounded frame, of the rows of a generator, with the columns of `ddl`."""
    spark.dataSource.register(_Datagen)
    reader = spark.readStream if streaming else spark.read
    spec = base64.b64encode(pickle.dumps(making)).decode()
    return reader.format(_NAME).schema(ddl).option(_SPEC, spec).load()


class _Datagen(DataSource):
    @classmethod
    def name(cls) -> str:
        return _NAME

    def _making(self) -> Making:
        return pickle.loads(base64.b64decode(self.options[_SPEC]))

    def reader(self, schema: StructType) -> "_DatagenReader":
        return _DatagenReader(self._making())

    def streamReader(self, schema: StructType) -> "_DatagenStreamReader":
        return _DatagenStreamReader(self._making())


class _DatagenReader(DataSourceReader):
    def __init__(self, making: Making):
        self._making = making

    def partitions(self) -> list[InputPartition]:
        return _parts(self._making, 0, self._making.generator.rows or 0)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._making, partition)


class _DatagenStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are {"next": the number of the row that follows}.

    Rows come by the clock since this start, so that none are made for the time in which the query stood still. A query
    that takes what is there takes all rows.
    """

    def __init__(self, making: Making):
        self._making = making
        self._begun: tuple[int, float] | None = None
        self._all = False

    def initialOffset(self) -> dict:
        return {"next": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        if self._making.generator.rows is None:
            raise NotSupportedError(
                "a stream USING datagen that never ends cannot be drained",
                hint="OPTIONS ('number-of-rows' '1000') ends it",
            )
        self._all = True

    def latestOffset(self, start: dict, limit: ReadLimit) -> dict:
        rows, at = self._making.generator.rows, start["next"]
        if self._all:
            return {"next": rows}
        now = time.monotonic()
        first, begun = self._begun = self._begun or (at, now)
        due = max(at, first + int((now - begun) * self._making.generator.rate))
        return {"next": due if rows is None else min(due, rows)}

    def partitions(self, start: dict, end: dict) -> Sequence[InputPartition]:
        return _parts(self._making, start["next"], end["next"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._making, partition)


def _parts(making: Making, begin: int, end: int) -> list[InputPartition]:
    """Return ranges of rows, of as many as are made at once or more, in order."""
    size = max(BATCH, -(-(end - begin) // making.tasks))
    cuts = range(begin, end, size)
    return [InputPartition((at, min(at + size, end))) for at in cuts] or [InputPartition((begin, begin))]


def _read(making: Making, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    from cepsql.readers.datagen.generated_rows import rows

    begin, end = partition.value
    return rows(making.generator, begin, end, making.zone)
