"""The text that Spark is given: what was written, with other names for relations."""

import re
from pathlib import Path

import pytest
from catalog import engine

from cepsql.analysis.sql.parameters import bind_parameters
from cepsql.analysis.sql.resolve import flatten_names
from cepsql.analysis.sql.written import written_input, written_query
from cepsql.errors import Error
from cepsql.language import statements as st
from cepsql.language.translate import statements

LANGUAGE = Path(__file__).parents[1] / "language"
MATCH = "MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.price AS p PATTERN (A) DEFINE A AS price > 1)"


def texts(*files):
    for file in files:
        for case in re.split(r"^====\n", (LANGUAGE / file).read_text("utf-8"), flags=re.MULTILINE):
            yield re.sub(r"^#.*\n", "", case, flags=re.MULTILINE).partition("\n----\n")[0]


def queries():
    for text in texts("plain.sql", "matches.sql"):
        try:
            queries_of_text = [statement for statement in statements(text) if isinstance(statement, st.ParsedQuery)]
        except Error:
            continue
        yield from queries_of_text


def test_the_text_says_the_same_as_the_tree():
    seen = 0
    for query in queries():
        written = [(written_query(query, query.expression), query.expression)]
        written += [(written_input(query, clause, clause.input), clause.input) for clause in query.operators]
        for text, tree in written:
            if text is None:
                continue
            seen += 1
            (again,) = statements(text.sql(lambda name: f"`{name.replace('.', '__')}`"))
            if not isinstance(tree, type(again.expression)):
                continue
            assert plain(again.expression) == plain(flatten_names(tree)), query.sql
    assert seen > 150


def plain(tree) -> str:
    """Write a tree without quotes round names, and brackets round nothing but a table."""
    text = tree.sql("spark").replace("`", "")
    text = re.sub(r"\((\w+) AS \w+\)(?= AS)", r"\1", text)
    return re.sub(r"\((\w+(?: AS \w+)?)\)(?= JOIN| AS|$)", r"\1", text)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 0x1F, DECIMAL '1.50' -- why\n FROM ticks", "SELECT 0x1F, DECIMAL '1.50' -- why\n FROM V AS `ticks`"),
        ("SELECT  t.sym\tFROM `ticks` AS t", "SELECT  t.sym\tFROM V AS t"),
        ("WITH c AS (SELECT 1 AS a) SELECT * FROM c", "WITH c AS (SELECT 1 AS a) SELECT * FROM c"),
        ("EXPLAIN (SELECT sym FROM ticks)", "(SELECT sym FROM V AS `ticks`)"),
        (f"SELECT p FROM ticks {MATCH} WHERE p > 0x1F", "SELECT p FROM V AS `__match_0` WHERE p > 0x1F"),
        (f"SELECT p FROM (ticks {MATCH} AS m) x", "SELECT p FROM (V AS m) x"),
        (f"SELECT p FROM (SELECT * FROM ticks) {MATCH} {MATCH.replace('price', 'p')} m", "SELECT p FROM V m"),
        ("SELECT :a, v:a.b, ? FROM ticks", "SELECT (1), v:a.b, (2) FROM V AS `ticks`"),
        ("SELECT sym FROM ticks LIMIT 3", "SELECT sym FROM V AS `ticks` LIMIT 3"),
    ],
)
def test_only_names_and_parameters_change(sql, expected):
    (statement,) = statements(sql)
    query = statement.query if isinstance(statement, st.Explain) else statement
    query = bind_parameters(query, {"a": 1, **{name.text: 2 for name in query.parameters if name.text != "a"}})
    assert written_query(query, query.expression).sql(lambda name: "V") == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sym FROM ticks ORDER BY qty FETCH FIRST 2 ROWS ONLY",
        "SELECT sym FROM ticks ORDER BY qty OFFSET 1 ROW",
        "SELECT sym FROM ticks WHERE qty BETWEEN SYMMETRIC 2 AND 1",
        "SELECT sym FROM ticks WHERE qty BETWEEN ASYMMETRIC 1 AND 2",
        "SELECT sym, tag FROM ticks, UNNEST(tags) AS u (tag)",
        "SELECT sym, tag FROM ticks LEFT JOIN LATERAL explode(tags) AS u (tag) ON true",
        "SELECT sym, tag FROM ticks CROSS JOIN LATERAL TABLE(explode(tags)) AS u (tag)",
        "SELECT * EXCLUDE (tags), ARRAY[1] AS a FROM ticks",
    ],
)
def test_where_spark_does_not_read_the_words_there_is_no_text(sql):
    (query,) = statements(sql)
    assert written_query(query, query.expression) is None


def test_such_words_in_an_operator_leave_the_text_around_it():
    (query,) = statements(f"SELECT p FROM (SELECT ARRAY[1] AS a, * FROM ticks) {MATCH} WHERE p > 0x1F")
    assert written_input(query, query.operators[0], query.operators[0].input) is None
    assert written_query(query, query.expression).sql(str).endswith("WHERE p > 0x1F")


def test_where_an_alias_cannot_follow_the_name_there_is_no_text():
    (query,) = statements("SELECT sym FROM ticks TABLESAMPLE (5 ROWS)")
    assert written_query(query, query.expression) is None


def test_a_query_over_a_stream_loses_its_limit_only():
    plan = engine().query("SELECT sym, 0x1F FROM ticks LIMIT 3").plan
    assert plan.limit == 3
    assert plan.root.written.sql(lambda name: "V") == "SELECT sym, 0x1F FROM V AS `ticks` "


def test_views_stand_in_the_text():
    session = engine()
    session.sql("CREATE VIEW dear AS SELECT sym, DECIMAL '1.5' AS d FROM ticks -- the dear ones")
    plan = session.query("SELECT d FROM dear WHERE d > 0x1F").plan
    assert plan.root.written.sql(lambda name: "V") == (
        "SELECT d FROM (SELECT sym, DECIMAL '1.5' AS d FROM V AS `ticks`\n) AS `dear` WHERE d > 0x1F"
    )
