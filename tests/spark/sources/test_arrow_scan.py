"""What Arrow reads, computes and hashes is what Spark does."""

import gzip
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chance import draws, everyday
from csv_samples import csv_lines
from pyspark.errors import PySparkException
from sessions import in_mode
from values import plain, plain_sql, plain_values

from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import DataError
from cepsql.readers.scan.csv import read_csv_files
from cepsql.readers.scan.layout import FileLayout
from cepsql.readers.scan.murmur import HASHED, bucket_numbers, spark_hashes
from cepsql.readers.scan.parquet import parquet_obstacle, read_parquet
from cepsql.readers.scan.row_expressions import Unlike, compile_expression
from cepsql.readers.scan.texts import at_zone
from cepsql.scalar.arrow.arrow_expressions import evaluate
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.expressions import Input, Session
from cepsql.scalar.types import parse_type
from cepsql.scalar.zone import UTC, Zone
from cepsql.spark.jvm.session_zone import session_zone
from cepsql.spark.sources.arrow_scan import files_obstacle

TYPES = [
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "boolean",
    "date",
    "timestamp",
    "decimal(8,2)",
    "string",
]


@pytest.fixture(scope="module")
def zone(spark) -> Zone:
    return session_zone(spark)


def spark_rows(spark, path, types, **options):
    """Return (malformed, values) of each row as Spark reads them."""
    names = [f"c{i}" for i in range(len(types))]
    schema = ", ".join([f"{name} {type}" for name, type in zip(names, types, strict=True)] + ["corrupt STRING"])
    reader = spark.read.schema(schema).option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", "corrupt")
    frame = reader.options(**options).csv(str(path))
    rows = frame.selectExpr(*map(plain_sql, names, types), "corrupt IS NOT NULL").collect()
    return [(row[-1], [plain(value) for value in row[:-1]]) for row in rows]


def arrow_rows(path, layout, zone):
    """Return the well-formed rows as Arrow reads them, and the number of malformed ones."""
    rows, malformed = [], 0
    for _, chunk in read_csv_files([str(path)], layout, zone):
        rows += map(list, zip(*(plain_values(chunk.columns[name]) for name, _ in layout.columns), strict=True))
        malformed += chunk.malformed
    return rows, malformed


def csv_layout(types, **options):
    columns = tuple((f"c{i}", parse_type(type)) for i, type in enumerate(types))
    return FileLayout("csv", columns, frozenset(name for name, _ in columns), **options)


@pytest.mark.parametrize("seed", everyday(range(3)))
def test_csv(spark, zone, tmp_path, seed):
    draw = draws(seed)
    separator = [",", ";", "\t"][seed]
    types = TYPES if seed == 0 else [*draw.sample(TYPES, 4), "string", draw.choice(TYPES)]
    # Rows of the right types in a file of their own each: the odd ones decide how a whole file is read.
    lines = csv_lines(types, 300 if seed else 200, 0.02, separator, seed)
    (tmp_path / "all").mkdir()
    whole = tmp_path / "all" / "whole.csv"
    ends = ["\n", "\r\n", "\r", "\n \n\n"]
    whole.write_text("\ufeff" + "".join(line + draw.choice(ends) for line in ["\n", "header", *lines]), newline="")
    expected = spark_rows(spark, whole.parent, types, header="true", sep=separator)
    layout = csv_layout(types, separator=separator, header=True)
    well = [values for malformed, values in expected if not malformed]
    assert arrow_rows(whole, layout, zone) == (well, len(expected) - len(well))
    assert len(expected) == len(lines)
    for line, (malformed, values) in zip(lines, expected, strict=True):
        single = tmp_path / "single.csv"
        single.write_text(f"x\n{line}", newline="")
        assert arrow_rows(single, layout, zone) == (([], 1) if malformed else ([values], 0)), line


def test_csv_bytes_and_compression(spark, zone, tmp_path):
    text = b'a,1\n\xff\xfe,2\n\xe4\xb8,3\n\xe4\xb8z,4\n"\xc3\xa9",5\nb,x\n'
    (tmp_path / "a").mkdir()
    with gzip.open(tmp_path / "a" / "rows.csv.gz", "wb") as file:
        file.write(text)
    expected = spark_rows(spark, tmp_path / "a", ["string", "int"])
    rows_and_malformed = arrow_rows(tmp_path / "a" / "rows.csv.gz", csv_layout(["string", "int"]), zone)
    assert rows_and_malformed == ([values for malformed, values in expected if not malformed], 1)


