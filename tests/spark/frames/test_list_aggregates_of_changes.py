"""Aggregates that are expressions over others have the values that Spark's own have."""

import pytest
from sqlglot import exp, parse_one

from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.errors import Span
from cepsql.plan.changes.composed_aggregates import with_composed_aggregates

CALLS = (
    "BIT_AND(x)", "BIT_OR(x)", "BIT_XOR(x)", "BIT_XOR(DISTINCT x)", "CORR(x, y)", "COVAR_POP(x, y)", "COVAR_SAMP(x, y)",
    "REGR_COUNT(y, x)", "REGR_AVGX(y, x)", "REGR_AVGY(y, x)", "REGR_SXX(y, x)", "REGR_SYY(y, x)", "REGR_SXY(y, x)",
    "REGR_SLOPE(y, x)", "REGR_INTERCEPT(y, x)", "REGR_R2(y, x)", "PERCENTILE_APPROX(x, 0.4)", "APPROX_PERCENTILE(x, 0)",
    "APPROX_PERCENTILE(x, array(0.5, 1.0), 100)", "PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY x DESC)", "SKEWNESS(x)",
    "APPROX_COUNT_DISTINCT(x)", "KURTOSIS(x)", "CORR(x, y) FILTER (WHERE x > 1)", "BIT_OR(x) FILTER (WHERE y > 2.5)",
)  # fmt: skip
ROWS = """
    VALUES ('many', 1, 2.0), ('many', 2, 2.5), ('many', 7, 9.0), ('many', 7, -1.0), ('many', NULL, 4.0),
      ('many', 12, NULL), ('pair', 1, 3.5), ('pair', 4, 1.0), ('one', 5, 1.0), ('none', NULL, 1.0), ('half', 3, NULL)
"""


def test_composed_aggregates_have_sparks_values(spark):
    text = f"SELECT k, {', '.join(f'{call} AS r{number}' for number, call in enumerate(CALLS))} FROM t GROUP BY k"
    select = parse_one(text, read="spark")
    assert isinstance(select, exp.Select)
    composed = with_composed_aggregates(select, None, Span(0, 0)).copy()
    for node in [*composed.find_all(exp.ArrayAgg)]:
        # An operator gives lists in the order of their values.
        around = node.parent if isinstance(node.parent, exp.Filter) else node
        around.replace(exp.func("array_sort", around.copy()))
    spark_own, of_lists = (spark.sql(f"WITH t (k, x, y) AS ({ROWS}) {one}") for one in (text, sql_of(composed)))
    rows_by_key = {row.k: row for row in of_lists.collect()}
    for row in spark_own.collect():
        for number, call in enumerate(CALLS):
            one, other = row[number + 1], rows_by_key[row.k][number + 1]
            assert other == (pytest.approx(one) if isinstance(one, float) else one), (row.k, call)
    assert [kind for _, kind in of_lists.dtypes] == [kind for _, kind in spark_own.dtypes]
