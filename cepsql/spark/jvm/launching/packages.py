"""Connectors that Spark fetches from the public repository when its session starts, for what is defined by then."""

from collections.abc import Iterable, Mapping

import pyspark

from cepsql.catalog import Source
from cepsql.readers.kafka.kafka_reader import SPARK, reader_of

KAFKA = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
AVRO = f"org.apache.spark:spark-avro_2.13:{pyspark.__version__}"

_PACKAGES, _JARS = "spark.jars.packages", ("spark.jars", "spark.driver.extraClassPath")


def with_packages(conf: Mapping[str, str], sources: Iterable[Source]) -> tuple[dict[str, str], str | None]:
    """Return Spark settings with the connectors that sources need, and what was added in words, None if nothing was.

    Nothing is added that the settings name already, among packages or jars.
    """
    sources = list(sources)
    needed = []
    if any(source.format.lower() == "kafka" and reader_of(source) == SPARK for source in sources):
        needed.append((KAFKA, "spark-sql-kafka", "Spark's connector for Kafka"))
    if any(source.value is not None and source.value.name == "avro" for source in sources):
        needed.append((AVRO, "spark-avro", "Spark's reader of Avro"))
    named = " ".join(conf.get(key, "") for key in (_PACKAGES, *_JARS))
    needed = [item for item in needed if item[1] not in named]
    if not needed:
        return dict(conf), None
    packages = ",".join(filter(None, [conf.get(_PACKAGES, ""), *(package for package, _, _ in needed)]))
    return {**conf, _PACKAGES: packages}, " and ".join(what for _, _, what in needed)
