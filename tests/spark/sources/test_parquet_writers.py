"""What pandas, pyarrow, Polars, DuckDB and Spark write of each type is read as it is declared, as table and as stream.

The files are written by `tests/readers/write_parquet_files.py`. Each has a row of values and one of NULLs.
"""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chance import rest_by_night

from cepsql import connect
from cepsql.errors import Error

FILES = Path(__file__).parents[2] / "readers" / "parquet_files"
# The session is in New York, of which a time without zone knows nothing: it is the one of UTC, as Spark reads it.
AT, LOCAL, MIDNIGHT = "2026-03-28 22:30:00.123456", "2026-03-29 02:30:00.123456", "2026-03-29 00:00:00"
MILLIS, SECONDS = AT[:-3], AT[:-7]
CLOCK, ID = "02:30:00.123456", "00112233-4455-6677-8899-aabbccddeeff"
SPAN = "INTERVAL '1 00:00:00.000005' DAY TO SECOND"
DAYS = "INTERVAL '2 00:00:03' DAY TO SECOND"

COMMON = {
    "ts_ns": [("TIMESTAMP", AT), ("TIMESTAMP_NTZ", LOCAL), ("BIGINT", "1774751400123456000")],
    "ts_ms": [("TIMESTAMP", MILLIS)],
    "day": [("DATE", "2026-03-29"), ("TIMESTAMP", MIDNIGHT), ("TIMESTAMP_NTZ", MIDNIGHT)],
    "clock": [("STRING", CLOCK), ("INTERVAL DAY TO SECOND", "INTERVAL '0 02:30:00.123456' DAY TO SECOND")],
}
NUMBERS = {
    "uint8": [("SMALLINT", "200"), ("INT", "200"), ("DECIMAL(5,2)", "200.00"), ("DOUBLE", "200.0"), ("TINYINT", None)],
    "uint16": [("INT", "60000"), ("BIGINT", "60000"), ("DOUBLE", "60000.0"), ("SMALLINT", None)],
    "uint32": [("BIGINT", "4000000000"), ("DOUBLE", "4.0E9"), ("DECIMAL(12,0)", "4000000000"), ("INT", None)],
    "uint64": [("DECIMAL(20,0)", "9223372036854775808"), ("BIGINT", None)],
    "int8": [("TINYINT", "-1"), ("BIGINT", "-1"), ("DOUBLE", "-1.0"), ("STRING", "-1")],
    "int64": [("BIGINT", "1"), ("INT", "1"), ("DOUBLE", "1.0"), ("DECIMAL(5,1)", "1.0"), ("STRING", "1")],
    "decimal": [("DECIMAL(20,2)", "1.50"), ("DECIMAL(4,1)", "1.5"), ("DOUBLE", "1.5"), ("BIGINT", None)],
}
EXPECTED = {
    "pandas": COMMON | {
        "ts_us": [("TIMESTAMP", AT), ("TIMESTAMP_NTZ", LOCAL)],
        "ts_ms": [("TIMESTAMP", MILLIS)],
        "ts_s": [("TIMESTAMP", SECONDS)],
        "zoned_ns": [("TIMESTAMP", AT)],
        "span": [("INTERVAL DAY TO SECOND", SPAN), ("BIGINT", "86400000005000")],
        "category": [("STRING", "a")],
        "text": [("STRING", "a"), ("TIMESTAMP", None)],
        "string": [("STRING", "a")],
        "whole": [("BIGINT", "1"), ("INT", "1"), ("DOUBLE", "1.0")],
        "whole_as_float": [("DOUBLE", "1.0"), ("BIGINT", "1")],
        "small_unsigned": [("INT", "200"), ("TINYINT", None)],
        "unsigned": [("DECIMAL(20,0)", "9223372036854775808")],
        "half": [("FLOAT", "1.5"), ("DOUBLE", "1.5")],
        "flag": [("BOOLEAN", "true"), ("STRING", "true")],
        "amount": [("DECIMAL(10,2)", "1.50"), ("DOUBLE", "1.5")],
        "list": [("ARRAY<BIGINT>", "[1, 2]"), ("ARRAY<INT>", "[1, 2]")],
        "struct": [("STRUCT<a: BIGINT, b: STRING>", "{1, x}")],
        "nothing": [("STRING", None), ("TIMESTAMP", None)],
        "id": [("STRING", ID)],
    },
    "pyarrow": COMMON | NUMBERS | {
        "ts_us": [("TIMESTAMP", AT)],
        "ts_ms": [("TIMESTAMP", SECONDS)],
        "zoned_ns": [("TIMESTAMP", AT)],
        "zoned_us": [("TIMESTAMP", AT)],
        "day64": [("DATE", "2026-03-29"), ("TIMESTAMP", MIDNIGHT)],
        "clock_ns": [("STRING", CLOCK)],
        "clock_ms": [("STRING", "02:30:00")],
        "span": [("INTERVAL DAY TO SECOND", SPAN)],
        "span_ns": [("INTERVAL DAY TO SECOND", SPAN)],
        "dictionary": [("STRING", "a")],
        "large_string": [("STRING", "a")],
        "string_view": [("STRING", "a")],
        "half": [("FLOAT", "1.5"), ("DOUBLE", "1.5")],
        "float": [("FLOAT", "1.5"), ("DOUBLE", "1.5")],
        "decimal256": [("DECIMAL(20,2)", "1.50")],
        "uuid": [("STRING", ID)],
        "list_ns": [("ARRAY<TIMESTAMP>", f"[{AT}]")],
        "large_list": [("ARRAY<INT>", "[1]")],
        "struct_ns": [("STRUCT<at: TIMESTAMP>", f"{{{AT}}}")],
        "map": [("MAP<STRING, BIGINT>", "{a -> 1}"), ("MAP<STRING, INT>", "{a -> 1}")],
        "nothing": [("BIGINT", None)],
    },
    "pyarrow_int96": {"ts_ns": [("TIMESTAMP", AT)], "zoned_ns": [("TIMESTAMP", AT)]},
    "pyarrow_without_schema": COMMON | NUMBERS | {"ts_ms": [("TIMESTAMP", SECONDS)], "uuid": [("STRING", ID)]},
    "polars": COMMON | NUMBERS | {
        "ts_us": [("TIMESTAMP", AT)],
        "zoned_ns": [("TIMESTAMP", AT)],
        "zoned_us": [("TIMESTAMP", AT)],
        "span": [("INTERVAL DAY TO SECOND", SPAN)],
        "category": [("STRING", "a")],
        "enum": [("STRING", "a")],
        "text": [("STRING", "a")],
        "flag": [("BOOLEAN", "true")],
        "list": [("ARRAY<BIGINT>", "[1]")],
        "array": [("ARRAY<BIGINT>", "[1, 2]")],
        "struct": [("STRUCT<at: TIMESTAMP>", f"{{{AT}}}")],
        "nothing": [("STRING", None)],
    },
    "duckdb": COMMON | NUMBERS | {
        "ts": [("TIMESTAMP", AT)],
        "ts_s": [("TIMESTAMP", SECONDS)],
        "zoned": [("TIMESTAMP", AT)],
        "clock_zoned": [("STRING", "00:30:00.123456")],
        "days": [("INTERVAL DAY TO SECOND", DAYS)],
        "span": [("INTERVAL DAY TO SECOND", None)],
        "id": [("STRING", ID)],
        "enum": [("STRING", "a")],
        "int128": [("DOUBLE", "1.0"), ("BIGINT", "1")],
        "small_decimal": [("DECIMAL(5,2)", "1.50"), ("DOUBLE", "1.5")],
        "list": [("ARRAY<INT>", "[1, 2]")],
        "struct": [("STRUCT<a: INT, b: STRING>", "{1, x}")],
        "map": [("MAP<STRING, INT>", "{a -> 1}")],
        "json": [("STRING", '{"a": 1}')],
        "bits": [("STRING", "101")],
    },
}  # fmt: skip
EXPECTED["spark"] = {
    "zoned": [("TIMESTAMP", AT)],
    "ts": [("TIMESTAMP_NTZ", LOCAL), ("TIMESTAMP", AT)],
    "day": COMMON["day"],
    "span": [("INTERVAL DAY TO SECOND", SPAN), ("BIGINT", "86400000005")],
    "int8": [("TINYINT", "-1"), ("BIGINT", "-1")],
    "decimal": NUMBERS["decimal"],
    "float": [("FLOAT", "1.5"), ("DOUBLE", "1.5")],
    "flag": [("BOOLEAN", "true")],
    "text": [("STRING", "a")],
    "list": [("ARRAY<INT>", "[1, 2]")],
    "struct": [("STRUCT<a: INT, b: STRING>", "{1, x}")],
    "map": [("MAP<STRING, INT>", "{a -> 1}")],
}
SPARKS = f"""
    TIMESTAMP '{AT}' AS zoned, TIMESTAMP_NTZ '{LOCAL}' AS ts, DATE '2026-03-29' AS day, {SPAN} AS span,
    CAST(-1 AS TINYINT) AS int8, CAST(1.5 AS DECIMAL(20, 2)) AS decimal, CAST(1.5 AS FLOAT) AS float, true AS flag,
    'a' AS text, array(1, 2) AS list, struct(1 AS a, 'x' AS b) AS struct, map('a', 1) AS map
"""
ALL_NULL = {"nothing"}
# What a type is in the files of each writer, by the column that has it.
WRITERS = ("pandas", "pyarrow", "polars", "duckdb", "spark")
WRITTEN = {
    "time without zone": ("ts_ns", "ts_us", "ts_us", "ts", "ts"),
    "time in seconds": ("ts_s", "ts_s", None, "ts_s", None),
    "time with zone": ("zoned_ns", "zoned_us", "zoned_us", "zoned", "zoned"),
    "date": ("day", "day", "day", "day", "day"),
    "time of day": ("clock", "clock", "clock", "clock", None),
    "duration": ("span", "span", "span", "span", "span"),
    "category, enum": ("category", "dictionary", "enum", "enum", None),
    "unsigned integer of 64 bits": ("unsigned", "uint64", "uint64", "uint64", None),
    "half": ("half", "half", None, None, None),
    "decimal": ("amount", "decimal", "decimal", "decimal", "decimal"),
    "UUID": (None, "uuid", None, "id", None),
    "NULL only": ("nothing", "nothing", "nothing", None, None),
}


