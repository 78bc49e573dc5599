"""As of when a query reads materialized views: what may be asked, and of which queries."""

from cepsql.analysis.sql.intervals import interval_micros
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.statements import Query
from cepsql.plan.planner import Plan
from cepsql.plan.view_sources import view_sources


def check_read_point(plan: Plan) -> None:
    """Raise ProgrammingError or NotSupportedError if a query says as of when it reads, and cannot."""
    point = plan.query.point
    if point is None:
        return
    if plan.streaming:
        raise NotSupportedError(
            "AT WATERMARK, AFTER and FRESH WITHIN in a query over streams are not supported",
            point.span,
            "they say as of when a query reads materialized views alone",
        )
    if not view_sources(plan):
        raise ProgrammingError(
            "AT WATERMARK, AFTER and FRESH WITHIN say as of when materialized views are read, and the query reads none",
            point.span,
        )
    age_allowed(plan.query)


def refuse_read_point(query: Query, what: str) -> None:
    """Raise NotSupportedError if the query of a definition says as of when it reads; `what`: of which."""
    if query.point is not None:
        hint = "say it where you read the view: SELECT * FROM view AT WATERMARK"
        raise NotSupportedError(
            f"AT WATERMARK, AFTER and FRESH WITHIN in {what} are not supported", query.point.span, hint
        )


def age_allowed(query: Query) -> int | None:
    """Return how many microseconds old the views that a query reads may be, None for any age.

    Raises ProgrammingError for a length that is not constant, or not longer than zero.
    """
    point = query.point
    if point is None or point.fresh is None:
        return None
    micros = interval_micros(point.fresh, point.span)
    if micros <= 0:
        raise ProgrammingError("FRESH WITHIN needs a time longer than zero", point.span)
    return micros
