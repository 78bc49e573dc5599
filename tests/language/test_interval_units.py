"""Units of intervals, as islands of plain SQL and lengths have them."""

import pytest

from cepsql.language.tokens import DIALECT
from cepsql.language.translate import one_query

SPELLED = {
    "INTERVAL '1' QUARTER": "INTERVAL '3' MONTH",
    "INTERVAL 2 quarters": "INTERVAL '6' MONTH",
    "INTERVAL '-1 quarter'": "INTERVAL '-3' MONTH",
    "INTERVAL '1 year 2 quarters'": "INTERVAL '1 year 6 MONTH'",
    "INTERVAL 1 YEAR 2 QUARTERS": "INTERVAL '1' YEAR + INTERVAL '6' MONTH",
    "INTERVAL '3' DECADES": "INTERVAL '30' YEAR",
    "INTERVAL '1' CENTURY": "INTERVAL '100' YEAR",
    "INTERVAL '2' MILLENNIA": "INTERVAL '2000' YEAR",
    "INTERVAL '90' MIN": "INTERVAL '90' MINUTE",
    "INTERVAL '1 hr 30 sec'": "INTERVAL '1 HOUR 30 SECOND'",
    "INTERVAL '1.5' SECS": "INTERVAL '1.5' SECOND",
    "INTERVAL '250 ms'": "INTERVAL '250' MILLISECOND",
}
KEPT = ("INTERVAL '1-3' YEAR TO MONTH", "INTERVAL '5' MINUTES", "INTERVAL '2' WEEKS", "INTERVAL '1 hour 5 minutes'")


@pytest.mark.parametrize("written", [*SPELLED, *KEPT])
def test_units(written):
    query = one_query(f"SELECT {written} AS x FROM t AS m")
    assert query.expression.expressions[0].this.sql(DIALECT) == SPELLED.get(written, written)
    assert bool(query.respelt) == (written in SPELLED)


@pytest.mark.parametrize("length", ["1 QUARTER", "'1 quarter'", "INTERVAL '1' QUARTER", "3 MONTH"])
def test_lengths_of_clauses(length):
    query = one_query(f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) WITHIN {length})")
    assert query.operators[0].within.sql(DIALECT) == "INTERVAL '3' MONTH"
    query = one_query(f"SELECT * FROM t WINDOW TUMBLING (SIZE {length})")
    assert query.operators[0].size.sql(DIALECT) == "INTERVAL '3' MONTH"