@pytest.fixture
def engine(spark):
    with connect(spark) as connected:
        yield connected


def drained(engine, query):
    rows = []
    engine.query(query).start(lambda batch, _: rows.extend(batch.to_pylist()), drain=True).await_()
    return rows


@pytest.fixture(scope="module")
def files(spark, tmp_path_factory):
    """Return the file of a writer: Spark's is written by this one."""
    made = tmp_path_factory.mktemp("written")
    nulls = spark.sql(f"SELECT {SPARKS}")
    rows = nulls.unionAll(nulls.selectExpr(*(f"nullif({name}, {name}) AS {name}" if name != "map" else
                                             "if(true, NULL, map) AS map" for name in nulls.columns)))  # fmt: skip
    rows.coalesce(1).write.parquet(str(made / "spark"))
    (part,) = (made / "spark").glob("*.parquet")
    part.rename(made / "spark.parquet")
    return lambda writer: (made if writer == "spark" else FILES) / f"{writer}.parquet"


def described(column) -> str:
    """Return the type of a column of a file, in the words of the documentation."""
    kind = column.logical_type
    said = json.loads(kind.to_json())
    match said["Type"]:
        case "Timestamp":
            return said["timeUnit"] + (", UTC" if said["isAdjustedToUTC"] else "")
        case "Time":
            return f"time in {said['timeUnit']}"
        case "Int":
            return f"{'' if said['isSigned'] else 'U'}INT{said['bitWidth']}"
        case "None":
            return column.physical_type
        case name:
            return name.upper()


