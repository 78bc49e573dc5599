"""Texts at the ends of each type mean the same as a table and as a stream, in SQL and below a match, with either scan.

`pytest --update` writes what Spark makes of them in a table.
"""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from sessions import in_mode
from type_edges import ZONE_HOURS, Edge, edges, shown, write
from values import plain_values

import cepsql
from cepsql.render import renderer
from cepsql.scan.types import arrow_type

ZONE = f"{ZONE_HOURS:+03}:00"
KINDS = {"csv": ("csv",), "json": ("string", "token")}


@pytest.fixture(scope="module")
def engine(spark):
    mode = in_mode(spark, False)
    mode.conf.set("spark.sql.session.timeZone", ZONE)
    return cepsql.connect(mode)


@pytest.mark.parametrize("arrow", [True, False], ids=["both scans", "Spark alone"])
@pytest.mark.parametrize("format", KINDS)
def test_texts(engine, tmp_path, format, arrow, update):
    known = edges()
    asked = [
        (number, kind)
        for number, edge in enumerate(known)
        for kind in KINDS[format]
        if kind in edge.lines("") and _arrow_reads(edge.type, format) == arrow
    ]
    # In CSV an open quote takes what follows it, so texts stand at the end of the line.
    types = sorted({known[number].type for number, _ in asked}, key=lambda kind: kind == "string")
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [_line(i, known[number], kind, types) for i, (number, kind) in enumerate(asked)]
    (folder / f"1.{format}").write_text("\n".join([*lines, ""]), "utf-8", newline="")
    _declare(engine, folder, format, types)
    places = [types.index(known[number].type) for number, _ in asked]
    found = {name: (_meant(tables, places), malformed) for name, tables, malformed in _read(engine, types, arrow)}
    if update:
        for (number, kind), meant in zip(asked, found["table"][0], strict=True):
            known[number] = replace(known[number], **{kind: meant})
        write(known)
        return
    expected = [getattr(known[number], kind) for number, kind in asked]
    for name, (meant, malformed) in found.items():
        cases = zip(asked, expected, meant, strict=True)
        wrong = [(known[number].type, known[number].text, kind, e, f) for (number, kind), e, f in cases if e != f]
        assert (name, wrong, malformed) == (name, [], expected.count("malformed"))


def _arrow_reads(type: str, format: str) -> bool:
    return arrow_type(type) is not None and not (format == "json" and type.startswith("decimal"))


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
    found = ["malformed"] * len(places)
    for table in tables:
        columns = [plain_values(column.combine_chunks()) for column in table.columns]
        for number, *values in zip(*columns, strict=True):
            found[number] = shown(values[places[number]])
    return found
