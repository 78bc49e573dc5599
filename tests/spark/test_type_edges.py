"""Texts at the ends of each type mean the same as a table and as a stream, in SQL and below a match, with either scan.

`pytest --update` writes what Spark makes of them in a table.
"""

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chance import everyday
from sessions import in_mode
from type_edges import ZONE_HOURS, Edge, edges, shown, write
from values import plain_values

import cepsql
from cepsql.readers.scan.layout import readable_type
from cepsql.render import renderer

EXACT = Context(prec=80)
ZONE = f"{ZONE_HOURS:+03}:00"
KINDS = {"csv": ("csv",), "json": ("string", "token")}


@pytest.fixture(scope="module")
def engine(spark):
    mode = in_mode(spark, False)
    mode.conf.set("spark.sql.session.timeZone", ZONE)
    return cepsql.connect(mode)


@pytest.mark.parametrize("arrow", everyday([True, False]), ids=lambda arrow: "both scans" if arrow else "Spark alone")
@pytest.mark.parametrize("format", KINDS)
def test_texts(engine, tmp_path, format, arrow, update):
    all_edges = edges()
    asked = [
        (number, kind)
        for number, edge in enumerate(all_edges)
        for kind in KINDS[format]
        if kind in edge.lines("") and _arrow_reads(edge.type, format) == arrow
        if update or getattr(edge, kind) != "-"
    ]
    # In CSV an open quote takes what follows it, so texts stand at the end of the line.
    types = sorted({all_edges[number].type for number, _ in asked}, key=lambda kind: kind == "string")
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [_line(i, all_edges[number], kind, types) for i, (number, kind) in enumerate(asked)]
    (folder / f"1.{format}").write_text("\n".join([*lines, ""]), "utf-8", newline="")
    _declare(engine, folder, format, types)
    places = [types.index(all_edges[number].type) for number, _ in asked]
    by_reader = {name: (_meant(tables, places), malformed) for name, tables, malformed in _read(engine, types, arrow)}
    if update:
        for (number, kind), meant in zip(asked, by_reader["table"][0], strict=True):
            all_edges[number] = replace(all_edges[number], **{kind: meant})
        write(all_edges)
        return
    expected = [getattr(all_edges[number], kind) for number, kind in asked]
    for name, (meant, malformed) in by_reader.items():
        cases = zip(asked, expected, meant, strict=True)
        wrong = [
            (all_edges[number].type, all_edges[number].text, kind, e, f) for (number, kind), e, f in cases if e != f
        ]
        assert (name, wrong, malformed) == (name, [], expected.count("malformed"))


PARQUET = {
    **{f"int{bits}": [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0] for bits in (8, 16, 32, 64)},
    "float": [3.4028234663852886e38, -1.401298464324817e-45, float("nan"), float("-inf"), -0.0],
    "double": [1.7976931348623157e308, -5e-324, float("nan"), float("inf"), -0.0],
    "bool": [True, False],
    "string": [b"", b"a\xff", "\U0010ffff\0\ue000".encode()],
    "date32[day]": [-(2**31), 2**31 - 1, 0, 2932897],
    "timestamp[us, tz=UTC]": [-(2**63), 2**63 - 1, 253402300800000000, -62135596800000001],
    "decimal128(38, 0)": [10**38 - 1, 1 - 10**38, 0],
    "decimal128(38, 38)": [10**38 - 1, 1 - 10**38, 1],
    "timestamp[us]": [253402300799999999, -62135596800000000],
    "binary": [b"", b"\0\xff"],
}
"""Values at the ends of the types of Parquet: times and dates as numbers, decimals as their digits, text as bytes."""
SPARK_TYPES = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean", "date32[day]": "date",
    "timestamp[us, tz=UTC]": "timestamp", "timestamp[us]": "timestamp_ntz", "decimal128(38, 0)": "decimal(38,0)",
    "decimal128(38, 38)": "decimal(38,38)",
}  # fmt: skip


