"""A checkpoint goes on with the query that it belongs to, and with no other."""

import json

import pytest

from cepsql.engine import connect
from cepsql.errors import OperationalError

STREAM = "CREATE OR REPLACE STREAM s ({columns}, WATERMARK FOR ts AS ts) USING csv OPTIONS (path '{path}'{options})"
COLUMNS = "k STRING, y STRING, ts TIMESTAMP, x INT"
MATCH = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS a, B.x AS b PATTERN (A B) DEFINE B AS x > A.x)"
QUERY = f"SELECT * FROM (SELECT k, ts, x FROM s) {MATCH}"


@pytest.fixture
def engine(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("a,b,2026-01-01 00:00:01,1\na,b,2026-01-01 00:00:05,0\n")
    connected = connect(spark)
    connected.sql(STREAM.format(columns=COLUMNS, path=tmp_path / "in", options=""))
    return connected


def run(engine, sql: str, checkpoint) -> list[dict]:
    """Process what is there, and return the rows that came out."""
    tables = []
    with engine.sql(sql).start(lambda table, _: tables.append(table), checkpoint=str(checkpoint)) as standing:
        standing.process_available()
    return [row for table in tables for row in table.to_pylist()]


def test_the_same_query_goes_on(engine, tmp_path):
    assert run(engine, QUERY, tmp_path / "checkpoint") == []
    (tmp_path / "in" / "2.csv").write_text("a,b,2026-01-01 00:00:07,3\na,b,2026-01-01 00:00:09,0\n")
    engine.sql(STREAM.format(columns=COLUMNS, path=tmp_path / "in", options=", maxFilesPerTrigger '1'"))
    reworded = QUERY.replace("SELECT *", "select  *").replace("x > A.x", "X > a.x  /* rising */")
    assert run(engine, f"{reworded}\n", tmp_path / "checkpoint") == [{"k": "a", "a": 0, "b": 3}]


OTHERS = [
    (QUERY.replace("k, ts, x", "y AS k, ts, x"), r"inputs\[0\].sql was SELECT \* FROM \(SELECT k, ts, x FROM s\)"),
    (QUERY.replace("k, ts, x", "k, ts, x * 3 AS x"), "x [*] 3 AS x"),
    (QUERY.replace("B.x AS b", "B.x + 1 AS b"), "measures"),
    (f"SELECT a FROM (SELECT k, ts, x FROM s) {MATCH}", "query.sql was"),
    (QUERY.replace("SELECT k, ts, x FROM s", "SELECT k, ts, x FROM v"), "inputs"),
]


def test_another_query_is_refused(engine, tmp_path):
    run(engine, QUERY, tmp_path / "checkpoint")
    engine.sql("CREATE VIEW v AS SELECT * FROM s WHERE x < 9")
    for other, said in OTHERS:
        with pytest.raises(OperationalError, match=rf"belongs to a different query: [^\n]*{said}"):
            run(engine, other, tmp_path / "checkpoint")


def test_another_source_is_refused(engine, tmp_path):
    run(engine, QUERY, tmp_path / "checkpoint")
    (tmp_path / "elsewhere").mkdir()
    engine.sql(STREAM.format(columns=COLUMNS, path=tmp_path / "elsewhere", options=""))
    with pytest.raises(OperationalError, match=r"options.path was \S+/in and is \S+/elsewhere"):
        run(engine, QUERY, tmp_path / "checkpoint")
    engine.sql(STREAM.format(columns=COLUMNS.replace("x INT", "x BIGINT"), path=tmp_path / "in", options=""))
    with pytest.raises(OperationalError, match="was int and is bigint"):
        run(engine, QUERY, tmp_path / "checkpoint")


def test_another_time_zone_is_refused(engine, spark, tmp_path):
    run(engine, QUERY, tmp_path / "checkpoint")
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        with pytest.raises(OperationalError, match=r"session.spark.sql.session.timeZone was .* and is Asia/Tokyo"):
            run(engine, QUERY, tmp_path / "checkpoint")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_registered_frames_are_told_apart(engine, spark, tmp_path):
    def registered(condition: str):
        rows = spark.readStream.schema("k STRING, y STRING, ts TIMESTAMP, x INT").csv(str(tmp_path / "in"))
        engine.register("s", rows.where(condition), ("ts", "0 seconds"))

    registered("x < 5")
    run(engine, QUERY, tmp_path / "checkpoint")
    registered("x < 5")
    run(engine, QUERY, tmp_path / "checkpoint")
    registered("x < 6")
    with pytest.raises(OperationalError, match=r"inputs.s.frame was"):
        run(engine, QUERY, tmp_path / "checkpoint")


def test_a_checkpoint_of_an_earlier_format_is_refused(engine, tmp_path):
    run(engine, QUERY, tmp_path / "checkpoint")
    file = tmp_path / "checkpoint" / "plan.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 2}))
    with pytest.raises(OperationalError, match="in the format of another version of cepsql") as raised:
        run(engine, QUERY, tmp_path / "checkpoint")
    assert "replay" in raised.value.hint
