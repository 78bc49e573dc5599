"""From when and until when a row fulfils a condition on the time of now is what Spark says of it at every hour."""

from sqlglot import exp, parse_one

from cepsql.analysis.clauses.valid_times import TIMESTAMP, is_clock, valid_times
from cepsql.errors import Span
from cepsql.language.tokens import DIALECT

LEAVING = [
    "at > NOW() - INTERVAL '90' MINUTES",
    "at + INTERVAL '2' DAYS >= NOW()",
    "NOW() - at < INTERVAL '1' DAY",
    "at > NOW() - INTERVAL '1' MONTH",
    "NOW() - INTERVAL '2' MONTHS <= at + INTERVAL '1' DAY",
    "at >= CURRENT_DATE",
    "CAST(at AS DATE) > CURRENT_DATE - 7",
    "at > ADD_MONTHS(CURRENT_DATE, -1)",
    "DATEDIFF(CURRENT_DATE, at) <= 3",
    "at >= DATE_TRUNC('HOUR', NOW() - INTERVAL '5' HOURS)",
    "NOT (CAST(at AS DATE) <= DATE_SUB(CURRENT_DATE, 2))",
    "at > DATE_TRUNC('MONTH', NOW())",
    "CURRENT_DATE - INTERVAL '1' MONTH < at",
]
ENTERING = ["at <= NOW()", "at < CURRENT_DATE", "at + INTERVAL '1' MONTH < NOW() + INTERVAL '3' HOURS", "NOW() >= at"]
HOURS = """
    SELECT a.at, n.now FROM (SELECT explode(sequence(
      TIMESTAMP '2025-11-20 00:00:00', TIMESTAMP '2026-01-05 00:00:00', INTERVAL '17' HOUR)) AS at) AS a
    CROSS JOIN (SELECT explode(sequence(
      TIMESTAMP '2025-11-19 00:00:00', TIMESTAMP '2026-03-06 00:00:00', INTERVAL '1' HOUR)) AS now) AS n
"""


def at_a_moment(condition: exp.Expr) -> str:
    """Return the condition with the column `now` as the clock."""

    def moment(node: exp.Expr) -> exp.Expr:
        if not is_clock(node):
            return node
        return exp.cast(exp.column("now"), "date") if isinstance(node, exp.CurrentDate) else exp.column("now")

    return condition.copy().transform(moment).sql(DIALECT)


def test_rows_come_and_go_when_spark_says(spark):
    asked = []
    for number, text in enumerate([*LEAVING, *ENTERING]):
        condition = parse_one(text, read=DIALECT)
        times = valid_times([condition], TIMESTAMP, Span(0, 1))
        leaves = number < len(LEAVING)
        (bound,) = times.leaves if leaves else times.enters
        assert not (times.enters if leaves else times.leaves)
        holds = at_a_moment(condition)
        asked += [f"MIN(IF({'NOT ' if leaves else ''}({holds}), now, NULL)) AS said{number}"]
        asked += [f"MIN(IF(now >= {bound.sql(DIALECT)}, now, NULL)) AS bound{number}"]
    by_row = f"SELECT at, {', '.join(asked)} FROM ({HOURS}) GROUP BY at"
    differs = [f"COUNT_IF(NOT said{i} <=> bound{i})" for i in range(len(LEAVING) + len(ENTERING))]
    counts = [f"COUNT(said{i})" for i in range(len(LEAVING) + len(ENTERING))]
    (row,) = spark.sql(f"SELECT ARRAY({', '.join(differs)}), ARRAY({', '.join(counts)}) FROM ({by_row})").collect()
    wrong = [text for text, number in zip([*LEAVING, *ENTERING], row[0], strict=True) if number]
    assert wrong == [] and min(row[1]) > 50
