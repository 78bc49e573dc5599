"""Streams of what is neither files nor Kafka: rate, sockets, Spark's tables, Python data sources, DataFrames."""

import datetime
import socket
import threading

import pytest
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

import cepsql

MATCH = """
    SELECT * FROM s MATCH_RECOGNIZE (
      ORDER BY at MEASURES A.n AS a, LAST(B.n) AS b PATTERN (A B{2}) DEFINE A AS n % 10 = 0, B AS n = PREV(n) + 1
    ) AS m
"""
EXPECTED = [(0, 2), (10, 12), (20, 22)]
FIRST = datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.UTC)


@pytest.fixture
def engine(spark):
    with cepsql.connect(spark) as made:
        yield made


def drained(query):
    output = []
    query.start(lambda rows, batch: output.extend(rows.to_pylist()), drain=True).await_()
    return sorted(tuple(row.values()) for row in output)


def first_rows(query):
    """Return the first three rows of a stream that does not end."""
    rows = []
    with query.start() as standing:
        for table in standing.rows(60):
            rows += [tuple(row.values()) for row in table.to_pylist()]
            if len(rows) >= 3:
                break
    return rows[:3]


def counting():
    """Return a data source of thirty numbers, a second apart, ten in a micro-batch; workers cannot import this file."""
    first = FIRST

    class CountingReader(SimpleDataSourceStreamReader):
        def initialOffset(self):
            return {"next": 0}

        def read(self, start):
            end = min(30, start["next"] + 10)
            return self.readBetweenOffsets(start, {"next": end}), {"next": end}

        def readBetweenOffsets(self, start, end):
            return iter([(n, first + datetime.timedelta(seconds=n)) for n in range(start["next"], end["next"])])

    class Counting(DataSource):
        @classmethod
        def name(cls):
            return "counting"

        def schema(self):
            return "n INT, at TIMESTAMP"

        def simpleStreamReader(self, schema):
            return CountingReader()

    return Counting


def test_a_python_data_source(engine):
    engine.spark.dataSource.register(counting())
    engine.sql("CREATE STREAM s (n INT, at TIMESTAMP, WATERMARK FOR at AS at) USING counting")
    with engine.sql(MATCH).start() as standing:
        standing.process_available()
    assert standing.progress.rows_read == 30 and standing.progress.matches == 3


def test_a_table_of_spark(engine, spark, tmp_path):
    rows = spark.range(30).selectExpr("id AS n", f"timestamp_seconds({FIRST.timestamp():.0f} + id) AS at")
    rows.write.saveAsTable("numbered", format="parquet", path=str(tmp_path / "t"))
    try:
        engine.sql(
            "CREATE STREAM s (n INT, at TIMESTAMP, WATERMARK FOR at AS at) USING table OPTIONS (name 'numbered')"
        )
        assert drained(engine.sql(MATCH)) == EXPECTED
        engine.sql("CREATE TABLE b USING table OPTIONS (name 'numbered')")
        assert engine.sql("SELECT count(*) AS n FROM b").collect() == [(30,)]
        with pytest.raises(cepsql.ProgrammingError, match="does not say which table"):
            engine.sql("CREATE TABLE c USING table")
    finally:
        spark.sql("DROP TABLE numbered")


def test_rate(engine):
    engine.sql(f"""CREATE STREAM s (value BIGINT, timestamp TIMESTAMP, n INT AS value, at TIMESTAMP AS
                     timestamp_seconds({FIRST.timestamp():.0f} + value), WATERMARK FOR at AS at)
                   USING `rate-micro-batch` OPTIONS (rowsPerBatch 10)""")
    assert first_rows(engine.sql(MATCH)) == EXPECTED


def test_a_frame_by_name(engine, spark):
    frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    engine.register("s", frame.selectExpr("value AS n", "timestamp_seconds(value) AS at"), ("at", "0 seconds"))
    assert first_rows(engine.sql(MATCH)) == EXPECTED


def test_a_socket(engine, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server,), daemon=True).start()
        engine.sql(f"""CREATE STREAM s (value STRING, n INT AS CAST(value AS INT), at TIMESTAMP AS timestamp_seconds(n),
                         WATERMARK FOR at AS at)
                       USING socket OPTIONS (host '127.0.0.1', port {server.getsockname()[1]})""")
        query = engine.sql(MATCH)
        with pytest.raises(cepsql.NotSupportedError, match="what a socket has sent cannot be read again"):
            query.start(checkpoint=str(tmp_path / "c"))
        assert first_rows(query) == EXPECTED


def _serve(server):
    """Send thirty lines to whoever connects, and then nothing more."""
    connections = []
    while True:
        try:
            connections.append(server.accept()[0])
        except OSError:
            return
        connections[-1].sendall("".join(f"{n}\n" for n in range(31)).encode())
