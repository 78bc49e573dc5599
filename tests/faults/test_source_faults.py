"""What becomes of rows that come in a bad way: in half-written files, with old times, with bytes that are no text."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepsql
from cepsql.errors import OperationalError
from cepsql.readers.scan.damaged import WHOLE_FILE

STREAM = """CREATE STREAM s (k BINARY, ts TIMESTAMP, x INT, text STRING AS CAST(k AS STRING), WATERMARK FOR ts AS ts)
USING parquet OPTIONS (path '{folder}/in')
LATE ROWS INTO late_s USING {late} OPTIONS (path '{folder}/late')
"""
QUERY = "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY text ORDER BY ts MEASURES A.x AS x PATTERN (A))"
SECOND = 1_000_000


def put(folder: Path, name: str, *rows: tuple[bytes, int, int]) -> Path:
    (folder / "in").mkdir(exist_ok=True)
    keys, seconds, values = zip(*rows, strict=True)
    times = pa.array([second * SECOND for second in seconds], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"k": pa.array(keys), "ts": times, "x": pa.array(values, pa.int32())}), folder / name)
    (folder / name).rename(folder / "in" / name)
    return folder / "in" / name


def query(spark, folder: Path, late: str = "parquet"):
    (folder / "in").mkdir(exist_ok=True)
    engine = cepsql.connect(spark)
    engine.sql(STREAM.format(folder=folder, late=late))
    return engine, engine.sql(QUERY)


@pytest.mark.parametrize("late", ["parquet", "json"])
def test_bytes_that_are_no_text_go_through(spark, tmp_path, late):
    put(tmp_path, "1.parquet", (b"a\xff", 100, 1), (b"b", 100, 2))
    engine, rows = query(spark, tmp_path, late)
    tables = []
    with rows.start(lambda table, _: tables.append(table), checkpoint=str(tmp_path / "checkpoint")) as standing:
        standing.process_available()
        put(tmp_path, "2.parquet", (b"a\xfe", 10, 3), (b"c", 200, 4))
        standing.process_available()
    assert (standing.progress.rows_late, standing.progress.rows_used) == (1, 3)
    assert sorted(x for table in tables for x in table["x"].to_pylist()) == [1, 2, 4]
    late_rows = engine.sql("SELECT hex(k) AS k, x, length(text) AS n FROM late_s").collect()
    assert [tuple(row) for row in late_rows] == [("61FE", 3, 2)]


@pytest.mark.parametrize(("scan", "share"), [("auto", 0.5), ("auto", 0), ("spark", 0)])
def test_a_half_written_file_is_named_and_read_when_it_is_whole(spark, tmp_path, scan, share):
    put(tmp_path, "1.parquet", (b"a", 100, 1))
    whole = put(tmp_path, "2.parquet", (b"a", 101, 2)).read_bytes()
    half = tmp_path / "in" / "2.parquet"
    half.write_bytes(whole[: int(share * len(whole))])
    engine, rows = query(spark, tmp_path)
    engine.sql(f"SET 'cepsql.scan' = '{scan}'")
    tables = []
    with pytest.raises(OperationalError, match=r"2\.parquet") as raised:
        rows.start(lambda table, _: tables.append(table), checkpoint=str(tmp_path / "checkpoint")).await_(60)
    assert "Exception" not in str(raised.value) and raised.value.hint == WHOLE_FILE
    half.write_bytes(whole)
    with rows.start(lambda table, _: tables.append(table), checkpoint=str(tmp_path / "checkpoint")) as standing:
        standing.process_available()
    assert sorted(x for table in tables for x in table["x"].to_pylist()) == [1, 2]
    assert standing.progress.rows_used == 2


def test_files_of_an_hour_ago_are_read(spark, tmp_path):
    put(tmp_path, "1.parquet", (b"a", 100, 1))
    _, rows = query(spark, tmp_path)
    with rows.start(lambda *_: None, checkpoint=str(tmp_path / "checkpoint")) as standing:
        standing.process_available()
        newer = put(tmp_path, "2.parquet", (b"a", 101, 2))
        os.utime(newer, (newer.stat().st_mtime - 3600,) * 2)
        standing.process_available()
    assert standing.progress.rows_read == 2
