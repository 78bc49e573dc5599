"""Functions of the user's that have the names of functions of other engines."""

import pytest
from pyspark.sql.types import IntegerType

from cepsql.engine import connect
from cepsql.errors import ProgrammingError
from cepsql.language.foreign.accepted_calls import accepted_names
from cepsql.spark.jvm.messages.session_functions import user_functions

ROWS = "VALUES (3), (4) AS t (x)"


@pytest.fixture
def session_with_functions(spark):
    """A session with functions that nobody else of the tests has."""
    session = spark.newSession()
    session.udf.register("square", lambda x: -x, IntegerType())
    session.sql("CREATE TEMPORARY FUNCTION strpos(x STRING, y STRING) RETURNS INT RETURN 77")
    return session


def numbers(query) -> list:
    return sorted(row["n"] for row in query.arrow().to_pylist())


def test_they_come_first(session_with_functions):
    engine = connect(session_with_functions)
    assert numbers(engine.sql(f"SELECT square(x) AS n FROM {ROWS}")) == [-4, -3]
    assert numbers(engine.sql(f"SELECT strpos('a', 'a') + SQUARE (square(x)) AS n FROM {ROWS}")) == [80, 81]


def test_in_conditions_of_a_pattern(session_with_functions):
    query = connect(session_with_functions).sql(
        f"""SELECT * FROM (SELECT x, x AS o FROM {ROWS}) MATCH_RECOGNIZE (ORDER BY o
        MEASURES square(LAST(A.x)) AS n PATTERN (A+) DEFINE A AS square(x) < 0)"""
    )
    assert numbers(query) == [-4]


def test_a_view_keeps_what_its_calls_meant(session_with_functions):
    engine = connect(session_with_functions)
    engine.sql(f"CREATE VIEW own AS SELECT square(x) AS n FROM {ROWS}")
    assert ("SELECT `square`(x) AS n FROM VALUES (3), (4) AS t (x)",) in engine.sql("SHOW CREATE VIEW own").rows
    session_with_functions.sql("DROP TEMPORARY FUNCTION square")
    engine.sql(f"CREATE VIEW foreign AS SELECT square(x) AS n FROM {ROWS}")
    assert numbers(engine.sql("SELECT n FROM foreign")) == [9, 16]
    session_with_functions.udf.register("square", lambda x: -x, IntegerType())
    assert numbers(engine.sql("SELECT n FROM own")) == [-4, -3]
    assert numbers(engine.sql("SELECT n FROM foreign")) == [9, 16]
    engine.check("SELECT square(n) FROM foreign")


def test_a_mistake_is_shown_where_it_was_written(session_with_functions):
    engine, sql = connect(session_with_functions), f"SELECT square(x), square(x), nosuch FROM {ROWS}"
    with pytest.raises(ProgrammingError) as raised:
        engine.sql(sql).arrow()
    assert (raised.value.text, raised.value.span.start) == (sql, sql.index("nosuch"))


def test_functions_of_spark_are_nobodys(spark):
    assert user_functions(spark.newSession(), {name.lower() for name in accepted_names()}) == frozenset()
