"""Files of rejected rows: columns, values that Python or JSON cannot hold, replacement of a file."""

import json
import os
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepsql.ordered.late_file import Unmarked, late_rows, mark_folder, write_file
from cepsql.ordered.row_layout import END_OF_TIME

ROW = {
    "record": "a,b",
    "at": 10**15,
    "day": 1,
    "price": Decimal("1.50"),
    "raw": b"\x00\xff",
    "parts": [{"x": 0, "y": None}, None],
    "tags": [("k", 1)],
    "none": [],
    "big": float("inf"),
}
TYPE = pa.struct(
    {
        "record": pa.string(),
        "at": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "price": pa.decimal128(8, 2),
        "raw": pa.binary(),
        "parts": pa.list_(pa.struct({"x": pa.timestamp("us"), "y": pa.int8()})),
        "tags": pa.map_(pa.string(), pa.decimal128(4, 1)),
        "none": pa.map_(pa.string(), pa.int32()),
        "big": pa.float64(),
    }
)
REJECTED = pa.table(
    {
        "reason": ["late", "malformed", "late"],
        "watermark": pa.array([7, None, END_OF_TIME]),
        "whole": pa.array([ROW, dict.fromkeys(ROW), ROW], TYPE),
    }
)


@pytest.fixture
def rows() -> pa.Table:
    return late_rows(REJECTED, "q", 3)


def test_columns(rows):
    assert rows.column_names[:7] == ["reason", "watermark", "record", "query", "batch", "at", "day"]
    assert rows["watermark"].cast(pa.int64()).to_pylist() == [7, None, 253402300799999999]
    assert rows.select(["record", "query", "batch"]).to_pylist()[1] == {"record": None, "query": "q", "batch": 3}


def test_json_is_what_spark_reads(rows, tmp_path):
    mark_folder(tmp_path / "new", "q")
    write_file(rows, tmp_path / "new", "a.json", "json", "q")
    first, second, third = map(json.loads, (tmp_path / "new" / "a.json").read_text().splitlines())
    assert first == {
        "reason": "late", "watermark": "1970-01-01 00:00:00.000007Z", "record": "a,b", "query": "q", "batch": 3,
        "at": "2001-09-09 01:46:40.000000Z", "day": "1970-01-02", "price": "1.50", "raw": "AP8=",
        "parts": [{"x": "1970-01-01 00:00:00.000000", "y": None}, None], "tags": {"k": "1.0"}, "none": {},
        "big": float("inf"),
    }  # fmt: skip
    assert set(second) == set(first) and second["tags"] is None
    assert third["watermark"] == "9999-12-31 23:59:59.999999Z"


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_a_file_is_replaced_as_a_whole(rows, tmp_path, format, monkeypatch):
    path = tmp_path / f"a.{format}"
    mark_folder(tmp_path, "q")
    write_file(rows, tmp_path, path.name, format, "q")
    before = path.read_bytes()
    write_file(rows, tmp_path, path.name, format, "q")
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space"):
        write_file(rows.slice(1), tmp_path, path.name, format, "q")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [path.name]
    if format == "parquet":
        assert pq.read_table(path).num_rows == 3


def test_a_folder_without_the_mark_takes_nothing(rows, tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(Unmarked):
            write_file(rows, folder, "a.json", "json", "q")
    mark_folder(tmp_path, "another")
    with pytest.raises(Unmarked):
        write_file(rows, tmp_path, "a.json", "json", "q")
    assert [file.name for file in tmp_path.iterdir()] == ["_cepsql"]


def test_json_has_times_of_any_year(tmp_path):
    # Milliseconds that were taken for seconds are what AHEAD AT MOST sets aside.
    whole = pa.struct({"record": pa.string(), "at": pa.timestamp("us", "UTC"), "day": pa.date32()})
    far = pa.array([{"record": None, "at": 1_772_442_000_000_000_000, "day": 20_513_674}], whole)
    rejected = pa.table({"reason": ["ahead"], "watermark": pa.array([7]), "whole": far})
    mark_folder(tmp_path, "q")
    write_file(late_rows(rejected, "q", 3), tmp_path, "a.json", "json", "q")
    fields = json.loads((tmp_path / "a.json").read_text())
    assert (fields["at"], fields["day"]) == ("+58136-06-14 00:00:00Z", "+58134-07-14")
