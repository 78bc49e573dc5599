"""Give a MATCH_RECOGNIZE over a UNION ALL of streams each of them as an input of its own, with its own delay."""

from dataclasses import replace

from sqlglot import exp

from cepsql.analysis.resolve import catalog_tables, table_name
from cepsql.plan.nodes import Match, Node, Sql, transform
from cepsql.plan.union import union_branches


def split_unions(root: Node) -> Node:
    """Return the plan with the streams that a match merges as inputs side by side."""
    return transform(root, _split)


def _split(node: Node) -> Node:
    if not isinstance(node, Match) or not node.properties.streaming:
        return node
    return replace(node, inputs=tuple(branch for below in node.inputs for branch in input_branches(below)))


def input_branches(below: Node) -> list[Node]:
    """Return the branches of a node that is a UNION ALL, or the node alone."""
    branches = union_branches(below.query) if isinstance(below, Sql) else None
    if branches is None:
        return [below]
    return [_input(branch, below) for branch in branches]


def _input(branch: exp.Query, whole: Sql) -> Sql:
    names = dict.fromkeys(table_name(table) for table in catalog_tables(branch))
    return Sql(branch, {name: whole.inputs[name] for name in names})
