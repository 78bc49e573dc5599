"""The views that a query reads."""

from cepsql.catalog.view_store import ViewSource
from cepsql.plan.planner import Plan
from cepsql.plan.tree.nodes import Read, walk


def view_sources(plan: Plan) -> list[ViewSource]:
    """Return the materialized views that a plan reads, each once."""
    found = (node.relation for node in walk(plan.logical) if isinstance(node, Read))
    return list(dict.fromkeys(relation for relation in found if isinstance(relation, ViewSource)))
