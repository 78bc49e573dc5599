"""The plan of a group of views: their plans side by side, which one query runs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from cepsql.language.statements import ParsedQuery
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import Node, Sql


def group_plan(plans: Sequence[Plan]) -> Plan:
    """Return the plan of the queries of views whose texts stand one after the other, with these plans, in one text.

    Its nodes read those of all: a union that numbers the views. What is run gives the columns of the views, too; see
    `cepsql.spark.building.side_by_side`.
    """
    first, last = plans[0].query, plans[-1]
    logical = _union([plan.logical for plan in plans])
    operators = tuple(clause for plan in plans for clause in plan.query.operators)
    windows = tuple(window for plan in plans for window in plan.query.windows)
    expression = logical.query
    return Plan(
        ParsedQuery(expression, operators, last.text, replace(first.span, end=last.query.span.end), windows=windows),
        logical,
        _union([plan.root for plan in plans]),
        next((plan.limit for plan in plans if plan.limit is not None), None),
        last.text,
        frozenset[str]().union(*(plan.reads for plan in plans)),
        frozenset[str]().union(*(plan.views for plan in plans)),
        frozenset[str]().union(*(plan.view_columns for plan in plans)),
        parts=tuple(plans),
    )


def part_roots(plan: Plan) -> list[Node]:
    """Return what is run for each view of the plan of a group."""
    root = plan.root
    assert isinstance(root, Sql)
    return [root.inputs[_name(number)] for number in range(len(plan.parts))]


def _union(nodes: Sequence[Node]) -> Sql:
    branches: list[exp.Query] = [
        exp.select(exp.alias_(exp.Literal.number(number), "view")).from_(_name(number)) for number in range(len(nodes))
    ]
    query = reduce(lambda one, other: exp.union(one, other, distinct=False), branches)
    return Sql(query, {_name(number): node for number, node in enumerate(nodes)})


def _name(number: int) -> str:
    return f"__view_{number}"
