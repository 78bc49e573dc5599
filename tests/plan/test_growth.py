"""The work of planning grows with a statement, not with its square or worse."""

import pytest
from catalog import engine
from sqlglot import exp, parse_one

from cepsql.analysis.row_pattern import define_conditions
from cepsql.analysis.sql.resolve import used_ctes
from cepsql.plan.tree import nodes
from cepsql.plan.tree.markers import inline_ctes


def chain(length: int) -> str:
    steps = [f"c{i} AS (SELECT sym, ts, price FROM {f'c{i - 1}' if i else 'ticks'})" for i in range(length)]
    return "WITH " + ", ".join(steps)


def test_each_of_chained_ctes_is_put_in_once():
    inlined = inline_ctes(parse_one(f"{chain(40)} SELECT * FROM c39", dialect="spark"))
    assert inlined.find(exp.With) is None
    assert len(list(inlined.find_all(exp.Subquery))) == 40


def test_chained_ctes_that_nothing_reads_are_left_out():
    query = used_ctes(parse_one(f"{chain(40)} SELECT * FROM c9", dialect="spark"))
    assert [cte.alias for cte in query.find_all(exp.CTE)] == [f"c{i}" for i in range(10)]


@pytest.mark.parametrize(
    ("sql", "inlined"),
    [
        ("WITH a AS (SELECT 1 AS x) SELECT * FROM a, d.a", "SELECT * FROM (SELECT 1 AS x) AS a CROSS JOIN d.a"),
        (
            "WITH a AS (SELECT 1 AS x) SELECT * FROM (WITH a AS (SELECT x + 1 AS x FROM a) SELECT * FROM a) AS z",
            "SELECT * FROM (SELECT * FROM (SELECT x + 1 AS x FROM (SELECT 1 AS x) AS a) AS a) AS z",
        ),
        (
            "WITH a (u) AS (SELECT 1), b AS (WITH c AS (SELECT * FROM a AS k) SELECT * FROM c) SELECT u FROM b",
            "SELECT u FROM (SELECT * FROM (SELECT * FROM (SELECT 1) AS k(u)) AS c) AS b",
        ),
        (
            "WITH a AS (SELECT 1 AS x) SELECT * FROM a AS l JOIN a AS r ON l.x = r.x",
            "SELECT * FROM (SELECT 1 AS x) AS l JOIN (SELECT 1 AS x) AS r ON l.x = r.x",
        ),
    ],
)
def test_the_innermost_of_equal_names_counts(sql: str, inlined: str):
    assert inline_ctes(parse_one(sql, dialect="spark")).sql(dialect="spark") == inlined


def counted(monkeypatch, module, name: str) -> list:
    """Return a list that grows with each call of a function of a module."""
    calls, function = [], getattr(module, name)

    def counting(*arguments):
        calls.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(module, name, counting)
    return calls


def test_a_long_condition_is_looked_through_once(monkeypatch):
    looked, calls = counted(monkeypatch, define_conditions, "row_of"), []
    for length in (20, 40):
        looked.clear()
        condition = " AND ".join(f"price > A.price + {i}" for i in range(length))
        query = engine().sql(
            f"SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES B.price AS p "
            f"PATTERN (A B) DEFINE B AS {condition}) AS m"
        )
        assert len(query.plan.stages) == 1
        calls.append(len(looked))
    assert calls[1] < 2.2 * calls[0]


def test_names_in_nested_groups_are_resolved_a_few_times_each(monkeypatch):
    resolved, calls = counted(monkeypatch, nodes, "resolve"), []
    for depth in (2, 4):
        resolved.clear()
        groups = "SELECT sym, ts AS at, price AS n FROM ticks"
        for level in range(depth + 1):
            window = f"window(at, '{2**level} seconds')"
            groups = f"SELECT sym, {window}.end AS at, SUM(n) AS n FROM ({groups}) GROUP BY sym, {window}"
        both = f"({groups}) AS a JOIN ({groups}) AS b ON a.sym = b.sym AND a.at = b.at"
        query = engine().sql(f"SELECT a.n, b.n AS m FROM {both}")
        # Either side of the join has stages of its own.
        assert len(query.plan.stages) == 2 * (depth + 1) + 1
        assert len({id(stage) for stage in query.plan.stages}) == len(query.plan.stages)
        calls.append(len(resolved))
    assert calls[1] < 2.2 * calls[0]
