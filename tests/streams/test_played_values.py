"""Values of Python that `cepsql.testing.play` gives to a stream arrive as they are."""

import datetime
import decimal

import pytest
from pyspark.sql import Row

from cepsql.testing import play

MOMENT = datetime.datetime(2026, 1, 5, 10, 0, 0, 250_000)
VALUES = {
    "BINARY": [b"", b"\x00\xff", bytearray(b"a"), None],
    "STRING": ["", "b'a'", None],
    "DECIMAL(10, 2)": [decimal.Decimal("1.50")],
    "DOUBLE": [1.5, float("inf")],
    "DATE": [MOMENT.date()],
    "TIMESTAMP": [MOMENT],
    "ARRAY<TIMESTAMP>": [[MOMENT, None], ()],
    "ARRAY<DECIMAL(10, 2)>": [[decimal.Decimal("1.50")]],
    "ARRAY<BINARY>": [[b"\x00\xff"]],
    "MAP<STRING, DATE>": [{"a": MOMENT.date()}],
    "STRUCT<a: INT, b: STRUCT<c: DATE>>": [Row(a=1, b=Row(c=MOMENT.date())), {"a": None, "b": None}],
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_arrive(spark, kind):
    stream = f"CREATE STREAM s (i INT, ts TIMESTAMP, x {kind}, WATERMARK FOR ts AS ts) USING csv"
    rows = [(number, MOMENT, value) for number, value in enumerate(VALUES[kind])]
    came = [row.x for batch in play(f"{stream}; SELECT i, x FROM s", [rows], spark=spark) for row in batch]
    assert [_plain(value) for value in came] == [_plain(value) for value in VALUES[kind]]


def test_what_is_no_value_of_a_column_is_malformed_beside_bytes(spark):
    stream = """CREATE STREAM s (ts TIMESTAMP, b BINARY, n INT, WATERMARK FOR ts AS ts) USING csv
        LATE ROWS INTO wrong USING json OPTIONS (path 'x')"""
    played = play(f"{stream}; SELECT n FROM s", [[(MOMENT, b"ab", "many"), (MOMENT, "ab", 2)]], spark=spark)
    assert [row.n for batch in played for row in batch] == [2]
    assert [row.record.split(",")[1:] for row in played.late["wrong"]] == [["ab", "many"]]


def _plain(value):
    if isinstance(value, Row):
        value = value.asDict(recursive=True)
    return list(value) if isinstance(value, tuple) else value
