"""Who reads a Kafka source: confluent-kafka in Spark's Python workers, or Spark's own connector in the JVM."""

import importlib.metadata
import importlib.util
from collections.abc import Iterable

from cepsql.catalog import Source
from cepsql.errors import NotSupportedError, OperationalError, ProgrammingError
from cepsql.readers.kafka.kafka_options import kafka_options

PYTHON, SPARK = "python", "spark"
_OPTION = "reader"
_SPARK_WITH_LIMITS = (4, 2)
"""Since this version a Python data source of Spark's can take its input in parts."""


def chosen_reader(source: Source) -> str:
    """Return who is to read a source: what its option `reader` says, else PYTHON where it can read it.

    Raises ProgrammingError for another word, OperationalError or NotSupportedError if PYTHON is asked for in vain.
    """
    asked = {name.lower(): value for name, value in source.options}.get(_OPTION)
    if asked is None:
        return SPARK if _obstacle(source) else PYTHON
    if asked not in (PYTHON, SPARK):
        raise ProgrammingError(f"the option reader of {source.name} is python or spark, not {asked}")
    if asked == PYTHON and (obstacle := _obstacle(source)):
        raise obstacle
    return asked


def reader_of(source: Source) -> str:
    """Return who reads a source that was defined with `with_reader`."""
    return {name.lower(): value for name, value in source.options}.get(_OPTION) or chosen_reader(source)


def with_reader(source: Source) -> tuple[tuple[str, str], ...]:
    """Return the options of a source with its reader, so that it stays: what a checkpoint knows goes by it."""
    options: Iterable[tuple[str, str]] = ((n, v) for n, v in source.options if n.lower() != _OPTION)
    return (*options, (_OPTION, chosen_reader(source)))


def _obstacle(source: Source) -> OperationalError | NotSupportedError | None:
    if importlib.util.find_spec("confluent_kafka") is None:
        return OperationalError("the package confluent-kafka is missing", hint="pip install 'cepsql[kafka]'")
    version = tuple(int(part) for part in importlib.metadata.version("pyspark").split(".")[:2])
    if version < _SPARK_WITH_LIMITS:
        return NotSupportedError("confluent-kafka reads for PySpark 4.2 and later")
    options = [(n, "0" if n.lower() == "startingtimestamp" else v) for n, v in source.options]
    try:
        kafka_options(source.name, options, source.streaming)
    except NotSupportedError as obstacle:
        return obstacle
    return None
