"""Whatever Spark refuses comes out as an error of ours, whichever way the query is run."""

import itertools

import pytest
from chance import everyday

import cepsql
from cepsql.clause import match_recognize
from cepsql.errors import Error, InternalError, OperationalError
from cepsql.testing import play

ROWS = "(VALUES (1, 2), (2, 3)) AS t(a, b)"
STREAM = "CREATE STREAM s (ts TIMESTAMP, a INT, b INT, WATERMARK FOR ts AS ts) USING csv;"
WRONG = (
    "no_such_function(a)",
    "LAST(no_such_function(A.a))",
    "a + array(1)",
    "upper(map(1, a))",
    "a.field",
    "bool_or(a)",
    "percentile(a, 'x')",
    "INTERVAL 'x' DAY",
)


CLAUSES = ("MEASURES {} AS x PATTERN (A+)", "MEASURES 1 AS x PATTERN (A+) DEFINE A AS {} = b")


@pytest.mark.parametrize(("expression", "clause"), everyday(itertools.product(WRONG, CLAUSES), 7))
def test_match(spark, expression, clause) -> None:
    engine, said = cepsql.connect(spark), clause.format(expression)
    query = engine.sql(f"SELECT * FROM {ROWS} MATCH_RECOGNIZE (ORDER BY a {said})") if _plans(engine, said) else None
    for action in (
        lambda: query.df,
        lambda: query.columns,
        lambda: query.collect(),
        lambda: query.arrow(),
        lambda: play(f"{STREAM} SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts {said})", [], spark=spark),
        lambda: engine.sql(f"{STREAM} SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts {said})").start(),
        lambda: match_recognize(spark.sql(f"SELECT * FROM {ROWS}"), f"ORDER BY a {said}"),
    ):
        if query is not None or "query" not in action.__code__.co_freevars:
            _refused(action)


def test_explain_match(spark) -> None:
    for expression in WRONG[:3]:
        clause = f"ORDER BY a MEASURES 1 AS x PATTERN (A+) DEFINE A AS {expression} = b"
        query = cepsql.connect(spark).sql(f"SELECT * FROM {ROWS} MATCH_RECOGNIZE ({clause})")
        _refused(query.explain_match)


def _plans(engine, said: str) -> bool:
    try:
        engine.sql(f"SELECT * FROM {ROWS} MATCH_RECOGNIZE (ORDER BY a {said})")
    except Error:
        return False
    return True


@pytest.mark.parametrize("expression", ["no_such_function(a)", "a + array(1)", "a.field"])
def test_plain(spark, expression) -> None:
    engine = cepsql.connect(spark)
    _refused(lambda: engine.sql(f"SELECT {expression} AS x FROM {ROWS}").collect())
    _refused(lambda: engine.sql(f"EXPLAIN SPARK SELECT {expression} AS x FROM {ROWS}"))
    _refused(lambda: engine.sql(f"CREATE VIEW v AS SELECT {expression} AS x FROM {ROWS}; SELECT * FROM v").columns)


def _refused(action) -> None:
    with pytest.raises(Error) as raised:
        action()
    assert not isinstance(raised.value, InternalError)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT * FROM {ROWS} MATCH_RECOGNIZE (ORDER BY a MEASURES Twice(a) AS x PATTERN (A))",
        f"SELECT Twice(a) AS x FROM {ROWS}",
    ],
    ids=["measure", "plain"],
)
def test_points_at_an_unknown_function(spark, sql) -> None:
    with pytest.raises(Error) as raised:
        cepsql.connect(spark).query(sql).collect()
    error = raised.value
    assert error.message == "there is no function Twice"
    assert error.text[error.span.start : error.span.end] == "Twice"


MATCH = "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES {} AS z PATTERN (A) DEFINE A AS {})"
MINUTES = "FROM s GROUP BY window(ts, '1 minute')"
JOIN = "FROM s a JOIN r b ON a.b = b.b AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '5' MINUTES"


