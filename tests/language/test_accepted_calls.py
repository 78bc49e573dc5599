"""Which calls of functions of other engines become Spark's, and which stay as they are."""

import pytest

from cepsql.language.foreign.accepted_calls import accepted_names, called_names, spark_calls
from cepsql.language.foreign.accepted_functions import FORMS
from cepsql.language.foreign.foreign_functions import INSTEAD
from cepsql.language.tokens import Text
from cepsql.language.translate import statements

REWRITTEN = {
    "IFF(a > 1, IFF(b, 1, 2), 3)": "if ( a > 1 , if ( b , 1 , 2 ) , 3 )",
    "sum(iff(a, b, c)) OVER w": "sum ( if ( a , b , c ) ) OVER w",
    "COUNTIF(x) FILTER (WHERE y) OVER (ORDER BY z)": "count_if ( x ) FILTER ( WHERE y ) OVER ( ORDER BY z )",
    "TOPK(x, 3) OVER w + 1": "slice ( sort_array ( collect_list ( x ) OVER w , false ) , 1 , 3 ) + 1",
    "2 / RATIO_TO_REPORT(x) OVER ()": "2 / ( ( x ) / sum ( x ) OVER ( ) )",
    "FLOOR(a + b TO MINUTE)": "date_trunc ( MINUTE , a + b )",
    "DATE_ADD('day', -3, d)": "( d - INTERVAL 3 DAY )",
    "DATE_ADD('day', n, d)": "DATEADD ( DAY , n , d )",
    "DATE_SUB(d, INTERVAL 3 DAY)": "( d - INTERVAL 3 DAY )",
    "SAFE.PARSE_DATE('%Y', x)": "CAST ( try_to_timestamp ( x , yyyy ) AS DATE )",
    "SAFE.f(x, IFF(a, b, c))": "TRY ( f ( x , if ( a , b , c ) ) )",
    "TRANSFORM(xs, (a, b) => a + b)": "TRANSFORM ( xs , ( a , b ) -> a + b )",
    "MAP['a', 1, 'b', 2]": "MAP ( a , 1 , b , 2 )",
    "EXTRACT(ISOWEEK FROM DATE_PARSE(x, '%Y'))": "EXTRACT ( WEEK FROM to_timestamp ( x , yyyy ) )",
    "MAX(x, 2)": "slice ( sort_array ( collect_list ( x ) , false ) , 1 , 2 )",
    "REGEXP_EXTRACT(x, '[(]\\\\([0-9]+')": "regexp_extract ( x , [(]\\([0-9]+ , 0 )",
    "DATE_BIN('1 hour', ts, TIMESTAMP '2000-01-01')": "window ( ts , 1 hour ) . start",
    "JSON_VALUE(x, '$.a' RETURNING INT)": "TRY_CAST ( CASE WHEN schema_of_variant ( try_variant_get ( try_parse_json "
    "( x ) , $.a , variant ) ) RLIKE ^(ARRAY|OBJECT) THEN NULL ELSE get_json_object ( x , $.a ) END AS INT )",
}
"""With the texts without quotes."""

KEPT = (
    "`iff`(a, b, c)", "x.iff(a, b, c)", "IFF(a, b)", "IFF(a, , c)", "'iff' (a, b, c)", "f(x => 1)", "m['a']",
    "MAP(a, b)", "MAX(x)", "DATE_FORMAT(ts, 'yyyy')", "DATE_ADD(d, 3)",
    "DATE_BIN('1 hour', ts, TIMESTAMP '2000-01-01 00:30')",
    "REGEXP_EXTRACT(x, '(a)')", "JSON_VALUE(x, p)", "TO_CHAR(x, 'yyyy-MM-dd')", "TO_CHAR(x, 'YYYY Q')",
    "DATE_PARSE(x, '%q')", "CAST(x AS INT)", "1 FROM generate_series(1, 3)", "1 FROM a, generate_series(1, 3)",
    "1 FROM a JOIN LATERAL GENERATE_SERIES(1, 3)", "CAST(x AS ROW(a INT))", "FLOOR(x)", "PERCENTILE_CONT(0.5)",
)  # fmt: skip


def words(sql: str) -> list[str]:
    return [token.text for token in Text(f"SELECT {sql}").tokens]


@pytest.mark.parametrize("sql", REWRITTEN)
def test_rewritten(sql):
    text = Text(f"SELECT {sql}")
    tokens, places = spark_calls(text.tokens)
    assert " ".join(token.text for token in tokens[1:]) == REWRITTEN[sql]
    assert places


@pytest.mark.parametrize("sql", KEPT)
def test_kept(sql):
    tokens, places = spark_calls(Text(f"SELECT {sql}").tokens)
    assert [token.text for token in tokens] == words(sql)
    assert places == []


def test_no_function_is_both_accepted_and_told_always():
    assert {name for name, _ in FORMS.values()} & set(INSTEAD) == set()
    assert all(name == name.upper() for name in accepted_names() | set(INSTEAD))


OWN = "CREATE VIEW v AS SELECT square(x), /* square(x) */ 'square(', a.square(x), cube(x), Square (square(y)) FROM t"


def test_own_functions_come_first():
    (view,) = statements(OWN, {"square"})
    assert view.sql == (
        "SELECT `square`(x), /* square(x) */ 'square(', a.square(x), cube(x), `Square` (`square`(y)) FROM t"
    )
    assert "POWER" not in view.query.expression.sql(dialect="spark").upper()
    assert statements(f"CREATE VIEW v AS {view.sql}")[0].query.expression == view.query.expression


def test_functions_that_nobody_has_are_those_of_other_engines():
    (view,) = statements(OWN, {"cube"})
    assert view.sql == OWN.removeprefix("CREATE VIEW v AS ").replace("cube(x)", "`cube`(x)")
    assert view.query.expression.sql(dialect="spark").upper().count("POWER") == 3


def test_called_names():
    assert called_names("SELECT Square (x), strpos(a, b), x.iff(1), strposition(x), max(x) FROM zip") == {
        "square",
        "strpos",
    }