def test_the_documentation_tells_what_each_writes(files):
    columns = {}
    for writer in WRITERS:
        schema = pq.ParquetFile(files(writer)).schema
        columns[writer] = {schema.column(i).path: schema.column(i) for i in range(len(schema))}
    table = [
        f"| {kind} | {' | '.join('' if name is None else described(columns[writer][name]) for writer, name in rest)} |"
        for kind, names in WRITTEN.items()
        for rest in [list(zip(WRITERS, names, strict=True))]
    ]
    page = (Path(__file__).parents[3] / "docs" / "streams.md").read_text()
    assert "\n".join(table).replace("  ", " ") in page.replace("  ", " "), "\n".join(table)


@pytest.mark.parametrize("writer", rest_by_night([pytest.param(name, id=name) for name in EXPECTED], 6))
def test_types(engine, writer, files):
    for number in range(max(map(len, EXPECTED[writer].values()))):
        columns = {name: kinds[number] for name, kinds in EXPECTED[writer].items() if number < len(kinds)}
        # A row with one value that does not fit is malformed, so such columns stand alone.
        single = {name: kind for name, kind in columns.items() if kind[1] is None and name not in ALL_NULL}
        whole = {name: kind for name, kind in columns.items() if name not in single}
        for group in [whole, *({name: kind} for name, kind in single.items())]:
            if not group:
                continue
            declared = ", ".join(f"{name} {kind}" for name, (kind, _) in group.items())
            path = f"USING parquet OPTIONS (path '{files(writer)}')"
            engine.sql(f"CREATE OR REPLACE TABLE t ({declared}) {path}")
            engine.sql(f"CREATE OR REPLACE STREAM s ({declared}) {path}")
            shown = ", ".join(f"CAST({name} AS STRING) AS {name}" for name in group)
            expected = [{name: value for name, (_, value) in group.items()}, dict.fromkeys(group)]
            expected = expected if group is whole else expected[1:]
            assert engine.query(f"SELECT {shown} FROM t").arrow().to_pylist() == expected, declared
            if group is whole:
                assert drained(engine, f"SELECT {shown} FROM s") == expected, declared