VALUES = {
    "i": ("int", [0, 1, -1, 2, 50, 51, 2**31 - 1, -(2**31), None]),
    "j": ("bigint", [0, 1, -1, 3, 50, 2**53 + 1, 2**63 - 1, -(2**63), None]),
    "h": ("smallint", [0, 1, -1, 32767, -32768, None]),
    "d": ("double", [0.0, -0.0, 1.5, 50.5, -50.5, 1e300, 3e9, float("nan"), float("inf"), float("-inf"), None]),
    "f": ("float", [0.0, 1.5, 0.10000000149011612, float("nan"), 1e30, None]),
    "b": ("boolean", [True, False, None]),
    "s": ("string", ["", "a", "abc", "a%c", "A", "é", "b\nc", "zebra", "日本", None]),
    "u": ("string", ["", "a", "b", "abc", None]),
    "t": ("timestamp", [0, 1767243600000000, 1767261967123456, -1, None]),
    "e": ("date", [0, 20454, -1, None]),
    "c": (
        "decimal(8,2)",
        [Decimal("0.00"), Decimal("1.50"), Decimal("1.51"), Decimal("-0.01"), Decimal("60.00"), None],
    ),
}
EXPRESSIONS = (Path(__file__).parents[1] / "expressions.txt").read_text().splitlines()


@pytest.mark.parametrize("ansi", [False, True])
def test_expressions(spark, zone, ansi):
    draw = draws(11)
    rows = 400
    columns = {name: [draw.choice(values) for _ in range(rows)] for name, (_, values) in VALUES.items()}
    arrays = {n: pa.array(columns[n], arrow_type(parse_type(type))) for n, (type, _) in VALUES.items()}
    # Spark gets times and dates as numbers, whatever its zone.
    raw = ", ".join(
        f"{n} {'bigint' if t == 'timestamp' else 'int' if t == 'date' else t}" for n, (t, _) in VALUES.items()
    )
    frame = in_mode(spark, ansi).createDataFrame(list(zip(*columns.values(), strict=True)), raw)
    frame = frame.selectExpr(
        *(c for c in columns if c not in "te"), "timestamp_micros(t) AS t", "date_from_unix_date(e) AS e"
    )
    inputs = {name: Input(name, parse_type(type)) for name, (type, _) in VALUES.items()}
    session = Session(ansi, zone)
    compiled = {}
    for sql in EXPRESSIONS:
        try:
            compiled[sql] = compile_expression(sql, inputs, session)
        except Unlike:
            assert ansi, sql
    for sql, node in list(compiled.items()):
        try:
            evaluate(node, arrays, rows, session)
        except DataError:
            with pytest.raises(PySparkException):
                frame.selectExpr(f"({sql}) AS x").collect()
            del compiled[sql]
    assert len(compiled) > len(EXPRESSIONS) / 2
    names = [f"x{i}" for i in range(len(compiled))]
    answer = frame.selectExpr(*(f"({sql}) AS {name}" for sql, name in zip(compiled, names, strict=True)))
    types = [field.dataType.simpleString() for field in answer.schema.fields]
    assert [str(node.type) for node in compiled.values()] == types
    expected = answer.selectExpr(*map(plain_sql, names, types)).collect()
    for i, (sql, node) in enumerate(compiled.items()):
        results = evaluate(node, arrays, rows, session)
        assert results.type == arrow_type(node.type), sql
        assert plain_values(results) == [plain(row[i]) for row in expected], sql


