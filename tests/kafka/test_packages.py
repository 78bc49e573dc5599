"""Which connectors a session fetches when it starts."""

from cepsql.catalog import Source, ValueFormat
from cepsql.spark.jvm.launching.packages import AVRO, KAFKA, with_packages

OPTIONS = (("kafka.bootstrap.servers", "h"), ("subscribe", "t"))
KEY = "spark.jars.packages"


def kafka(reader, value=None):
    return Source("s", (), "kafka", (*OPTIONS, ("reader", reader)), value=value)


def test_what_is_needed_and_not_named():
    assert with_packages({}, [Source("f", (), "json"), kafka("python")]) == ({}, None)
    assert with_packages({KEY: "a:b:1"}, [kafka("spark")]) == (
        {KEY: f"a:b:1,{KAFKA}"}, "Spark's connector for Kafka",
    )  # fmt: skip
    conf, said = with_packages({}, [kafka("spark", ValueFormat("avro")), kafka("spark")])
    assert conf == {KEY: f"{KAFKA},{AVRO}"} and said == "Spark's connector for Kafka and Spark's reader of Avro"


def test_what_is_named_already():
    jars = {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13-4.2.0.jar"}
    assert with_packages(jars, [kafka("spark")]) == (jars, None)