@pytest.mark.parametrize("arrow", [True, False], ids=["both scans", "Spark alone"])
def test_parquet(engine, tmp_path, arrow):
    types = {name: SPARK_TYPES.get(name, name) for name in PARQUET}
    types = {name: kind for name, kind in types.items() if _arrow_reads(kind, "parquet") == arrow}
    rows = max(len(PARQUET[name]) for name in types) + 1
    expected = {name: [*PARQUET[name], *[None] * (rows - len(PARQUET[name]))] for name in types}
    columns = {f"c{i}": _of_raw(expected[name], name) for i, name in enumerate(types)}
    fixed = {
        "id": pa.array(range(rows)),
        "at": pa.array([1_767_225_600_000_000] * rows).cast(pa.timestamp("us", "UTC")),
    }
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table(fixed | columns), tmp_path / "in" / "1.parquet")
    _declare(engine, tmp_path / "in", "parquet", [*types.values()])
    for way, tables, malformed in _read(engine, [*types.values()], arrow):
        table = pa.concat_tables(tables).sort_by("id")
        raw = {name: _raw(table[f"c{i}"].combine_chunks()) for i, name in enumerate(types)}
        assert (way, repr(raw), malformed) == (way, repr(expected), 0)


def _of_raw(values: list, name: str) -> pa.Array:
    kinds = {"float": pa.float32(), "double": pa.float64(), "string": pa.binary(), "date32[day]": pa.int32()}
    if name.startswith("timestamp"):
        kind = pa.timestamp("us", "UTC" if "UTC" in name else None)
        return pa.array(values, pa.int64()).view(kind)
    if name.startswith("decimal"):
        scale = 38 if "38, 38" in name else 0
        return pa.array(
            [None if v is None else Decimal(v).scaleb(-scale, EXACT) for v in values], pa.decimal128(38, scale)
        )
    raw = pa.array(values, kinds.get(name) or pa.type_for_alias(name))
    return raw.view({"string": pa.string(), "date32[day]": pa.date32()}.get(name, raw.type))


def _raw(column: pa.Array) -> list:
    if pa.types.is_string(column.type):
        return column.view(pa.binary()).to_pylist()
    if pa.types.is_decimal(column.type):
        return [None if v is None else int(v.scaleb(column.type.scale, EXACT)) for v in column.to_pylist()]
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return column.view(pa.int32() if pa.types.is_date(column.type) else pa.int64()).to_pylist()
    return column.to_pylist()


@pytest.mark.parametrize(("format", "late"), everyday(itertools.product(KINDS, ["parquet", "json"]), 3))
def test_bytes_that_are_no_text(engine, tmp_path, format, late):
    """Also in rows that are late, malformed, or without a time."""
    times = [b"2026-01-01 00:00:05", b"2026-01-01 00:00:01", b"", b"2026-01-01 00:00:09"]
    rows = zip(times, [b"1", b"2", b"3", b"\xff"], [b"a\xff", b"\xfe", b"\xe4\xb8", b"b\xc0"], strict=True)
    (tmp_path / "in").mkdir()
    for number, (at, x, text) in enumerate(rows):
        file = tmp_path / "in" / f"{number}.{format}"
        json = b'{"at":%b,"x":%b,"s":"%b"}\n' % (b'"%b"' % at if at else b"null", x, text)
        file.write_bytes(json if format == "json" else b"%b,%b,%b\n" % (at, x, text))
        os.utime(file, (number + 1, number + 1))
    engine.sql(f"""
        CREATE OR REPLACE STREAM odd (at TIMESTAMP, x INT, s STRING, WATERMARK FOR at AS at)
        USING {format} OPTIONS (path '{tmp_path / "in"}', maxFilesPerTrigger '1')
        LATE ROWS INTO late_odd USING {late} OPTIONS (path '{tmp_path / "late"}')
    """)
    tables, progress = _drained(
        engine.sql("SELECT * FROM odd MATCH_RECOGNIZE (ORDER BY at MEASURES A.s AS s PATTERN (A))")
    )
    counts = (progress.rows_used, progress.rows_late, progress.rows_malformed, progress.rows_null_time)
    late_rows = engine.sql("SELECT reason, s, record FROM late_odd ORDER BY reason").collect()
    if format == "json":
        assert counts == (0, 0, 4, 0)
        assert [(row.reason, "\ufffd" in row.record) for row in late_rows] == [("malformed", True)] * 4
        return
    assert counts == (1, 1, 1, 1)
    assert [row["s"] for table in tables for row in table.to_pylist()] == ["a\ufffd"]
    assert [row.reason for row in late_rows] == ["late", "malformed", "no event time"]
    assert [late_rows[0].s, late_rows[2].s] == ["\ufffd", "\ufffd"]
    assert "\ufffd" in late_rows[1].record


