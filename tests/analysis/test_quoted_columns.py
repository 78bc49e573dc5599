"""Columns in double quotes, which are texts in Spark."""

import pytest
from catalog import engine

from cepsql import connect
from cepsql.errors import ProgrammingError


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("""SELECT "sym" FROM ticks WHERE "Price" > 1""", ["sym", "Price"]),
        ("""SELECT sym FROM ticks WHERE sym = 'price' AND 'sym' <> "other" """, []),
        ("""SELECT sym FROM ticks WHERE 1 < "price" """, ["price"]),
        ("""SELECT MAX("price") AS m FROM trades GROUP BY "sym" """, ["price", "sym"]),
        ("""SELECT named_struct("sym", sym) AS s, date_trunc("day", ts) AS `day` FROM ticks""", []),
        ("""SELECT sym AS "sym" FROM ticks""", []),
        ("""SELECT sym FROM busy WHERE "volume" > 1""", ["volume"]),
        ("""SELECT x FROM (SELECT price AS x FROM ticks) WHERE "x" > 1""", ["x"]),
        ("""WITH c (z) AS (SELECT price FROM ticks) SELECT z FROM c WHERE "z" > 1""", ["z"]),
        ("""SELECT t.sym FROM trades t JOIN companies c ON t.sym = c."sector" """, ["sector"]),
        ("""SELECT sym, ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts) AS n FROM trades QUALIFY "n" = 1""", ["n"]),
        (
            """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.price AS x
            PATTERN (A B) WITHIN INTERVAL '1' DAY DEFINE B AS B.price > 1) WHERE "x" > 1""",
            ["x"],
        ),
        (
            """SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.price AS x
            PATTERN (A B) WITHIN INTERVAL '1' DAY DEFINE B AS "price" > 1)""",
            ["price"],
        ),
    ],
)
def test_a_column_in_double_quotes_is_noticed(sql, names):
    said = engine().query(sql).notices
    assert [notice.split('"')[1] for notice in said] == names


STATEMENTS = {
    "view": """CREATE VIEW v AS SELECT sym FROM ticks WHERE "price" > 1""",
    "query": """CREATE SINK written (sym STRING) USING csv OPTIONS (path '/none');
        CREATE QUERY q INTO written AS SELECT sym FROM ticks WHERE "price" > 1""",
}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_definition_notices_it(kind):
    (notice,) = engine().sql(STATEMENTS[kind]).notices
    assert notice.startswith('"price" in double quotes is a text')


ON = "SET spark.sql.ansi.doubleQuotedIdentifiers = true"


def test_a_setting_makes_double_quotes_names():
    names = engine()
    names.sql(f"""{ON}; CREATE VIEW v AS SELECT "sym" AS "odd ""name", 'a"b' AS t FROM "ticks" -- no "end" """)
    assert names.catalog.find("v").sql == """SELECT `sym` AS `odd "name` , 'a"b' AS t FROM `ticks`"""
    query = names.query("""SELECT "odd ""name" FROM "v" WHERE "t" > 'x'""")
    assert (query.notices, [column.name for column in query.plan.columns]) == ((), ['odd "name'])
    with pytest.raises(ProgrammingError, match="cost"):
        names.query("""SELECT sym FROM ticks WHERE "cost" > 1""")


def test_what_a_view_says_does_not_change_with_the_setting():
    names = engine()
    names.sql("""CREATE VIEW v AS SELECT sym, "price" AS what FROM ticks""")
    names.sql(ON)
    assert [column.type for column in names.query("SELECT what FROM v").plan.columns] == ["string"]


def test_set_and_reset_hold_for_the_statements_behind_them():
    names = engine()
    for text in (f"""{ON}; SELECT "sym" FROM ticks""", """SELECT "sym" FROM ticks"""):
        assert names.sql(text).notices == ()
    for text in ("""RESET; SELECT "sym" FROM ticks""", """SELECT "sym" FROM ticks"""):
        assert len(names.sql(text).notices) == 1
    with connect(conf={"spark.sql.ansi.doubleQuotedIdentifiers": True}) as configured:
        assert configured.sql("SET spark.sql.ansi.doubleQuotedIdentifiers").rows[0][1] == "true"
    with pytest.raises(ProgrammingError, match="must be true or false"):
        names.sql("SET spark.sql.ansi.doubleQuotedIdentifiers = yes")
