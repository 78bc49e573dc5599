"""How keys are spread stays with a checkpoint, whatever the session's settings become."""

import pytest
from chance import everyday

import cepsql

QUERY = """SELECT * FROM s MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.x AS a, B.x AS b PATTERN (A B) DEFINE A AS A.x = 1, B AS B.x = 2)"""
KEYS = "abcdefgh"


@pytest.mark.parametrize("scan", everyday(["auto", "spark"]))
def test_open_matches_are_found_again_with_other_shuffle_partitions(spark, tmp_path, scan):
    folder, seen = tmp_path / "in", []
    folder.mkdir()
    engine = cepsql.connect(spark)
    engine.sql(f"""SET cepsql.scan = '{scan}';
        CREATE STREAM s (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv OPTIONS (path '{folder}')""")

    def run(number: int) -> None:
        rows = [f"{key},2026-01-01 00:00:0{number},{number}\n" for key in KEYS]
        (folder / f"{number}.csv").write_text("".join(rows))
        query = engine.sql(QUERY)
        with query.start(lambda rows, _: seen.extend(rows.to_pylist()), checkpoint=str(tmp_path / "c")) as standing:
            standing.process_available()

    run(1)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        run(2)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    assert sorted(row["k"] for row in seen) == list(KEYS)
