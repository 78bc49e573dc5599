"""Whatever Spark refuses comes out as an error of ours, whichever way the query is run."""

import pytest

import cepsql
from cepsql.clause import match_recognize
from cepsql.errors import Error, InternalError
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


@pytest.mark.parametrize("expression", WRONG)
@pytest.mark.parametrize("clause", ["MEASURES {} AS x PATTERN (A+)", "MEASURES 1 AS x PATTERN (A+) DEFINE A AS {} = b"])
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
    _refused(lambda: engine.sql(f"EXPLAIN SELECT {expression} AS x FROM {ROWS}"))
    _refused(lambda: engine.sql(f"CREATE VIEW v AS SELECT {expression} AS x FROM {ROWS}; SELECT * FROM v").columns)


def _refused(action) -> None:
    with pytest.raises(Error) as raised:
        action()
    assert not isinstance(raised.value, InternalError)


@pytest.mark.parametrize(
    ("sql", "pointed"),
    [
        (f"SELECT * FROM {ROWS} MATCH_RECOGNIZE (ORDER BY a MEASURES Twice(a) AS x PATTERN (A))", "Twice"),
        (f"SELECT Twice(a) AS x FROM {ROWS}", "Twice(a)"),
    ],
    ids=["measure", "plain"],
)
def test_points_at_an_unknown_function(spark, sql, pointed) -> None:
    with pytest.raises(Error) as raised:
        cepsql.connect(spark).query(sql).collect()
    error = raised.value
    assert error.message == "there is no function Twice"
    assert error.text[error.span.start : error.span.end] == pointed
