"""The records of Kafka as a DataFrame: read with confluent-kafka, or by Spark's own connector."""

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepsql.catalog import Source
from cepsql.errors import ProgrammingError
from cepsql.readers.kafka.kafka_options import KafkaOptions, check_options, kafka_options
from cepsql.readers.kafka.kafka_reader import PYTHON, reader_of

if TYPE_CHECKING:
    from confluent_kafka import Message

Records = Iterator[list["Message"]]
"""The records that a task reads, some of one partition at a time."""

_START_TIME = "startingtimestamp"


def kafka_records(spark: SparkSession, source: Source) -> DataFrame:
    """Return the records of a Kafka source, as a stream or a bounded frame, with the columns of Spark's connector.

    Raises ProgrammingError or OperationalError for options that are wrong or name no broker or topic.
    """
    options = located(spark, source)
    check_options(source.name, {name.lower(): value for name, value in options.items()})
    if reader_of(source) == PYTHON:
        from cepsql.readers.kafka.record_columns import COLUMNS

        names = [name for name in COLUMNS if name != "headers" or _reads_headers(source)]
        ddl = ", ".join(f"{name} {COLUMNS[name]}" for name in names)
        return made_of_records(spark, source, partial(_batches, tuple(names)), ddl)
    options.pop("reader", None)
    options = {"kafka.isolation.level": "read_committed", "includeHeaders": "true"} | options
    reader = spark.readStream if source.streaming else spark.read
    return reader.format("kafka").options(**options).load()


def made_of_records(
    spark: SparkSession, source: Source, make: Callable[[Records], Iterator[pa.RecordBatch]], ddl: str
) -> DataFrame:
    """Return what `make` makes of the records that each task reads, with the columns of `ddl`.

    Errors as for `kafka_records`, for a source that confluent-kafka reads.
    """
    from cepsql.spark.sources.kafka_source import KafkaReading, kafka_frame

    reading = KafkaReading(parsed_options(spark, source), pickle.dumps(make), task_number(spark))
    return kafka_frame(spark, reading, ddl, source.streaming)


def parsed_options(spark: SparkSession, source: Source) -> KafkaOptions:
    """Return the options of a source, with a start by time as milliseconds."""
    return kafka_options(source.name, located(spark, source).items(), source.streaming)


def located(spark: SparkSession, source: Source) -> dict[str, str]:
    """Return the options, with a text for a start by time read as a TIMESTAMP of the session.

    Raises ProgrammingError if it is none.
    """
    options = dict(source.options)
    name = next((name for name in options if name.lower() == _START_TIME), None)
    if name is None or options[name].isdecimal():
        return options
    millis = spark.sql("SELECT unix_millis(try_cast(:text AS TIMESTAMP)) AS t", {"text": options[name]}).collect()
    if millis[0]["t"] is None:
        raise ProgrammingError(f"{source.name} is to be read from {options[name]}, which is no time")
    return options | {name: str(millis[0]["t"]), "startingOffsetsByTimestampStrategy": "latest"}


def takes_all_at_once(source: Source) -> bool:
    """Tell whether a drained stream has all its records in one micro-batch, for no option limits it."""
    return not any("pertrigger" in name.lower() for name, _ in source.options)


def task_number(spark: SparkSession) -> int:
    """Return into how many tasks the records of a micro-batch are cut at most: as many as run at once."""
    return max(1, spark.sparkContext.defaultParallelism)


def _reads_headers(source: Source) -> bool:
    named = any((column.metadata or column.name).lower() == "headers" for column in source.columns)
    return named or not source.columns


def _batches(names: tuple[str, ...], records: Records) -> Iterator[pa.RecordBatch]:
    from cepsql.readers.kafka.record_columns import record_batches
    from cepsql.spark.frames.worker import settle

    settle()
    return record_batches(names, records)
