"""Whether the versions of the views that a plan joins streams with can be told apart by event time."""

from collections.abc import Callable

from cepsql.catalog import MaterializedView
from cepsql.catalog.view_store import VERSION, ViewSource
from cepsql.errors import ProgrammingError
from cepsql.plan.planner import Plan
from cepsql.plan.view_sources import view_sources


def check_versions_known(plan: Plan, planned: Callable[[MaterializedView], Plan]) -> None:
    """Raise ProgrammingError for a view whose versions have no time, for which a stream would wait for ever.

    planned: plans the query of a view.
    """
    for one in view_sources(plan):
        if one.versions and any(column.name == VERSION for column in one.columns):
            _check(one, planned(one.view), plan)


def _check(view: ViewSource, below: Plan, plan: Plan) -> None:
    timeless = next((origin for origin in below.origins if origin.streaming and origin.watermark is None), None)
    if timeless is None:
        return
    by_changes = isinstance(timeless, ViewSource)
    raise ProgrammingError(
        f"view {view.view.name} has no watermark, so its versions have no time: "
        + (f"it reads the changes of view {timeless.name}" if by_changes else f"stream {timeless.name} has none"),
        plan.query.span,
        "a view over streams with WATERMARK FOR has one"
        if by_changes
        else "CREATE STREAM ... (..., WATERMARK FOR ...)",
    )
