"""Write the files of `parquet_files`: what other libraries make of each type, two rows each, the second one NULL.

Run it with their packages where one of them writes otherwise: pip install polars duckdb pandas pyarrow
"""

import datetime as dt
import sys
import uuid
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).with_name("parquet_files")
AT = dt.datetime(2026, 3, 29, 2, 30, 0, 123456)
ZONED = AT.replace(tzinfo=dt.UTC)
DAY, CLOCK = AT.date(), dt.time(2, 30, 0, 123456)
SPAN = dt.timedelta(days=1, microseconds=5)
ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def _pandas() -> None:
    first = {
        "ts_ns": pd.Series([AT, None], dtype="datetime64[ns]"),
        "ts_us": pd.Series([AT, None], dtype="datetime64[us]"),
        "ts_ms": pd.Series([AT, None], dtype="datetime64[ms]"),
        "ts_s": pd.Series([AT, None], dtype="datetime64[s]"),
        "zoned_ns": pd.Series([ZONED, None], dtype="datetime64[ns, Europe/Berlin]"),
        "day": pd.Series([DAY, None], dtype=object),
        "clock": pd.Series([CLOCK, None], dtype=object),
        "span": pd.Series([SPAN, None], dtype="timedelta64[ns]"),
        "category": pd.Series(["a", None], dtype="category"),
        "text": pd.Series(["a", None], dtype=object),
        "string": pd.Series(["a", None], dtype="string"),
        "whole": pd.Series([1, None], dtype="Int64"),
        "whole_as_float": pd.Series([1, None]),
        "small_unsigned": pd.Series([200, None], dtype="UInt8"),
        "unsigned": pd.Series([2**63, None], dtype="UInt64"),
        "half": pd.Series([1.5, np.nan], dtype="float16"),
        "flag": pd.Series([True, None], dtype="boolean"),
        "amount": pd.Series([Decimal("1.50"), None], dtype=object),
        "bytes": pd.Series([b"\x00\xff", None], dtype=object),
        "list": pd.Series([[1, 2], None], dtype=object),
        "struct": pd.Series([{"a": 1, "b": "x"}, None], dtype=object),
        "nothing": pd.Series([None, None], dtype=object),
        "id": pd.Series([ID, None], dtype=object).astype("string"),
    }
    pd.DataFrame(first).to_parquet(FOLDER / "pandas.parquet")


def _pyarrow() -> None:
    zone = "Europe/Berlin"
    columns = {
        "ts_ns": pa.array([AT, None], pa.timestamp("ns")),
        "ts_us": pa.array([AT, None], pa.timestamp("us")),
        "ts_ms": pa.array([AT.replace(microsecond=0), None], pa.timestamp("ms")),
        "ts_s": pa.array([AT.replace(microsecond=0), None], pa.timestamp("s")),
        "zoned_ns": pa.array([ZONED, None], pa.timestamp("ns", zone)),
        "zoned_us": pa.array([ZONED, None], pa.timestamp("us", zone)),
        "day": pa.array([DAY, None], pa.date32()),
        "day64": pa.array([DAY, None], pa.date64()),
        "clock": pa.array([CLOCK, None], pa.time64("us")),
        "clock_ns": pa.array([CLOCK, None], pa.time64("ns")),
        "clock_ms": pa.array([CLOCK.replace(microsecond=0), None], pa.time32("ms")),
        "span": pa.array([SPAN, None], pa.duration("us")),
        "span_ns": pa.array([SPAN, None], pa.duration("ns")),
        "dictionary": pa.array(["a", None]).dictionary_encode(),
        "large_string": pa.array(["a", None], pa.large_string()),
        "string_view": pa.array(["a", None], pa.string_view()),
        "large_binary": pa.array([b"\x00\xff", None], pa.large_binary()),
        "fixed_binary": pa.array([b"\x00\xff", None], pa.binary(2)),
        "uint8": pa.array([200, None], pa.uint8()),
        "uint16": pa.array([60000, None], pa.uint16()),
        "uint32": pa.array([4_000_000_000, None], pa.uint32()),
        "uint64": pa.array([2**63, None], pa.uint64()),
        "int8": pa.array([-1, None], pa.int8()),
        "int64": pa.array([1, None], pa.int64()),
        "half": pa.array([np.float16(1.5), None], pa.float16()),
        "float": pa.array([1.5, None], pa.float32()),
        "decimal": pa.array([Decimal("1.50"), None], pa.decimal128(20, 2)),
        "decimal256": pa.array([Decimal("1.50"), None], pa.decimal256(20, 2)),
        "small_decimal": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([ID.bytes, None], pa.binary(16))),
        "list_ns": pa.array([[AT], None], pa.list_(pa.timestamp("ns"))),
        "large_list": pa.array([[1], None], pa.large_list(pa.int32())),
        "struct_ns": pa.array([{"at": AT}, None], pa.struct([("at", pa.timestamp("ns"))])),
        "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "nothing": pa.nulls(2),
    }
    table = pa.table(columns)
    pq.write_table(table, FOLDER / "pyarrow.parquet")
    pq.write_table(table, FOLDER / "pyarrow_without_schema.parquet", store_schema=False)
    times = table.select(["ts_ns", "ts_us", "zoned_ns"])
    pq.write_table(times, FOLDER / "pyarrow_int96.parquet", use_deprecated_int96_timestamps=True)


