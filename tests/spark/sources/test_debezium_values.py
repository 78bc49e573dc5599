"""Decimals, dates, times and bytes of Debezium are read as what they are, in each mode in which it writes them."""

import base64
import json

import pytest
from chance import everyday

from cepsql.catalog import ColumnDefinition, Source, ValueFormat
from cepsql.spark.sources.record_values import decoded

# 2026-03-29T00:30:00.123456Z, in the session of New York the evening before.
MICROS = 1_774_744_200_123_456
AT, LOCAL = "2026-03-28 20:30:00.123456", "2026-03-29 00:30:00.123456"
DAYS = 20541


def rows_of(spark, columns, options, *changes, shown="CAST({} AS STRING)"):
    """Return the values of changes as text, with whether they are malformed."""
    columns = [("id", "BIGINT"), *columns]
    defined = tuple(ColumnDefinition(name, kind) for name, kind in columns)
    source = Source("s", defined, "kafka", value=ValueFormat("debezium", tuple(options.items())), key=("id",))
    values = [(json.dumps(change),) for change in changes]
    records = spark.createDataFrame(values, "value STRING").selectExpr("CAST(value AS BINARY) AS value")
    texts = [shown.format(name) for name, _ in columns[1:]]
    rows = decoded(source, records, "malformed", "text").selectExpr(*texts, "malformed").collect()
    return [(*row[:-1], row.malformed) if not row.malformed else None for row in rows]


def change(**row):
    return {"op": "c", "before": None, "after": {"id": 1, **row}, "ts_ms": 0}


def with_schema(fields, **row):
    described = [{"field": name, "type": "any", **field} for name, field in fields.items()]
    envelope = [{"field": "before", "fields": described}, {"field": "after", "fields": described}, {"field": "op"}]
    return {"schema": {"type": "struct", "fields": envelope}, "payload": change(**row)}


def coded(unscaled):
    size = (unscaled.bit_length() + 8) // 8
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def test_precise_decimals(spark):
    numbers = [
        "0.00",
        "1.50",
        "-1.50",
        "0.01",
        "-0.01",
        "1.27",
        "1.28",
        "-1.28",
        "-1.29",
        "92233720368547758.08",
        "-92233720368547758.09",
        "123456789012345678901234567890123456.78",
        "-123456789012345678901234567890123456.78",
    ]
    described = {"x": {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}}
    changes = []
    for text in (coded(int(number.replace(".", ""))) for number in numbers):
        changes += [change(x=text), change(x={"scale": 2, "value": text}), with_schema(described, x=text)]
    rows = rows_of(spark, [("x", "DECIMAL(38,2)")], {"decimal.handling.mode": "precise"}, *changes)
    assert rows == [(number, False) for number in numbers for _ in range(3)]


def test_scales_of_precise_decimals(spark):
    decimal = {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "4"}}
    rows = rows_of(
        spark,
        [("x", "NUMERIC(10,2)")],
        {"Decimal.Handling.Mode": "precise"},
        with_schema({"x": decimal}, x=coded(15000)),
        change(x={"scale": -2, "value": coded(15)}),
        change(x={"scale": 0, "value": coded(15)}),
        change(x=None),
        change(x="1.5"),
        change(x=""),
        change(x=coded(10**12)),
        change(x=coded(2**200)),
    )
    assert rows == [("1.50", False), ("1500.00", False), ("15.00", False), (None, False), None, None, None, None]


@pytest.mark.parametrize(("mode", "value"), [("string", "-1.50"), ("double", -1.5)])
def test_decimals_as_text_and_number(spark, mode, value):
    rows = rows_of(spark, [("x", "DECIMAL(10,2)")], {"decimal.handling.mode": mode}, change(x=value), change(x="a"))
    assert rows == [("-1.50", False), None]


BYTES = bytes([0, 62, 255, 251, 240, 127, 128])


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("bytes", base64.b64encode(BYTES)),
        ("base64", base64.b64encode(BYTES)),
        ("base64-url-safe", base64.urlsafe_b64encode(BYTES)),
        ("hex", BYTES.hex().encode()),
    ],
)
def test_bytes(spark, mode, text):
    changes = [change(x=text.decode()), change(x=""), change(x=None), change(x="!")]
    rows = rows_of(spark, [("x", "BINARY")], {"binary.handling.mode": mode}, *changes, shown="hex({})")
    assert rows == [(BYTES.hex().upper(), False), ("", False), (None, False), None]


TYPES = [("at", "TIMESTAMP"), ("local", "TIMESTAMP_NTZ"), ("day", "DATE")]
VALUES = [
    ({"time.precision.mode": "adaptive"}, MICROS, DAYS, 6),
    ({"time.precision.mode": "adaptive", "timestamp.precision": "3"}, MICROS // 1000, DAYS, 3),
    ({"time.precision.mode": "adaptive_time_microseconds", "timestamp.precision": "9"}, MICROS * 1000 + 999, DAYS, 6),
    ({"time.precision.mode": "connect"}, MICROS // 1000, DAYS, 3),
    ({"time.precision.mode": "microseconds"}, MICROS, DAYS, 6),
    ({"time.precision.mode": "nanoseconds"}, MICROS * 1000 + 1, DAYS, 6),
    ({"time.precision.mode": "isostring"}, "2026-03-29T00:30:00.123456Z", "2026-03-29Z", 6),
]


@pytest.mark.parametrize(("options", "time", "day", "digits"), everyday(VALUES, 3))
def test_times(spark, options, time, day, digits):
    # A column with a zone is ISO text in every mode.
    zoned = "2026-03-29T02:30:00.123456+02:00"
    rows = rows_of(
        spark,
        TYPES,
        options,
        change(at=time, local=time, day=day),
        change(at=zoned),
        change(at="soon"),
        change(day="x"),
    )
    cut = len("2026-03-29 00:30:00.") + digits
    assert rows == [(AT[:cut], LOCAL[:cut], "2026-03-29", False), (AT, None, None, False), None, None]


def test_a_schema_tells_the_unit(spark):
    fields = {
        "at": {"name": "io.debezium.time.Timestamp"},
        "local": {"name": "io.debezium.time.NanoTimestamp"},
        "day": {"name": "io.debezium.time.Date"},
    }
    row = {"at": MICROS // 1000, "local": MICROS * 1000, "day": DAYS}
    (values,) = rows_of(spark, TYPES, {"time.precision.mode": "adaptive"}, with_schema(fields, **row))
    assert values == (AT[:-3], LOCAL, "2026-03-29", False)


def test_times_before_1970_and_beyond_all_times(spark):
    rows = rows_of(
        spark, [("at", "TIMESTAMP_NTZ")], {"time.precision.mode": "nanoseconds"}, change(at=-1), change(at=2**64)
    )
    assert rows == [("1969-12-31 23:59:59.999999", False), None]
    (most,) = rows_of(spark, [("at", "TIMESTAMP")], {"time.precision.mode": "connect"}, change(at=2**63 - 1))
    assert most is None
