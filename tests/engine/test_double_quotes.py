"""What Spark gets of texts and names in double quotes."""

import pytest

from cepsql.engine import connect

ANSI = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}
ROWS = "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t (k, v)"


@pytest.fixture
def sparks(spark):
    """A session in which Spark itself takes what is in double quotes for names."""
    quoting = spark.newSession()
    for key, value in ANSI.items():
        quoting.conf.set(key, value)
    return quoting


def test_a_given_session_says_what_double_quotes_mean(sparks):
    sql = """SELECT "v" AS "a ""b", 'say "v"' AS t FROM t WHERE "k" > 1"""
    sparks.sql(ROWS).createOrReplaceTempView("t")
    engine = connect(sparks)
    assert (
        engine.sql(sql).arrow().to_pylist() == sparks.sql(sql).toArrow().to_pylist() == [{'a "b': "b", "t": 'say "v"'}]
    )


def test_texts_stay_texts_in_it(sparks):
    engine = connect(sparks)
    engine.register("t", sparks.sql(ROWS))
    engine.sql("""SET spark.sql.ansi.doubleQuotedIdentifiers = false; CREATE VIEW w AS SELECT k, "v" AS x FROM t""")
    engine.sql("RESET")
    assert engine.sql("""SELECT "x" FROM "w" WHERE k = 1""").arrow().to_pylist() == [{"x": "v"}]


def test_the_setting_over_a_stream_and_a_pattern(spark, tmp_path):
    (tmp_path / "rows.csv").write_text("1,2026-01-01 00:00:00,a\n2,2026-01-01 00:00:01,a\n")
    engine = connect(spark)
    engine.sql(
        f"""SET spark.sql.ansi.doubleQuotedIdentifiers = true;
        CREATE STREAM s ("the k" INT, ts TIMESTAMP, v STRING, WATERMARK FOR ts AS ts) USING csv
        OPTIONS (path '{tmp_path}')"""
    )
    match = """SELECT "first k" FROM s MATCH_RECOGNIZE (PARTITION BY "v" ORDER BY ts
        MEASURES "A"."the k" AS "first k" PATTERN ("A" B) DEFINE B AS B."the k" > "A"."the k")"""
    output = []
    engine.sql(match).start(on_rows=lambda rows, batch: output.extend(rows.to_pylist()), drain=True).await_()
    assert [row["first k"] for row in output] == [1]
