"""The views that a query reads."""

from cepsql.catalog.view_store import ViewSource
from cepsql.plan.planner import Plan


def view_sources(plan: Plan) -> list[ViewSource]:
    """Return the materialized views that a plan reads, each once."""
    return [relation for relation in plan.origins if isinstance(relation, ViewSource)]
