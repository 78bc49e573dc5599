"""Plain SQL through cepsql against Spark itself: the same rows and columns, or the same refusal."""

import pytest
from chance import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from cepsql.engine import connect
from cepsql.errors import Error

CONSTANTS = (
    "1", "-2L", "3Y", "1.50", "1.5BD", "2.5e1", "1.5F", "'it''s'", '"a"', "r'a\\d'", "'a' 'b'", "NULL", "true",
    "X'1F'", "0x1F", "DECIMAL '1.50'", "DATE '2026-01-31'", "TIMESTAMP '2026-01-31 12:00:00'", "INTERVAL '1' DAY",
    "TIME '10:00:00'",
)  # fmt: skip
COLUMNS = ("a", "b", "t.a", "`b`", "u.c")
FORMS = (
    "{0} + {1}", "{0} == {1}", "{0} <=> {1}", "NOT {0} > {1}", "{0}::string", "CAST({0} AS DECIMAL(5, 1))",
    "{0} || {1}", "{0} DIV {1}", "{0} % {1}", "mod({0}, {1})", "nvl({0}, {1})", "if({0} IS NULL, {0}, {1})",
    "{0} BETWEEN {1} AND {0}", "CASE WHEN {0} = {1} THEN 1 ELSE 2 END", "named_struct('x', {0}).x",
    "array({0}, {0})[0]", "to_date({0}, 'y-M-d')", "log({0})", "round({0}, 1)", "/* why */ ({0})",
    "date_format({0}, 'y')", "substring({0} FROM 1 FOR 2)", "typeof({0})", "{0} IN ({1}, {0})", "coalesce({0}, {1})",
    "{0} RLIKE {1}", "try_cast({0} AS INT)", "hash({0})", "{0} ^ {1}", "~{0}",
)  # fmt: skip
FRAMES = (
    "SELECT {0} AS x, {1} FROM t JOIN u ON t.k = u.k WHERE {2} IS NOT NULL -- the end",
    "SELECT {0}, {1} AS `a b` FROM t, u WHERE t.k = u.k AND ({2}) IS NULL",
    "WITH v AS (SELECT * FROM t), w AS (SELECT * FROM v) SELECT {0}, {1}, {2} FROM w AS t JOIN u USING (k)",
    "SELECT count(*), max(x) FROM (SELECT {0} AS x FROM t LEFT JOIN u ON t.k = u.k WHERE {1} = {2})",
    "SELECT {0} FROM t JOIN u ON t.k = u.k UNION ALL SELECT {0} FROM t CROSS JOIN u",
    "SELECT /*+ BROADCAST(u) */ {0}, row_number() OVER (PARTITION BY t.k ORDER BY t.a) FROM t JOIN u ON t.k = u.k",
    "SELECT {0}, EXISTS (SELECT 1 FROM u AS t WHERE t.k = 1) FROM t JOIN u ON t.k = u.k WHERE t.k IN (SELECT k FROM u)",
    "FROM t JOIN u ON t.k = u.k SELECT {0}, {1}",
    "SELECT {0} FROM t JOIN u ON t.k = u.k |> WHERE true |> LIMIT 3",
)  # fmt: skip

expressions = st.recursive(
    st.sampled_from(CONSTANTS + COLUMNS),
    lambda part: st.builds(lambda form, one, other: form.format(one, other), st.sampled_from(FORMS), part, part),
    max_leaves=3,
)
statements = st.builds(
    lambda frame, parts: frame.format(*parts),
    st.sampled_from(FRAMES),
    st.lists(expressions, min_size=3, max_size=3),
)


@pytest.fixture(scope="module")
def engine(spark):
    tables = {
        "t": "SELECT * FROM VALUES (1, 1, 'x'), (2, 5, '2026-01-31'), (3, NULL, '7') AS t (k, a, b)",
        "u": "SELECT * FROM VALUES (1, 1.5), (2, -3.25) AS u (k, c)",
    }
    session, made = spark.newSession(), connect(spark)
    for name, sql in tables.items():
        made.register(name, spark.sql(sql))
        session.sql(sql).createOrReplaceTempView(name)
    made.itself = session
    return made


@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements)
def test_spark_is_given_what_was_written(engine, sql):
    try:
        frame = engine.itself.sql(sql)
        schema, rows = frame.schema.simpleString(), sorted(map(str, frame.collect()))
    except PySparkException:
        with pytest.raises(Error):
            engine.query(sql).collect()
        return
    query = engine.query(sql)
    assert (query.df.schema.simpleString(), sorted(map(str, query.collect()))) == (schema, rows)


def test_what_stands_in_quotes_is_no_variable(spark, tmp_path):
    session = spark.newSession()
    session.conf.set("spark.sql.variable.substitute", "true")
    (tmp_path / "1.json").write_text('{"a": "${abc}", "ts": "2026-01-01 00:00:00"}')
    with connect(session) as engine:
        engine.sql(
            f"CREATE STREAM s (a STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) USING json OPTIONS (path '{tmp_path}')"
        )
        text = "'${abc}' AS x, '${env:HOME}' AS y"
        wanted = [("${abc}", "${env:HOME}")]
        assert engine.query(f"SELECT {text}").collect() == wanted
        for scan in ("auto", "spark"):
            engine.sql(f"SET cepsql.scan = '{scan}'")
            match = f"MATCH_RECOGNIZE (ORDER BY ts MEASURES {text} PATTERN (A) DEFINE A AS a = '${{abc}}')"
            for query in (f"SELECT {text} FROM s WHERE a = '${{abc}}'", f"SELECT x, y FROM s {match}"):
                assert [tuple(row.values()) for row in engine.query(query).rows_now().to_pylist()] == wanted
    assert session.conf.get("spark.sql.variable.substitute") == "true"


def test_words_of_other_engines_are_said_in_sparks(engine):
    sql = """
        SELECT * EXCLUDE (a, b), ARRAY[k, 1] AS ks FROM t LEFT JOIN UNNEST(split(b, '-')) AS u (part) ON true
        WHERE k BETWEEN SYMMETRIC 3 AND 2 ORDER BY k, part OFFSET 1 ROW FETCH FIRST 3 ROWS ONLY
    """
    assert [tuple(row) for row in engine.query(sql).collect()] == [
        (2, "2026", [2, 1]),
        (2, "31", [2, 1]),
        (3, "7", [3, 1]),
    ]
