"""FORMAT avro: binary records of a topic, by Spark's package for Avro."""

import json
import struct

import pytest
from chance import everyday
from maven import fetched
from skipping import skipping

import cepsql

SCHEMA = json.dumps({
    "type": "record", "name": "tick", "fields": [
        {"name": "id", "type": "int"},
        {"name": "symbol", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "price", "type": "double"},
    ],
})  # fmt: skip
SECOND = 1_770_000_000


@pytest.fixture
def engine(spark):
    with skipping():
        (jar,) = fetched("spark-avro", {"org.apache.spark:spark-avro_2.13": "4.2.0"}, alone=True).glob("*.jar")
    session = spark.newSession()
    session.sql(f"ADD JAR '{jar}'")
    with cepsql.connect(session) as made:
        yield made


def number(value: int) -> bytes:
    """Write an int or long as Avro does: zigzag, seven bits a byte."""
    value, written = value << 1 ^ value >> 63, b""
    while value > 127:
        written, value = written + bytes([value & 127 | 128]), value >> 7
    return written + bytes([value])


def record(id: int, symbol: str | None, price: float) -> bytes:
    text = number(0) if symbol is None else number(1) + number(len(symbol.encode())) + symbol.encode()
    return number(id) + text + number((SECOND + id) * 1_000_000) + struct.pack("<d", price)


@pytest.mark.parametrize("marked", everyday([True, False]))
def test_values_are_read_and_what_does_not_fit_is_counted(engine, topics, tmp_path, marked):
    mark, topic = b"\0\0\0\0\7" if marked else b"", topics.new(1)
    prices = [3.5, 2.0, 1.5, 2.5, 4.0]
    good = [mark + record(i, None if i == 4 else "ä", price) for i, price in enumerate(prices)]
    wrong = [b"", good[0][:-3], None, *([b"\0\0\0\0\x08" + good[0][5:], good[0][5:]] if marked else [])]
    topics.put(topic, *good[:2], *wrong, *good[2:], key="k")
    options = f"schema '{SCHEMA}'" + (", schema_id '7'" if marked else "")
    engine.sql(f"""CREATE STREAM ticks (id INT, symbol STRING, price DECIMAL(4, 1), at TIMESTAMP, key STRING METADATA,
                     WATERMARK FOR at AS at)
                   USING kafka {topics.options(topic)} FORMAT avro OPTIONS ({options}) FROM EARLIEST
                   LATE ROWS INTO late USING json OPTIONS (path '{tmp_path}')""")
    output = []
    query = engine.query("""SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at
                              MEASURES A.id AS top, LAST(DOWN.price) AS low, UP.key AS key
                              PATTERN (A DOWN+ UP) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))""")
    with query.start(lambda rows, _: output.extend(rows.to_pylist()), drain=True) as standing:
        standing.await_(120)
    assert [(row["symbol"], row["top"], float(row["low"]), row["key"]) for row in output] == [("ä", 0, 1.5, "k")]
    progress = standing.progress
    assert (progress.rows_read, progress.rows_used, progress.rows_malformed) == (5 + len(wrong), 5, len(wrong))
    assert [row.reason for row in engine.sql("SELECT reason FROM late").collect()] == ["malformed"] * len(wrong)


def test_a_record_of_nulls_is_one(engine, topics):
    schema = json.dumps({"type": "record", "name": "r", "fields": [{"name": "x", "type": ["null", "long"]}]})
    topic = topics.new(1)
    topics.put(topic, number(0), number(1) + number(-5), b"", number(1), number(1) + number(2**40))
    engine.sql(f"""CREATE STREAM s (x INT) USING kafka {topics.options(topic)} FORMAT avro OPTIONS (schema '{schema}')
                   FROM EARLIEST""")
    output = []
    with engine.query("SELECT x FROM s").start(lambda rows, _: output.extend(rows.to_pylist()), drain=True) as standing:
        standing.await_(120)
    assert output == [{"x": None}, {"x": -5}]
    # Two are cut short, and one is no INT.
    assert (standing.progress.rows_read, standing.progress.rows_malformed) == (5, 3)


def test_a_schema_is_that_of_a_record(engine, topics):
    for schema, said in (("{", "no JSON"), ('"int"', "not that of a record")):
        engine.sql(f"""CREATE OR REPLACE STREAM s (x INT) USING kafka {topics.options(topics.new(1))}
                       FORMAT avro OPTIONS (schema '{schema}') FROM EARLIEST""")
        with pytest.raises(cepsql.Error, match=said):
            engine.query("SELECT x FROM s").start(lambda *_: None, drain=True)
