"""Give a MATCH_RECOGNIZE over a UNION ALL of streams each of them as an input of its own, with its own delay."""

from collections.abc import Mapping

from sqlglot import exp

from cepsql.analysis.sql.resolve import catalog_tables, flat_name, resolve, table_name
from cepsql.plan.tree.markers import without_ctes
from cepsql.plan.tree.nodes import Node, Ordered, Sql, transform
from cepsql.plan.tree.union import union_branches


def split_unions(root: Node) -> Node:
    """Return the plan with the streams that a match merges as inputs side by side."""
    return transform(root, _split)


def _split(node: Node) -> Node:
    if not isinstance(node, Ordered) or not any(map(_has_union, node.inputs)) or not node.properties.streaming:
        return node
    return node.with_branches([input_branches(below) for below in node.inputs])


def input_branches(below: Node) -> list[Node]:
    """Return the branches of a node that is a UNION ALL, or the node alone."""
    if not isinstance(below, Sql) or not _has_union(below):
        return [below]
    query, nodes = without_ctes(below.query), below.inputs
    if any(select.is_star for union in query.find_all(exp.Union) for select in union.find_all(exp.Select)):
        resolved = resolve(query, lambda table: nodes[table_name(table)].properties)
        query, nodes = resolved.qualified, {flat_name(name): node for name, node in nodes.items()}
    branches = union_branches(query)
    return [below] if branches is None else [_input(branch, nodes) for branch in branches]


def _has_union(node: Node) -> bool:
    return isinstance(node, Sql) and node.query.find(exp.Union) is not None


def _input(branch: exp.Query, nodes: Mapping[str, Node]) -> Sql:
    names = dict.fromkeys(table_name(table) for table in catalog_tables(branch))
    return Sql(branch, {name: nodes[name] for name in names})