def test_buckets(spark):
    draw = draws(5)
    texts = [None, "", "a", "ab", "abc", "abcd", "abcde", "é", "日本語", "x" * 33]
    columns = {
        "boolean": [True, False, None],
        "tinyint": [0, -1, 127, None],
        "smallint": [0, -1, 32767, None],
        "int": [0, -1, 2**31 - 1, None],
        "bigint": [0, -1, 2**63 - 1, 2**32, None],
        "float": [0.0, -0.0, 1.5, float("nan"), None],
        "double": [0.0, -0.0, 1.5, float("nan"), float("-inf"), None],
        "string": texts,
        "date": [0, -1, 20454, None],
        "timestamp": [0, -1, 1767243600000001, None],
        "decimal(18,2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("9999999999999999.99"), None],
    }
    assert set(columns) == {*HASHED, "decimal(18,2)"}
    rows = 300
    drawn = {name: [draw.choice(values) for _ in range(rows)] for name, values in columns.items()}
    arrays = [pa.array(drawn[name], arrow_type(parse_type(name))) for name in columns]
    raw_types = {"timestamp": "bigint", "date": "int"}
    raw = ", ".join(f"`{n}` {raw_types.get(n, n)}" for n in columns)
    wrapped = {"timestamp": "timestamp_micros(`timestamp`)", "date": "date_from_unix_date(`date`)"}
    sql = [wrapped.get(name, f"`{name}`") for name in columns]
    calls = [f"hash({column})" for column in sql] + [f"hash({', '.join(sql)})", f"pmod(hash({sql[7]}, {sql[4]}), 3)"]
    frame = spark.createDataFrame(list(zip(*drawn.values(), strict=True)), raw)
    expected = list(zip(*frame.selectExpr(*calls).collect(), strict=True))
    for name, array, values in zip(columns, arrays, expected, strict=False):
        assert spark_hashes([array], rows).tolist() == list(values), name
        # A slice does not begin where its buffers do.
        assert spark_hashes([array[7:]], rows - 7).tolist() == list(values[7:]), name
    assert spark_hashes(arrays, rows).tolist() == list(expected[-2])
    assert bucket_numbers([arrays[7], arrays[4]], rows, 3).tolist() == list(expected[-1])
    assert bucket_numbers([], 2, 3).tolist() == [0, 0]


@pytest.mark.parametrize(
    "name", ["America/New_York", "Europe/Paris", "Australia/Lord_Howe", "Asia/Tokyo", "+05:30", "UTC"]
)
def test_clocks(spark, name):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", name)
    try:
        clocks = session_zone(spark)
        draw = draws(2)
        local = [draw.randint(-4_000_000_000, 30_000_000_000) * 10**6 for _ in range(300)]
        for begin in draw.sample(clocks.begins, min(100, len(clocks.begins))):
            seconds = begin // 10**6 * 10**6
            local += [seconds + shift * 10**6 for shift in (-3600, -1800, -1, 0, 1, 146_097 * 86_400)]
        time = "timestamp_ntz'1970-01-01' + (x div 1000000) * interval '1' second"
        frame = spark.createDataFrame([(x,) for x in local], "x bigint")
        rows = frame.selectExpr(f"unix_micros(cast({time} as timestamp)) AS instant").collect()
        instants = at_zone(pa.array(local, pa.int64()).view(pa.timestamp("us")), clocks)
        assert instants.view(pa.int64()).to_pylist() == [row.instant for row in rows]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_parquet(spark, tmp_path):
    layout = FileLayout(
        "parquet",
        (
            ("ID", parse_type("bigint")),
            ("ts", parse_type("timestamp")),
            ("price", parse_type("double")),
            ("kind", parse_type("string")),
            ("gone", parse_type("int")),
            ("e", parse_type("date")),
        ),
        frozenset({"ID", "ts", "price", "kind", "gone", "e"}),
    )
    columns = [
        "id",
        "timestamp_micros(id * 1000001) AS ts",
        "double(id) AS price",
        "concat('k', id % 3) AS kind",
        "date_add(date'2026-01-01', int(id)) AS e",
    ]
    declared = ", ".join(f"{name} {type}" for name, type in layout.columns)
    for kind in ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"):
        spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
        spark.range(20).selectExpr(*columns).coalesce(1).write.parquet(str(tmp_path / kind))
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
        (path,) = (tmp_path / kind).glob("*.parquet")
        assert parquet_obstacle(str(path), layout) is None
        (chunk,) = read_parquet(str(path), layout, UTC)
        frame = spark.read.schema(declared).parquet(str(tmp_path / kind))
        rows = frame.selectExpr(*(plain_sql(name, str(type)) for name, type in layout.columns)).collect()
        read_rows = list(zip(*(plain_values(chunk.columns[name]) for name, _ in layout.columns), strict=True))
        assert read_rows == [tuple(map(plain, row)) for row in rows]
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "texts.parquet")
    assert "ID is of type string, declared as BIGINT" in parquet_obstacle(str(tmp_path / "texts.parquet"), layout)


def test_a_folder_without_rights_is_left_to_who_reads_it(tmp_path, monkeypatch):
    def refused(folder):
        raise PermissionError(13, "Permission denied", folder)

    monkeypatch.setattr("os.scandir", refused)
    source = Source("s", (ColumnDefinition("a", "INT"),), "csv", (("path", str(tmp_path)),))
    assert files_obstacle(source, FileLayout("csv", (), ())) is None
