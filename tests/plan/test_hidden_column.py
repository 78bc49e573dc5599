"""A hidden column passes through the plain SQL above a stream."""

import pytest
from sqlglot import parse_one

from cepsql.errors import NotSupportedError
from cepsql.language.tokens import DIALECT
from cepsql.plan.names.hidden_column import carry_column

CASES = {
    "SELECT * FROM s": "SELECT * FROM s",
    "SELECT a FROM s": "SELECT a, s.h FROM s",
    "SELECT x.a FROM s AS x WHERE a > 0": "SELECT x.a, x.h FROM s AS x WHERE a > 0",
    "SELECT x.* FROM s AS x": "SELECT x.* FROM s AS x",
    "SELECT t.* FROM t JOIN s ON t.a = s.a": "SELECT t.*, s.h FROM t JOIN s ON t.a = s.a",
    "SELECT p FROM s AS x(p, q)": "SELECT p, x.h FROM s AS x(p, q, h)",
    "SELECT b FROM (SELECT a AS b FROM s)": "SELECT b, h FROM (SELECT a AS b, s.h FROM s)",
    "SELECT b FROM (SELECT * FROM s) AS x(b)": "SELECT b, x.h FROM (SELECT * FROM s) AS x(b, h)",
    "WITH c(p) AS (SELECT a FROM s) SELECT y.p FROM c AS y": "WITH c(p, h) AS (SELECT a, s.h FROM s) "
    "SELECT y.p, y.h FROM c AS y",
}


@pytest.mark.parametrize("text", CASES)
def test_carry(text):
    query = parse_one(text, dialect=DIALECT)
    assert carry_column(query, "s", "h").sql(dialect=DIALECT) == CASES[text]
    assert query.sql(dialect=DIALECT) == text


@pytest.mark.parametrize(
    "text",
    [
        "WITH c AS (SELECT * FROM s) SELECT x.a FROM c AS x JOIN c AS y ON x.a = y.a",
        "SELECT * FROM (SELECT a FROM t UNION ALL SELECT a FROM s)",
    ],
)
def test_where_it_does_not_pass(text):
    with pytest.raises(NotSupportedError, match="LATE ROWS INTO"):
        carry_column(parse_one(text, dialect=DIALECT), "s", "h")