def _polars() -> None:
    zone = "Europe/Berlin"
    frame = pl.DataFrame(
        [
            pl.Series("ts_ns", [AT, None], pl.Datetime("ns")),
            pl.Series("ts_us", [AT, None], pl.Datetime("us")),
            pl.Series("ts_ms", [AT, None], pl.Datetime("ms")),
            pl.Series("zoned_ns", [ZONED, None], pl.Datetime("ns", "UTC")).dt.convert_time_zone(zone),
            pl.Series("zoned_us", [ZONED, None], pl.Datetime("us", "UTC")).dt.convert_time_zone(zone),
            pl.Series("day", [DAY, None], pl.Date),
            pl.Series("clock", [CLOCK, None], pl.Time),
            pl.Series("span", [SPAN, None], pl.Duration("us")),
            pl.Series("category", ["a", None], pl.Categorical),
            pl.Series("enum", ["a", None], pl.Enum(["a", "b"])),
            pl.Series("text", ["a", None], pl.String),
            pl.Series("bytes", [b"\x00\xff", None], pl.Binary),
            pl.Series("uint8", [200, None], pl.UInt8),
            pl.Series("uint16", [60000, None], pl.UInt16),
            pl.Series("uint32", [4_000_000_000, None], pl.UInt32),
            pl.Series("uint64", [2**63, None], pl.UInt64),
            pl.Series("int8", [-1, None], pl.Int8),
            pl.Series("int64", [1, None], pl.Int64),
            pl.Series("decimal", [Decimal("1.50"), None], pl.Decimal(20, 2)),
            pl.Series("flag", [True, None], pl.Boolean),
            pl.Series("list", [[1], None], pl.List(pl.Int64)),
            pl.Series("array", [[1, 2], None], pl.Array(pl.Int64, 2)),
            pl.Series("struct", [{"at": AT}, None], pl.Struct({"at": pl.Datetime("ns")})),
            pl.Series("nothing", [None, None], pl.Null),
        ]
    )
    frame.write_parquet(FOLDER / "polars.parquet")


def _duckdb() -> None:
    columns = {
        "ts": f"TIMESTAMP '{AT}'",
        "ts_ns": f"TIMESTAMP_NS '{AT}'",
        "ts_ms": f"TIMESTAMP_MS '{AT}'",
        "ts_s": f"TIMESTAMP_S '{AT}'",
        "zoned": f"TIMESTAMPTZ '{AT}+00'",
        "day": f"DATE '{DAY}'",
        "clock": f"TIME '{CLOCK}'",
        "clock_zoned": f"TIMETZ '{CLOCK}+02'",
        "span": "INTERVAL '1 month 2 days 3 seconds'",
        "days": "INTERVAL '2 days 3 seconds'",
        "id": f"UUID '{ID}'",
        "enum": "CAST('a' AS ENUM ('a', 'b'))",
        "text": "'a'",
        "bytes": r"'\x00\xff'::BLOB",
        "uint8": "200::UTINYINT",
        "uint16": "60000::USMALLINT",
        "uint32": "4000000000::UINTEGER",
        "uint64": "9223372036854775808::UBIGINT",
        "int8": "(-1)::TINYINT",
        "int64": "1::BIGINT",
        "int128": "1::HUGEINT",
        "decimal": "1.50::DECIMAL(20, 2)",
        "small_decimal": "1.50::DECIMAL(5, 2)",
        "flag": "true",
        "list": "[1, 2]",
        "struct": "{'a': 1, 'b': 'x'}",
        "map": "MAP {'a': 1}",
        "json": "'{\"a\": 1}'::JSON",
        "bits": "'101'::BIT",
    }
    row = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    nulls = ", ".join("NULL" for _ in columns)
    rows = f"SELECT {row} UNION ALL SELECT {nulls} ORDER BY ts NULLS LAST"
    duckdb.sql(f"COPY ({rows}) TO '{FOLDER / 'duckdb.parquet'}' (FORMAT parquet)")


def _main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for write in (_pandas, _pyarrow, _polars, _duckdb):
        write()
    for path in sorted(FOLDER.glob("*.parquet")):
        print(path.name, path.stat().st_size, file=sys.stderr)


if __name__ == "__main__":
    _main()
