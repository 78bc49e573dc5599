"""Each rule by itself: the plan before it, after the rules that come before it, and what it makes of it."""

from functools import reduce
from pathlib import Path

import pytest
from catalog import engine
from golden import check, params

from cepsql.language.tokens import DIALECT
from cepsql.operators.pairing.interval_join import JoinKind
from cepsql.plan.operators.interval_join import IntervalJoin
from cepsql.plan.operators.match import Match
from cepsql.plan.operators.table_join import TableJoin
from cepsql.plan.rules import RULES
from cepsql.plan.tree.nodes import Node, Read, Sql, inputs

HERE = Path(__file__).parent / "rules"
CASES = [(rule, case) for rule in RULES for case in params(HERE, f"{rule.__name__}.txt")]


def dump(node: Node) -> list[str]:
    match node:
        case Read(relation):
            line = f"Read {relation.name}"
        case Sql(query, _, view, markers):
            line = (
                f"Sql {query.sql(dialect=DIALECT)}{f'  of {view}' if view else ''}{'  with markers' if markers else ''}"
            )
        case Match(match, _, markers):
            line = f"Match {match.clause.name}{'  with markers' if markers else ''}"
        case IntervalJoin(_, _, keys, low, high, _, time, kind, _, sides, markers):
            equal = ", ".join(f"{one.sql(dialect=DIALECT)} = {other.sql(dialect=DIALECT)}" for one, other in keys)
            join_name = "Join" if kind == JoinKind.INNER else f"{kind.capitalize()}Join"
            of_sides = "" if sides == (0, 1) else f"  of sides {sides}"
            line = (
                f"{join_name} {equal}  from {low} to {high}  by {time}{of_sides}{'  with markers' if markers else ''}"
            )
        case TableJoin(identified=False):
            line = "TableJoin  without identities"
        case _:
            line = type(node).__name__
    return [line, *(f"  {below}" for part in inputs(node) for below in dump(part))]


@pytest.mark.parametrize(("rule", "case"), [pytest.param(r, c.values[0], id=c.id) for r, c in CASES])
def test_rule(rule, case, update):
    plan = engine().sql(case.text).plan
    before = reduce(lambda node, earlier: earlier(node), RULES[: RULES.index(rule)], plan.logical)
    after = rule(before)
    check(case, "\n".join([*dump(before), "becomes", *dump(after)]), update)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_cases_and_leaves_alone_what_it_changed(rule):
    cases = params(HERE, f"{rule.__name__}.txt")
    assert cases
    for case in cases:
        plan = engine().sql(case.values[0].text).plan
        once = reduce(lambda node, earlier: earlier(node), RULES[: RULES.index(rule) + 1], plan.logical)
        assert dump(rule(once)) == dump(once)
