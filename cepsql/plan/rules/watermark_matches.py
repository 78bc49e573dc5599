"""Put matches under Spark's watermark where Spark keeps state for what stands over them."""

from dataclasses import replace

from cepsql.plan.rules.mark_chains import with_markers
from cepsql.plan.tree.nodes import Node, Ordered, SparkWatermark, Sql, transform


def watermark_matches(root: Node) -> Node:
    """Return the plan with Spark's watermark over the matches that its windows and joins of streams read."""
    return transform(root, lambda node: _watermarked(node) if isinstance(node, Sql) and node.stateful else node)


def _watermarked(node: Node) -> Node:
    if isinstance(node, Ordered):
        return SparkWatermark(with_markers(node)) if node.properties.watermark is not None else node
    if isinstance(node, Sql):
        below = {n: _watermarked(b) if b.properties.ordered else b for n, b in node.inputs.items()}
        return replace(node, inputs=below)
    return node
