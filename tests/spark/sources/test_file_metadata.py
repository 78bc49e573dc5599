"""METADATA columns of files tell of the file of a row and of its place there, in tables and in streams."""

import os
from datetime import UTC, datetime
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chance import everyday

import cepsql

TIMES = {"b b.csv": 5, "a.csv": 6}
COLUMNS = """k STRING, at TIMESTAMP METADATA FROM 'file.modification-time', ts TIMESTAMP, next BIGINT AS n + 1,
  n BIGINT METADATA FROM 'position', x INT, file_name STRING METADATA, size BIGINT METADATA FROM 'file_size'"""
MATCH = """SELECT m.* FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
  MEASURES A.file_name AS file, A.n AS a, B.n AS b AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS true) AS m"""


def write(folder, format: str) -> None:
    folder.mkdir()
    for name, modified in TIMES.items():
        path = folder / name
        rows = [("u", "2026-01-01 00:00:01", x) for x in (3, 1, 2)]
        if format == "parquet":
            when = pa.array([datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)] * 3, pa.timestamp("us", "UTC"))
            pq.write_table(pa.table({"k": ["u"] * 3, "ts": when, "x": pa.array([3, 1, 2], pa.int32())}), path)
        elif format == "csv":
            path.write_text("".join(f"{k},{ts},{x}\n" for k, ts, x in rows) + "u,no time,4\n")
        else:
            path.write_text("".join(f'{{"k": "{k}", "ts": "{ts}", "x": {x}}}\n' for k, ts, x in rows))
        os.utime(path, (modified, modified))


@pytest.mark.parametrize("format", everyday(["csv", "json", "parquet"]))
def test_files_tell_of_each_row(spark, tmp_path, format):
    write(tmp_path / "in", format)
    engine = cepsql.connect(spark)
    where = f"USING {format} OPTIONS (path '{tmp_path / 'in'}')"
    engine.sql(f"CREATE TABLE t ({COLUMNS}) {where}")
    engine.sql(f"CREATE STREAM s ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) {where}")
    plain = "SELECT x, file_name, unix_seconds(at) AS changed, n, next, size FROM {}"
    sizes = {name: (tmp_path / "in" / name).stat().st_size for name in TIMES}
    expected = sorted((x, name, TIMES[name], n, n + 1, sizes[name]) for name in TIMES for n, x in enumerate((3, 1, 2)))
    places = [("b b.csv", n) for n in range(3)] + [("a.csv", n) for n in range(3)]
    pairs = sorted(("u", file, a, b) for (file, a), (_, b) in pairwise(places))
    for name in "ts":
        assert sorted(drained(engine.sql(plain.format(name)))) == expected
        assert sorted(drained(engine.sql(MATCH.format(name)))) == pairs


def test_places_grow_through_the_parts_of_a_large_file(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("".join(f"u,{x}\n" for x in range(1000)))
    engine = cepsql.connect(spark)
    engine.sql(
        "CREATE TABLE t (k STRING, x INT, n BIGINT METADATA FROM 'position') "
        f"USING csv OPTIONS (path '{tmp_path / 'in'}')"
    )
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "2000")
    try:
        rows = sorted((row["n"], row["x"]) for row in engine.sql("SELECT n, x FROM t WHERE x % 2 = 0").collect())
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
    assert [x for _, x in rows] == list(range(0, 1000, 2))
    assert len({n for n, _ in rows}) == 500


def drained(query) -> list[tuple]:
    if not query.streaming:
        return [tuple(row) for row in query.collect()]
    output: list[tuple] = []
    query.start(lambda rows, _: output.extend(tuple(row.values()) for row in rows.to_pylist()), drain=True).await_(300)
    return output
