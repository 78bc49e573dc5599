"""Which columns of a query fit a sink."""

import pyarrow as pa
import pytest

from cepsql.catalog import ColumnDefinition, Sink
from cepsql.errors import ProgrammingError
from cepsql.sinks.added_columns import fitted_columns
from cepsql.sinks.sqlite import _lines


def declared(text: str, key: str = "") -> Sink:
    columns = tuple(ColumnDefinition(*part.split(" ", 1)) for part in text.split("; "))
    return Sink("alerts", columns, "parquet", (), tuple(key.split()))


def test_columns_are_found_by_name_in_any_order():
    sink = declared("Id BIGINT; at TIMESTAMP; score DOUBLE", key="ID")
    query_columns = [("AT", "date"), ("score", "int"), ("id", "int")]
    assert fitted_columns(sink, query_columns) == [
        ("id", "Id", "BIGINT"),
        ("AT", "at", "TIMESTAMP"),
        ("score", "score", "DOUBLE"),
    ]


def test_without_declared_columns_all_are_taken():
    assert fitted_columns(Sink("s", (), "json"), [("x", "int")]) == [("x", "x", "int")]


@pytest.mark.parametrize(
    ("query_type", "wanted"),
    [
        ("tinyint", "INT"), ("int", "BIGINT"), ("bigint", "DECIMAL(20, 1)"), ("float", "DOUBLE"), ("void", "STRING"),
        ("decimal(5,2)", "DECIMAL(10, 4)"), ("date", "TIMESTAMP"), ("array<int>", "ARRAY<BIGINT>"),
        ("struct<a:int>", "STRUCT<a: INT>"), ("interval day to second", "INTERVAL DAY TO SECOND"),
    ],
)  # fmt: skip
def test_a_type_that_holds_all_values_fits(query_type, wanted):
    assert fitted_columns(declared(f"x {wanted}"), [("x", query_type)]) == [("x", "x", wanted)]


@pytest.mark.parametrize(
    ("query_type", "wanted"),
    [
        ("bigint", "INT"), ("string", "INT"), ("int", "STRING"), ("double", "FLOAT"), ("bigint", "DOUBLE"),
        ("decimal(10,2)", "DECIMAL(9, 2)"), ("decimal(10,2)", "DECIMAL(10, 3)"), ("bigint", "DECIMAL(18, 0)"),
        ("timestamp", "DATE"), ("timestamp", "TIMESTAMP_NTZ"), ("array<bigint>", "ARRAY<INT>"),
        ("struct<a:int>", "STRUCT<b: INT>"), ("boolean", "INT"),
    ],
)  # fmt: skip
def test_a_type_that_might_lose_something_does_not(query_type, wanted):
    with pytest.raises(ProgrammingError, match=r"x is .*, and sink alerts takes") as raised:
        fitted_columns(declared(f"x {wanted}"), [("x", query_type)])
    assert f"CAST(x AS {wanted}) AS x" in raised.value.hint


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([("id", "int")], "the query gives no column text for sink alerts"),
        ([("id", "int"), ("text", "string"), ("more", "int")], "sink alerts has no column more"),
    ],
)
def test_columns_are_neither_missing_nor_too_many(columns, said):
    with pytest.raises(ProgrammingError, match=said) as raised:
        fitted_columns(declared("id INT; text STRING"), columns)
    assert "alerts takes id INT, text STRING" in raised.value.hint


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ProgrammingError, match="two columns for sink s are named x"):
        fitted_columns(Sink("s", (), "json"), [("x", "int"), ("X", "int")])


def test_the_key_is_among_the_columns():
    with pytest.raises(ProgrammingError, match="the key of sink s has id, which the query does not give"):
        fitted_columns(Sink("s", (), "sqlite", (), ("id",)), [("x", "int")])


def test_sqlite_takes_dates_and_times_of_any_year():
    far, near = 1_772_442_000_000_000_000, 1_772_442_000_000_000
    rows = pa.table(
        {
            "t": pa.array([far, near], pa.timestamp("us", "UTC")),
            "n": pa.array([far, None], pa.timestamp("us")),
            "d": pa.array([2_932_897, 0], pa.int32()).cast(pa.date32()),
            "l": pa.array([[far], [near]], pa.list_(pa.timestamp("us", "UTC"))),
        }
    )
    assert _lines(rows) == [
        ("+58136-06-14 00:00:00+00:00", "+58136-06-14 00:00:00", "+10000-01-01", '["+58136-06-14T00:00:00+00:00"]'),
        ("2026-03-02 09:00:00+00:00", None, "1970-01-01", '["2026-03-02T09:00:00+00:00"]'),
    ]