@pytest.mark.parametrize(
    "statement, said, place",
    [
        (MATCH.format("A.ts + A.b", "true"), "(A.ts + A.b)", "A.ts + A.b"),
        (MATCH.format("upper(array(LAST( A.a )))", "true"), "upper(array(LAST(A.a)))", "upper(array(LAST( A.a )))"),
        (MATCH.format("sum(A.m)", "true"), "sum(A.m)", "sum(A.m)"),
        (MATCH.format("array_agg(A.a) + 1", "true"), "(ARRAY_AGG(A.a) + 1)", "array_agg(A.a) + 1"),
        (MATCH.format("approx_percentile(A.m, 0.5)", "true"), "approx_percentile(A.m, 0.5, 10000)", None),
        (MATCH.format("1", "A.a + A.m > 1"), "(a + m)", "A.a + A.m"),
        (f"SELECT upper(collect_list(a)) {MINUTES}", "upper(COLLECT_LIST(a))", "upper(collect_list(a))"),
        (f"SELECT sum(m) {MINUTES}", "sum(m)", "sum(m)"),
        (f"SELECT a + window.start {MINUTES}, a", "(a + window.start)", "a + window.start"),
        ("SELECT max(a) + max(ts) FROM s GROUP BY b EMIT CHANGES", "(MAX(a) + MAX(ts))", "max(a) + max(ts)"),
        ("SELECT -lag(ts) OVER (ORDER BY ts) FROM s", "(- LAG(ts) OVER (ORDER BY ts))", "-lag(ts) OVER (ORDER BY ts)"),
        (f"SELECT a.a + b.ts {JOIN}", "(a.a + b.ts)", "a.a + b.ts"),
    ],
)
def test_columns_that_operators_make_are_called_as_they_were_written(spark, tmp_path, statement, said, place) -> None:
    engine = cepsql.connect(spark)
    for name in "sr":
        engine.sql(
            f"CREATE STREAM {name} (ts TIMESTAMP, a INT, b INT, m MAP<STRING, INT>, WATERMARK FOR ts AS ts) "
            f"USING json OPTIONS (path '{tmp_path}')"
        )
    with pytest.raises(Error) as caught:
        engine.sql(statement).start()
    assert f'"{said}"' in caught.value.message
    span = caught.value.span
    assert (span and statement[span.start : span.end]) == place


@pytest.mark.parametrize(
    ("sql", "said", "pointed"),
    [
        (f"SELECT LAG(a) FROM {ROWS}", 'Window function "lag(a, 1, NULL)" requires an OVER clause', "LAG"),
        (
            f"SELECT * FROM {ROWS} MATCH_RECOGNIZE (ORDER BY a MEASURES collect_list(A.a, 1) AS x PATTERN (A))",
            "The `collect_list` requires 1 parameters but the actual number is 2",
            "collect_list",
        ),
        (f"SELECT a FROM {ROWS} WINDOW w AS", "Syntax error at or near 'WINDOW'", "WINDOW"),
    ],
    ids=["plain", "measure", "syntax"],
)
def test_points_at_a_refused_call(spark, sql, said, pointed) -> None:
    with pytest.raises(Error) as raised:
        cepsql.connect(spark).query(sql).collect()
    error = raised.value
    assert (error.message, error.text[error.span.start : error.span.end]) == (said, pointed)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("uper(a)", "did you mean upper?"),
        ("json_size(a)", "json_array_length(x)"),
        ("CLASIFIER()", "did you mean CLASSIFIER?"),
        ("MATCH_NUM()", "did you mean MATCH_NUMBER?"),
        ("PRVE(a)", "did you mean PREV?"),
        (
            "xqzw(a)",
            "SHOW FUNCTIONS LIKE 'a*' lists them; engine.spark.udf.register('name', function) adds one of Python's",
        ),
    ],
)
def test_says_which_function_may_be_meant(spark, call, hint) -> None:
    sql = f"SELECT * FROM {ROWS} MATCH_RECOGNIZE (ORDER BY a MEASURES {call} AS x PATTERN (A))"
    with pytest.raises(Error) as raised:
        cepsql.connect(spark).query(sql).collect()
    error = raised.value
    name = call.partition("(")[0]
    assert (error.message, error.hint) == (f"there is no function {name}", hint)
    assert error.text[error.span.start :].startswith(name)


@pytest.mark.parametrize(
    ("condition", "hint"),
    [("COUNT(*) > 1", "HAVING chooses groups"), ("ROW_NUMBER() OVER (ORDER BY a) = 1", "QUALIFY chooses rows")],
)
def test_what_where_cannot_have(spark, condition, hint) -> None:
    with pytest.raises(Error) as raised:
        cepsql.connect(spark).query(f"SELECT a FROM {ROWS} WHERE {condition}").collect()
    error = raised.value
    assert error.message.startswith("WHERE chooses rows before")
    assert error.hint.startswith(hint) and error.text[error.span.start : error.span.end] == "WHERE"


def test_a_join_with_a_wide_table_without_rows(spark, tmp_path):
    """Spark does not ask for the rows that it would join with none, where it makes no code of a plan."""
    (tmp_path / "wide.csv").write_text("b\n")
    columns = ", ".join(f"c{i} STRING" for i in range(100))
    wide = f"CREATE TABLE wide (b INT, {columns}) USING csv OPTIONS (path '{tmp_path}', header 'true');"
    query = "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES A.b AS b PATTERN (A)) AS m JOIN wide USING (b)"
    with pytest.raises(OperationalError, match="a table that the query joins has no rows") as caught:
        play(STREAM + wide + query, [[("2026-01-01 00:00:00", 1, 2)]], spark=spark)
    assert "spark.sql.codegen.maxFields" in caught.value.hint
