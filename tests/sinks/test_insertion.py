"""INSERT INTO streams and tables: files that appear whole, in the order of insertion, of values that fit."""

from decimal import Decimal

import pytest

import cepsql
from cepsql.catalog import ColumnDefinition, Source, ValueFormat
from cepsql.sinks.inserted_rows import insertion_sink

COLUMNS = "a INT, price DECIMAL(8, 2), at TIMESTAMP, name STRING, up STRING AS upper(name), WATERMARK FOR at AS at"


@pytest.fixture
def engine(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with cepsql.connect(spark) as made:
        yield made


def drained(engine, sql):
    output = []
    engine.query(sql).start(lambda rows, _: output.extend(rows.to_pylist()), drain=True).await_()
    return [tuple(row.values()) for row in output]


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_what_is_inserted_comes_back_in_order(engine, tmp_path, format):
    engine.sql(f"CREATE STREAM s ({COLUMNS}) USING {format} OPTIONS (path 'in')")
    said = engine.sql("""
        INSERT INTO s VALUES (1, 1.5, TIMESTAMP '2026-01-01 00:00:00.123456', ' x,"y" '), (2, NULL, NULL, 'b')
    """).message
    assert said == "2 rows written to s"
    engine.sql("INSERT INTO s (name, a) VALUES ('c', '3')")
    first, second = sorted((tmp_path / "in").glob("[!.]*"))
    assert first.stat().st_mtime_ns < second.stat().st_mtime_ns
    assert first.name.startswith("insert-") and first.suffix == f".{format}"
    assert [path for path in (tmp_path / "in").iterdir() if path.name.startswith(".insert")] == []
    engine.sql(
        f"CREATE TABLE t (a INT, price DECIMAL(8, 2), at TIMESTAMP, name STRING) USING {format} OPTIONS (path 'in')"
    )
    rows = engine.query("SELECT a, price, CAST(at AS STRING), name, upper(name) FROM t").collect()
    assert sorted(map(tuple, rows)) == [
        (1, Decimal("1.50"), "2026-01-01 00:00:00.123456", ' x,"y" ', ' X,"Y" '),
        (2, None, None, "b", "B"),
        (3, None, None, "c", "C"),
    ]


def test_values_that_do_not_fit(engine, tmp_path):
    engine.sql(f"CREATE STREAM s ({COLUMNS}) USING csv OPTIONS (path 'in')")
    for values, message in [
        ("1, 1.555, NULL, NULL", r"1\.555 does not fit the column price DECIMAL\(8, 2\) of s"),
        ("1.5, 1, NULL, NULL", r"1\.5 does not fit the column a INT"),
        ("1, 1, 'noon', NULL", r"'noon' does not fit the column at TIMESTAMP"),
        ("1, 1, NULL, 'x\ny'", "a text with a line end cannot be inserted into column name"),
        ("true, 1, NULL, 'x'", "column a of s takes INT, not BOOLEAN"),
        ("1, 1", "the query gives 2 columns, and 4 are inserted"),
    ]:
        with pytest.raises(cepsql.Error, match=message):
            engine.sql(f"INSERT INTO s VALUES ({values})")
    for names, message in [("a, up", "column up of s is computed"), ("a, b", "s has no column b")]:
        with pytest.raises(cepsql.ProgrammingError, match=message):
            engine.sql(f"INSERT INTO s ({names}) VALUES (1, 'x')")
    assert not (tmp_path / "in").exists() or list((tmp_path / "in").iterdir()) == []


def test_a_stream_without_a_source(spark, tmp_path):
    location = tmp_path / "catalog.db"
    with cepsql.connect(spark, catalog=location) as engine:
        engine.sql("CREATE STREAM m (a INT, at TIMESTAMP, tags ARRAY<STRING>, WATERMARK FOR at AS at)")
        assert drained(engine, "SELECT a FROM m") == []
        engine.sql("INSERT INTO m SELECT 1, TIMESTAMP '2026-01-01 00:00:00', array('x')")
        engine.sql("CREATE STREAM other (a INT, at TIMESTAMP, tags ARRAY<STRING>)")
        engine.sql("INSERT INTO other SELECT * FROM m")
    with cepsql.connect(spark, catalog=location) as engine:
        assert drained(engine, "SELECT a, tags FROM m") == drained(engine, "SELECT a, tags FROM other") == [(1, ["x"])]
    assert len(list((tmp_path / "catalog.db.streams").iterdir())) == 2
    with cepsql.connect(spark) as engine:
        engine.sql("CREATE STREAM m (a INT)")
        engine.sql("INSERT INTO m VALUES (1)")
        assert drained(engine, "SELECT a FROM m") == [(1,)]


def source(format, options, value=None):
    return Source("s", (ColumnDefinition("a", "INT"),), format, options, value=value)


@pytest.mark.parametrize(
    "refused, message",
    [
        (source("json", (("path", "/x/*.json"),)), r"path is /x/\*\.json"),
        (source("json", (("path", "s3a://bucket/x"),)), "path is s3a"),
        (source("json", (("path", "/x"), ("multiLine", "true"))), "one JSON value"),
        (source("json", (("path", "/x"),), ValueFormat("debezium")), "debezium in json"),
        (source("rate", ()), "read as rate"),
        (source("kafka", (("subscribe", "a,b"),), ValueFormat("json")), "cannot be inserted"),
        (source("kafka", (("subscribe", "a"),), ValueFormat("avro")), "cannot be inserted"),
    ],
)
def test_sources_that_take_no_rows(refused, message):
    with pytest.raises(cepsql.NotSupportedError, match=message) as raised:
        insertion_sink(refused)
    assert raised.value.hint


def test_a_topic_takes_records():
    options = (("kafka.bootstrap.servers", "h:9092"), ("subscribe", "t"), ("startingoffsets", "earliest"))
    sink = insertion_sink(source("kafka", options, ValueFormat("json")))
    assert (sink.format, sink.options) == ("kafka", (("kafka.bootstrap.servers", "h:9092"), ("topic", "t")))
