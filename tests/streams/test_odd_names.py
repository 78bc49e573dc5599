"""Columns whose names Spark reads as paths, where tasks of Python's see the rows of a stream."""

import json
from pathlib import Path

import pyarrow as pa

import cepsql
from cepsql.spark.frames.arrow_rows import map_rows


def put(file: Path, *rows: dict | str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))


def test_a_point_in_the_name_of_a_column(tmp_path, spark):
    engine = cepsql.connect(spark, catalog="")
    columns = "id INT, `a.b` STRING, at TIMESTAMP"
    put(tmp_path / "old" / "1.json", {"id": 1, "a.b": "x", "at": "2026-03-02 09:00:01"})
    put(tmp_path / "in" / "1.json", {"id": 2, "a.b": "y", "at": "2026-03-02 09:00:05"}, '{"id": 3,')
    put(tmp_path / "places" / "1.json", {"a.b": "x"}, {"a.b": "y"})
    engine.sql(f"""
        CREATE TABLE old ({columns}) USING json OPTIONS (path '{tmp_path}/old');
        CREATE TABLE places (`a.b` STRING) USING json OPTIONS (path '{tmp_path}/places')
        REFRESH EVERY INTERVAL '1' MINUTE;
        CREATE STREAM s ({columns}, WATERMARK FOR at AS at) USING json OPTIONS (path '{tmp_path}/in')
        BACKFILL FROM old UNTIL TIMESTAMP '2026-03-02 09:00:03'
        LATE ROWS INTO late USING parquet OPTIONS (path '{tmp_path}/late')
    """)

    def drained(query: str) -> list[dict]:
        with engine.query(query).start(drain=True) as standing:
            return [row for rows in standing.rows() for row in rows.to_pylist()]

    output = drained("SELECT s.id, places.`a.b` FROM s JOIN places USING (`a.b`)")
    assert sorted(output, key=str) == [{"id": 1, "a.b": "x"}, {"id": 2, "a.b": "y"}]
    late = engine.query("SELECT * FROM late").collect()
    assert [(row["reason"], row["record"], row["a.b"]) for row in late] == [("malformed", '{"id": 3,', None)]
    # Spark's own groups, without a function of ours above them.
    grouped = "SELECT `a.b`, count(*) AS c FROM s GROUP BY window(at, '1 minute'), ROLLUP(`a.b`)"
    assert sorted(map(str, drained(grouped))) == [
        str({"a.b": name, "c": count}) for name, count in (("x", 1), ("y", 1), (None, 2))
    ]


def test_names_that_are_equal(spark):
    frame = spark.sql("SELECT 1 AS `a.b`, 2 AS `a.b`, 3 AS A, 4 AS a, 5 AS `b``c`")

    def last(batches):
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([str(batch.schema.names)]), batch["b`c"]], ["names", "c"])

    assert map_rows(frame, last, "names STRING, c INT").collect() == [(str(["a.b", "a.b", "A", "a", "b`c"]), 5)]