def _arrow_reads(type: str, format: str) -> bool:
    return readable_type(type) is not None and not (format == "json" and type.startswith("decimal"))


def _line(number: int, edge: Edge, kind: str, types: list[str]) -> str:
    place = types.index(edge.type)
    text = edge.lines(f"c{place}")[kind]
    if kind == "csv":
        return ",".join([str(number), "2026-01-01 00:00:00", *(text if i == place else "" for i in range(len(types)))])
    return f'{{"id":{number},"at":"2026-01-01 00:00:00",{text}}}'


def _declare(engine, folder, format: str, types: list[str]) -> None:
    columns = ", ".join(["id BIGINT", "at TIMESTAMP", *(f"c{i} {type}" for i, type in enumerate(types))])
    source = f"USING {format} OPTIONS (path '{folder}')"
    late = f"LATE ROWS INTO late_kept USING parquet OPTIONS (path '{folder}.late')"
    engine.sql(f"CREATE OR REPLACE TABLE t ({columns}) {source}")
    for name, rest in (("s", ""), ("kept", late)):
        engine.sql(f"CREATE OR REPLACE STREAM {name} ({columns}, WATERMARK FOR at AS at) {source} {rest}")


def _read(engine, types: list[str], arrow: bool) -> Iterator[tuple[str, list[pa.Table], int]]:
    """Yield each way to read, the rows that it gives, and how many it says are malformed."""
    names = ["id", *(f"c{i}" for i in range(len(types)))]
    selected, measures = ", ".join(names), ", ".join(f"A.{name} AS {name}" for name in names)
    query = engine.sql(f"SELECT {selected} FROM t")
    table = query.arrow()
    form = renderer("csv", query.columns, ZONE)
    assert len(list(form.rows(table))) == table.num_rows
    yield "table", [table], query.malformed
    tables, progress = _drained(engine.sql(f"SELECT {selected} FROM kept"))
    late = engine.sql("SELECT reason FROM late_kept").collect()
    assert [row.reason for row in late] == ["malformed"] * progress.rows_malformed
    yield "stream", tables, progress.rows_malformed
    for scan in ("auto", "spark") if arrow else ("spark",):
        engine.sql(f"SET cepsql.scan = '{scan}'")
        query = engine.sql(f"SELECT * FROM s MATCH_RECOGNIZE (ORDER BY at, id MEASURES {measures} PATTERN (A))")
        assert (query.scan_obstacle(engine.spark) is None) == (scan == "auto")
        tables, progress = _drained(query)
        yield f"match, scan {scan}", tables, progress.rows_malformed


def _drained(query):
    with query.start(drain=True) as standing:
        return list(standing.rows()), standing.progress


def _meant(tables: list[pa.Table], places: list[int]) -> list[str]:
    """Return what each row has in the column that was asked for, in the order of their numbers."""
    meanings = ["malformed"] * len(places)
    for table in tables:
        columns = [plain_values(column.combine_chunks()) for column in table.columns]
        for number, *values in zip(*columns, strict=True):
            meanings[number] = shown(values[places[number]])
    return meanings
