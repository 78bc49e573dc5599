"""Let ordered operators that others read say how far they are: markers between their rows."""

from dataclasses import replace

from cepsql.errors import NotSupportedError, Span
from cepsql.plan.markers import BETWEEN, carry_markers
from cepsql.plan.nodes import ChangeOperator, LabelledChanges, Node, Ordered, Read, SparkWatermark, Sql, transform


def mark_chains(root: Node) -> Node:
    """Return the plan with markers from each ordered operator over a stream to the next.

    Raises NotSupportedError for plain SQL between two of them that no marker passes through.
    """
    return transform(root, _marked_inputs)


def with_markers(node: Node, place: Span | None = None) -> Node:
    """Return a node whose rows come from ordered operators with their markers among the rows.

    place: of the clause that reads them, for errors.
    """
    if isinstance(node, Read | ChangeOperator | LabelledChanges | SparkWatermark):
        return node
    if not node.properties.ordered or node.markers:
        return node
    if isinstance(node, Ordered):
        return replace(node, markers=True)
    assert isinstance(node, Sql)
    names = {name for name, below in node.inputs.items() if below.properties.ordered}
    try:
        query = carry_markers(node.query, names)
    except NotSupportedError as error:
        raise _impassable(node, place) if node.view else error from None
    return replace(node, query=query, inputs={n: with_markers(b, place) for n, b in node.inputs.items()}, markers=True)


def _marked_inputs(node: Node) -> Node:
    if not isinstance(node, Ordered) or not node.chained:
        return node
    return replace(node, inputs=tuple(with_markers(below) for below in node.inputs))


def _impassable(view: Sql, place: Span | None) -> NotSupportedError:
    return NotSupportedError(
        f"the view {view.view} {BETWEEN} is not supported",
        place,
        "only filters, computed columns and joins with tables may stand there",
    )
