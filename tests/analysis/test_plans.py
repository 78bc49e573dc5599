"""Queries with what EXPLAIN says of them: the SQL of Spark, the logical plan, the compiled pattern."""

from pathlib import Path

import pytest
from catalog import engine
from golden import check, params

from cepsql.explain.text import explain_logical, explain_pattern, explain_rewritten

SECTIONS = {"rewritten": explain_rewritten, "logical": explain_logical, "pattern": explain_pattern}
HERE = Path(__file__).parent


def explain(plan, *sections: str) -> str:
    return "\n".join(f"== {name} ==\n{SECTIONS[name](plan)}" for name in sections)


@pytest.mark.parametrize("case", params(HERE, "plans.sql"))
def test_whole_plan(case, update):
    check(case, explain(engine().sql(case.text).plan, *SECTIONS), update)


@pytest.mark.parametrize("case", params(HERE, "conditions.txt"))
def test_condition(case, update):
    """The text is DEFINE; shown is what Spark computes before the shuffle, and what the matcher does with it."""
    plan = (
        engine()
        .sql(
            f"SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts PATTERN (A+ B C?) "
            f"WITHIN INTERVAL '1' HOUR SUBSET U = (A, B) DEFINE {case.text})"
        )
        .plan
    )
    lines = explain_pattern(plan).splitlines()
    conditions = [line.strip() for line in lines if line.startswith(("  A AS", "  B AS", "  C AS"))]
    check(case, "\n".join(line for line in conditions if not line.endswith(" AS TRUE")), update)


@pytest.mark.parametrize("case", params(HERE, "measures.txt"))
def test_measure(case, update):
    """The text is one measure; shown are its type, what the matcher returns, and Spark's share."""
    plan = (
        engine()
        .sql(
            f"SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES {case.text} AS m "
            f"ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (A+ B C?) WITHIN INTERVAL '1' HOUR SUBSET U = (A, B))"
        )
        .plan
    )
    (match,) = plan.matches
    returned = [line.strip() for line in explain_pattern(plan).splitlines() if line.startswith(("  a", "  g"))]
    returned = [line for line in returned if line != "automaton"]
    check(case, "\n".join([f"{match.output[-1].type}: {match.output[-1].sql}", *returned]), update)


@pytest.mark.parametrize("case", params(HERE, "watermarks.sql"))
def test_watermark(case, update):
    """Shown is the event time that a query hands on."""
    mark = engine().sql(case.text).plan.properties.watermark
    check(case, "none" if mark is None else f"{mark.column}, {mark.delay} microseconds behind", update)


@pytest.mark.parametrize("case", params(HERE, "markers.sql"))
def test_markers_pass(case, update):
    """The text reads `m`, the matches of a stream; shown is what the next MATCH_RECOGNIZE reads, with the markers."""
    inner = "ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES MATCH_ROWTIME() AS at PATTERN (A B)) AS m"
    fresh = engine()
    fresh.sql(f"CREATE VIEW m AS SELECT * FROM {inner}")
    plan = fresh.sql(
        f"SELECT * FROM ({case.text}) MATCH_RECOGNIZE (ORDER BY at MEASURES X.sym AS s PATTERN (X Y))"
    ).plan
    check(case, plan.stages[-1].inputs[0].query.sql(), update)
