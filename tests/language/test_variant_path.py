"""Parts of a VARIANT by path, and what a colon means elsewhere."""

import pytest

from cepsql.errors import ProgrammingError
from cepsql.language.islands import parse_island
from cepsql.language.tokens import DIALECT, Text
from cepsql.language.translate import statements

READ = (
    ("v:a", "VARIANT_GET(v, '$.a')"),
    ("v:a.b[0]['c d'].e", r"VARIANT_GET(v, '$.a.b[0][\'c d\'].e')"),
    ("t.v:a::INT", "CAST(VARIANT_GET(t.v, '$.a') AS INT)"),
    ("v : a", "VARIANT_GET(v, '$.a')"),
    ("v: a", "VARIANT_GET(v, '$.a')"),
    ("v:['s']", "VARIANT_GET(v, '$.s')"),
    ("v:`q r`.s", r"VARIANT_GET(v, '$[\'q r\'].s')"),
    ("v:a[-1]", "VARIANT_GET(v, '$.a[-1]')"),
    ("v:a[*]", "VARIANT_GET(v, '$.a[*]')"),
    ("v:a:b", "VARIANT_GET(v, '$.a.b')"),
    ("v:a[i]", "VARIANT_GET(v, '$.a')[i]"),
    ("v:select = 1", "VARIANT_GET(v, '$.select') = 1"),
    ("date:d", "VARIANT_GET(date, '$.d')"),
    ("f(v):a", "VARIANT_GET(F(v), '$.a')"),
    ("(v):a", "VARIANT_GET((v), '$.a')"),
    ("vs[0]:a", "VARIANT_GET(vs[0], '$.a')"),
    ("x < v:a AND y > v:b", "x < VARIANT_GET(v, '$.a') AND y > VARIANT_GET(v, '$.b')"),
    ("CASE WHEN v:a THEN :p ELSE w:b END", "CASE WHEN VARIANT_GET(v, '$.a') THEN :p ELSE VARIANT_GET(w, '$.b') END"),
    ("x BETWEEN :low AND :high", "x BETWEEN :low AND :high"),
    ("CAST(x AS STRUCT<a: INT, b: ARRAY<STRUCT<c:INT>>>)", "CAST(x AS STRUCT<a: INT, b: ARRAY<STRUCT<c: INT>>>)"),
    ("CAST(x AS STRUCT<a: INT>).a > v:b", "CAST(x AS STRUCT<a: INT>).a > VARIANT_GET(v, '$.b')"),
)


@pytest.mark.parametrize(("expression", "written"), READ)
def test_a_colon_is_read(expression, written):
    text = Text(f"SELECT {expression}")
    assert parse_island(text, text.tokens).sql(DIALECT) == f"SELECT {written}"


@pytest.mark.parametrize("names", [("v:a", "a"), ("v:a.b", "b"), ("v:a['c d']", "c d"), ("v:a AS x", "x")])
def test_a_part_has_the_name_of_its_last_step(names):
    text = Text(f"SELECT {names[0]}")
    assert [item.output_name for item in parse_island(text, text.tokens).expressions] == [names[1]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("SELECT v:", "unexpected :"),
        ("SELECT v:+a", "unexpected :"),
        ("SELECT v:a.", "something is missing after ."),
        ("SELECT v:a[0", "is never closed"),
        ("SELECT x :p FROM t", "unexpected :"),
        ("SELECT x ? FROM t", "unexpected ?"),
    ],
)
def test_what_is_no_path_is_refused(wrong, message):
    with pytest.raises(ProgrammingError) as caught:
        list(statements(wrong))
    assert message in caught.value.message