@pytest.mark.parametrize("scan", ["arrow", "spark"])
def test_nanoseconds_as_event_time(engine, tmp_path, scan):
    times = pd.to_datetime(
        [f"2026-01-01 00:00:{second}" for second in ("01.000000999", "01.000000001", "00.000000000")]
    )
    pd.DataFrame({"k": ["a", "b", "c"], "ts": times, "n": times}).to_parquet(tmp_path / "1.parquet")
    if scan == "spark":
        engine.sql("SET cepsql.scan = spark")
    engine.sql(f"""
        CREATE STREAM s (k STRING, ts TIMESTAMP, n BIGINT, WATERMARK FOR ts AS ts)
        USING parquet OPTIONS (path '{tmp_path}')
    """)
    query = """
        SELECT * FROM s MATCH_RECOGNIZE (
          ORDER BY ts{} MEASURES A.k AS first, B.k AS second, C.k AS third, C.ts AS at PATTERN (A B C) DEFINE A AS true
        ) AS m
    """
    (row,) = drained(engine, query.format(", n"))
    assert (row["first"], row["second"], row["third"]) == ("c", "b", "a")
    assert row["at"].microsecond == 0


def test_rows_that_do_not_fit_are_malformed_for_every_query(engine, tmp_path):
    table = pa.table({"k": ["a", "b", "c"], "at": ["2026-01-01 00:00:00", "soon", None], "n": [1, 2, 2**40]})
    pq.write_table(table, tmp_path / "1.parquet")
    columns = "k STRING, at TIMESTAMP, n INT"
    engine.sql(f"CREATE TABLE t ({columns}) USING parquet OPTIONS (path '{tmp_path}')")
    engine.sql(f"CREATE STREAM s ({columns}) USING parquet OPTIONS (path '{tmp_path}')")
    for names in ("k", "k, at, n"):
        assert [row["k"] for row in engine.query(f"SELECT {names} FROM t").arrow().to_pylist()] == ["a"]
        assert [row["k"] for row in drained(engine, f"SELECT {names} FROM s")] == ["a"]
    running = engine.query("SELECT k FROM s").start(lambda *_: None, drain=True)
    running.await_()
    assert running.progress.rows_malformed == 2


