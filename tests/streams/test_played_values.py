"""Values of Python that `cepsql.testing.play` gives to a stream arrive as they are."""

import datetime
import decimal
import enum
import itertools

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import Row

from cepsql.errors import InterfaceError
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
    "INTERVAL DAY TO SECOND": [datetime.timedelta(1, 7384, 500_000), datetime.timedelta(microseconds=-1)],
    "ARRAY<INTERVAL DAY TO SECOND>": [[datetime.timedelta(hours=-25), None]],
}


class Colour(enum.Enum):
    RED = "red"


def test_values_arrive(spark):
    names = {f"x{number}": kind for number, kind in enumerate(VALUES)}
    columns = ", ".join(f"{name} {kind}" for name, kind in names.items())
    stream = f"CREATE STREAM s (i INT, ts TIMESTAMP, {columns}, WATERMARK FOR ts AS ts) USING csv"
    rows = [(number, MOMENT, *values) for number, values in enumerate(itertools.zip_longest(*VALUES.values()))]
    played = play(f"{stream}; SELECT i, {', '.join(names)} FROM s ORDER BY ts, i", [rows], spark=spark)
    came = [row for batch in played for row in batch]
    for name, kind in names.items():
        arrived = [_plain(row[name]) for row in came]
        assert arrived[: len(VALUES[kind])] == [_plain(value) for value in VALUES[kind]], kind


def test_what_is_no_value_of_a_column_is_malformed_beside_bytes(spark):
    stream = """CREATE STREAM s (ts TIMESTAMP, b BINARY, n INT, WATERMARK FOR ts AS ts) USING csv
        LATE ROWS INTO wrong USING json OPTIONS (path 'x')"""
    played = play(f"{stream}; SELECT n FROM s", [[(MOMENT, b"ab", "many"), (MOMENT, "ab", 2)]], spark=spark)
    assert [row.n for batch in played for row in batch] == [2]
    assert [row.record.split(",")[1:] for row in played.late["wrong"]] == [["ab", "many"]]


@pytest.mark.parametrize(
    ("kind", "value", "arrives"),
    [
        ("STRUCT<a: INT, B: STRUCT<c: STRING>>", (1, ("x",)), {"a": 1, "B": {"c": "x"}}),
        ("ARRAY<STRUCT<a: INT>>", [(1,), {"a": 2}, None], [{"a": 1}, {"a": 2}, None]),
        ("MAP<STRING, STRUCT<a: INT>>", {"k": (1,)}, {"k": {"a": 1}}),
        ("ARRAY<INT>", np.array([1, 2]), [1, 2]),
    ],
)
def test_what_has_parts_arrives_by_their_order(spark, kind, value, arrives):
    stream = f"CREATE STREAM s (ts TIMESTAMP, x {kind}, WATERMARK FOR ts AS ts) USING csv"
    (row,) = (row for rows in play(f"{stream}; SELECT x FROM s", [[(MOMENT, value)]], spark=spark) for row in rows)
    assert row.x == arrives


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(MOMENT, Colour.RED)], "a value of x STRING cannot be a Colour"),
        ([(MOMENT, {1})], "a value of x STRING cannot be a set"),
        ([(MOMENT, b"a")], "a value of x STRING cannot be a bytes"),
        ([(MOMENT,)], "a row of s has 2 values: ts, x"),
        (["ts"], "a row of s is a sequence or a mapping of values, not 'ts'"),
        (pd.DataFrame({"ts": [MOMENT], "x": ["a"]}), "the rows of s are a list, not a DataFrame"),
    ],
)
def test_what_is_no_row_is_refused(spark, rows, message):
    stream = "CREATE STREAM s (ts TIMESTAMP, x STRING, WATERMARK FOR ts AS ts) USING csv"
    with pytest.raises(InterfaceError) as raised:
        play(f"{stream}; SELECT x FROM s", [rows], spark=spark)
    assert raised.value.message == message


def _plain(value):
    if isinstance(value, Row):
        value = value.asDict(recursive=True)
    return list(value) if isinstance(value, tuple) else value
