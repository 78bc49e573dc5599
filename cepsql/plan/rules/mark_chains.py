"""Let ordered operators that others read say how far they are: markers between their rows."""

from dataclasses import replace

from cepsql.plan.tree.markers import carry_markers
from cepsql.plan.tree.nodes import (
    AddedRows,
    ChangeOperator,
    LabelledChanges,
    Node,
    Ordered,
    Read,
    SparkWatermark,
    Sql,
    transform,
)


def mark_chains(root: Node) -> Node:
    """Return the plan with markers from each ordered operator over a stream to the next.

    Raises NotSupportedError for plain SQL between two of them that no marker passes through.
    """
    return transform(root, _marked_inputs)


def with_markers(node: Node) -> Node:
    """Return a node whose rows come from ordered operators with their markers among the rows."""
    if isinstance(node, Read | LabelledChanges | AddedRows | SparkWatermark):
        return node
    if not node.properties.ordered or node.markers:
        return node
    if isinstance(node, ChangeOperator):
        # Only rows that leave by time ask it how far it is, and it asks what is below.
        return node.changed(markers=True, inputs=tuple(map(with_markers, node.inputs)))
    if isinstance(node, Ordered):
        return node.changed(markers=True)
    assert isinstance(node, Sql)
    names = {name for name, below in node.inputs.items() if below.properties.ordered}
    below = {name: with_markers(one) for name, one in node.inputs.items()}
    return replace(node, query=carry_markers(node.query, names), inputs=below, markers=True)


def _marked_inputs(node: Node) -> Node:
    if not isinstance(node, Ordered) or not node.chained:
        return node
    return node.changed(inputs=tuple(with_markers(below) for below in node.inputs))