def test_folders_that_hold_a_column(engine, tmp_path):
    for day in ("2026-01-01", "2026-01-02"):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        pd.DataFrame({"ts": pd.to_datetime([day])}).to_parquet(folder / "1.parquet")
    columns = "ts TIMESTAMP_NTZ, day DATE"
    engine.sql(f"CREATE TABLE t ({columns}) USING parquet OPTIONS (path '{tmp_path}')")
    engine.sql(f"CREATE STREAM s ({columns}) USING parquet OPTIONS (path '{tmp_path}')")
    query = "SELECT CAST(ts AS STRING) AS ts, CAST(day AS STRING) AS day FROM "
    expected = [{"ts": f"{day} 00:00:00", "day": day} for day in ("2026-01-01", "2026-01-02")]
    assert sorted(engine.query(query + "t").arrow().to_pylist(), key=str) == expected
    assert sorted(drained(engine, query + "s"), key=str) == expected


def test_columns_that_are_not_declared(engine):
    engine.sql(f"CREATE TABLE t USING parquet OPTIONS (path '{FILES / 'pandas.parquet'}')")
    row = engine.query("SELECT ts_ns, zoned_ns, clock, half, unsigned, nothing FROM t").arrow().slice(0, 1)
    assert [str(kind) for kind in row.schema.types][:5] == [
        "timestamp[us]", "timestamp[us, tz=America/New_York]", "string", "float", "decimal128(20, 0)",
    ]  # fmt: skip
    assert row["clock"].to_pylist() == [CLOCK]


def test_a_file_that_comes_later(engine, tmp_path):
    (tmp_path / "in").mkdir()
    ready = pa.table({"k": ["a"], "ts": pa.array([0], pa.timestamp("us", "UTC"))})
    pq.write_table(ready, tmp_path / "in" / "1.parquet")
    engine.sql("SET cepsql.scan = spark")
    engine.sql(f"CREATE STREAM s (k STRING, ts TIMESTAMP) USING parquet OPTIONS (path '{tmp_path / 'in'}')")
    rows = []

    def keep(batch, _):
        rows.extend(batch["k"].to_pylist())

    def run():
        with engine.query("SELECT k FROM s").start(keep, checkpoint=tmp_path / "checkpoint") as running:
            running.process_available()

    run()
    pd.DataFrame({"k": ["b"], "ts": pd.to_datetime(["2026-01-01"])}).to_parquet(tmp_path / "in" / "2.parquet")
    run()
    assert rows == ["a", "b"]


def test_types_without_an_exact_cast(engine, tmp_path):
    pq.write_table(pa.table({"k": ["a"], "x": [0.1]}), tmp_path / "1.parquet")
    engine.sql(f"CREATE TABLE t (k STRING, x FLOAT) USING parquet OPTIONS (path '{tmp_path}')")
    with pytest.raises(Error) as failure:
        engine.query("SELECT x FROM t").arrow()
    assert "column x is of type DOUBLE, declared as FLOAT" in failure.value.message
