"""Rows of one time come in the order of the files that hold them: in tables and streams, whoever reads them."""

import os
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chance import everyday

import cepsql
from cepsql.testing import play

QUERY = """SELECT * FROM {} MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS number, FIRST(x) AS a, LAST(x) AS b
  AFTER MATCH SKIP TO NEXT ROW PATTERN (A A) DEFINE A AS true) AS m"""
COLUMNS = "k STRING, ts TIMESTAMP, x INT"
TIME = "2026-01-01 00:00:01"
FILES = [("b%20 .csv", 5, [7, 3]), ("a+b.csv", 5, [9, 1]), ("z.csv", 4, [8, 2]), ("c.csv", 6, [5, 0])]
"""Names, times and values, all of one key and one event time."""
IN_ORDER = [8, 2, 9, 1, 7, 3, 5, 0]


def write_files(folder, values=lambda x: x):
    folder.mkdir()
    for name, modified, numbers in FILES:
        path = folder / name
        path.write_text("".join(f"u,{TIME},{values(x)}\n" for x in numbers))
        os.utime(path, (modified, modified))


def define(kind: str, name: str, folder, format: str = "csv", **options) -> str:
    mark = ", WATERMARK FOR ts AS ts - INTERVAL '1' SECOND" if kind == "STREAM" else ""
    option_list = ", ".join(f"{key} '{value}'" for key, value in {"path": folder, **options}.items())
    return f"CREATE {kind} {name} ({COLUMNS}{mark}) USING {format} OPTIONS ({option_list})"


def drained(query) -> list[tuple]:
    output = []
    query.start(lambda rows, _: output.extend(tuple(row.values()) for row in rows.to_pylist()), drain=True).await_(300)
    return output


def pairs(numbers: list[int], key: str = "u") -> list[tuple]:
    return [(key, n + 1, *pair) for n, pair in enumerate(pairwise(numbers))]


def test_files_come_by_time_and_name(spark, tmp_path):
    write_files(tmp_path / "in")
    engine = cepsql.connect(spark)
    engine.sql(define("TABLE", "t", tmp_path / "in"))
    for relation in ("t", "(SELECT k, ts, x FROM t WHERE x >= 0)", "(WITH c AS (SELECT * FROM t) SELECT c.* FROM c)"):
        assert sorted(map(tuple, engine.sql(QUERY.format(relation)).collect())) == pairs(IN_ORDER)
    for scan, most in (("auto", 1), ("auto", 100), ("spark", 1), ("spark", 3)):
        engine.sql(f"SET 'cepsql.scan' = '{scan}'")
        engine.sql(define("STREAM", f"s_{scan}{most}", tmp_path / "in", maxFilesPerTrigger=most))
        query = engine.sql(QUERY.format(f"s_{scan}{most}"))
        assert sorted(drained(query)) == pairs(IN_ORDER), (scan, most)


def test_parts_of_a_large_file(spark, tmp_path):
    """Spark cuts a file into parts, which several tasks read, the last one perhaps first."""
    numbers = [(7919 * i) % 1000 for i in range(1000)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("".join(f"u,{TIME},{x}\n" for x in numbers))
    rows = {
        "k": ["u"] * 1000,
        "ts": pa.array([10**15] * 1000, pa.timestamp("us", "UTC")),
        "x": pa.array(numbers, "int32"),
    }
    (tmp_path / "parquet").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "parquet" / "a.parquet", row_group_size=100)
    engine = cepsql.connect(spark)
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "3000")
    try:
        engine.sql(define("TABLE", "t", tmp_path / "in"))
        engine.sql(define("TABLE", "p", tmp_path / "parquet", "parquet"))
        engine.sql(define("STREAM", "s", tmp_path / "in"))
        engine.sql("SET 'cepsql.scan' = 'spark'")
        for name in "tp":
            assert sorted(map(tuple, engine.sql(QUERY.format(name)).collect())) == pairs(numbers), name
        assert sorted(drained(engine.sql(QUERY.format("s")))) == pairs(numbers)
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def test_branches_of_a_union_come_one_after_the_other(spark, tmp_path):
    write_files(tmp_path / "one")
    write_files(tmp_path / "two", lambda x: 10 - x)
    expected = pairs([10 - x for x in IN_ORDER] + IN_ORDER)
    union = "(SELECT * FROM {0}2 UNION ALL SELECT * FROM {0}1)"
    engine = cepsql.connect(spark)
    for kind in ("TABLE", "STREAM"):
        engine.sql(define(kind, f"{kind}1", tmp_path / "one"))
        engine.sql(define(kind, f"{kind}2", tmp_path / "two"))
    assert sorted(map(tuple, engine.sql(QUERY.format(union.format("TABLE"))).collect())) == expected
    for scan in ("auto", "spark"):
        engine.sql(f"SET 'cepsql.scan' = '{scan}'")
        assert sorted(drained(engine.sql(QUERY.format(union.format("STREAM"))))) == expected


def test_rows_without_an_order_come_by_their_values(spark, tmp_path):
    """Those of a DataFrame, and of a join."""
    write_files(tmp_path / "in")
    engine = cepsql.connect(spark)
    engine.sql(define("TABLE", "t", tmp_path / "in"))
    engine.register("names", spark.createDataFrame([("u", 1)], "k STRING, id INT"))
    joined = "(SELECT t.k, t.ts, t.x FROM t JOIN names AS n ON n.k = t.k)"
    assert sorted(map(tuple, engine.sql(QUERY.format(joined)).collect())) == pairs(sorted(IN_ORDER))


def test_the_nearest_of_one_time_in_a_table(spark, tmp_path):
    write_files(tmp_path / "in")
    engine = cepsql.connect(spark)
    engine.sql(define("TABLE", "t", tmp_path / "in"))
    engine.register(
        "o", spark.createDataFrame([("u", 4)], "k STRING, id INT").selectExpr("*", f"TIMESTAMP '{TIME}' AS at")
    )
    for right in ("t", "(SELECT k, ts, x FROM t WHERE x <> 0)"):
        for condition, nearest in (("o.at >= t.ts", 0 if right == "t" else 5), ("o.at <= t.ts", 8)):
            join = f"SELECT o.id, t.x FROM o ASOF JOIN {right} AS t MATCH_CONDITION ({condition}) ON o.k = t.k"
            assert [tuple(row) for row in engine.sql(join).collect()] == [(4, nearest)], join


@pytest.mark.parametrize("number", everyday([1, 3]))
def test_the_nearest_of_one_time_is_the_last_one_written(number, spark):
    text = """CREATE STREAM o (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv;
    CREATE STREAM p (k STRING, ts TIMESTAMP, price INT, WATERMARK FOR ts AS ts) USING csv;
    SELECT o.x, p.price FROM o ASOF JOIN p MATCH_CONDITION (o.ts >= p.ts) ON o.k = p.k"""
    prices = [("u", TIME, 9), ("u", TIME, 3), ("u", TIME, 5)]
    ends = {"o": [("u", "2026-01-01 00:00:09", 2)], "p": [("u", "2026-01-01 00:00:09", 1)]}
    batches = [{"p": prices[:number]}, {"p": prices[number:], "o": [("u", "2026-01-01 00:00:02", 1)]}, ends]
    played = play(text, [batch for batch in batches if any(batch.values())], restart=True, spark=spark)
    assert sorted(tuple(row) for batch in played for row in batch) == [(1, 5), (2, 1)]
