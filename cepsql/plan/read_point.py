"""As of when a query reads materialized views: what may be asked, and of which queries."""

from sqlglot import exp

from cepsql.analysis.sql.constant_intervals import interval_micros
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.statements import ParsedQuery
from cepsql.plan.planner import Plan
from cepsql.plan.view_sources import view_sources
from cepsql.scalar.times import parse_timestamp
from cepsql.scalar.zone import Zone


def check_read_point(plan: Plan) -> None:
    """Raise ProgrammingError or NotSupportedError if a query says as of when it reads, and cannot."""
    point = plan.query.point
    if point is None:
        return
    _check_versions(plan)
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


def _check_versions(plan: Plan) -> None:
    """Raise ProgrammingError or NotSupportedError for relations of which no version as of a time can be read."""
    point = plan.query.point
    assert point is not None
    views = {one.name.lower() for one in view_sources(plan)}
    read = [table.name.lower() for table in plan.query.expression.find_all(exp.Table)]
    for version in point.versions:
        if version.name.lower() not in views or plan.streaming:
            raise ProgrammingError(
                f"FOR SYSTEM_TIME AS OF a constant time reads a materialized view, which {version.name} is not",
                version.span,
                "JOIN r FOR SYSTEM_TIME AS OF a.ts ON a.k = r.k reads the versions of a stream with a PRIMARY KEY",
            )
        same = [one for one in point.versions if one.name.lower() == version.name.lower()]
        if len({one.time for one in same}) > 1 or read.count(version.name.lower()) > len(same):
            raise NotSupportedError(f"{version.name} as of two times in one query is not supported", version.span)
    if point.versions and point.at_watermark:
        hint = "one of both says as of when it is read"
        raise ProgrammingError("AT WATERMARK beside FOR SYSTEM_TIME AS OF", point.versions[0].span, hint)


def version_times(query: ParsedQuery, zone: Zone) -> dict[str, int]:
    """Return as of when views are read, in microseconds since 1970 by their names in lower case.

    Raises ProgrammingError for a text that is no time.
    """
    versions = {}
    for version in query.point.versions if query.point is not None else ():
        micros = parse_timestamp(version.time, zone)
        if micros is None:
            raise ProgrammingError(f"'{version.time}' is no time", version.span, "TIMESTAMP '2026-03-02 09:00:00'")
        versions[version.name.lower()] = micros
    return versions


def refuse_read_point(query: ParsedQuery, what: str) -> None:
    """Raise NotSupportedError if the query of a definition says as of when it reads; `what`: of which."""
    if query.point is not None:
        hint = "say it where you read the view: SELECT * FROM view AT WATERMARK"
        raise NotSupportedError(
            f"AT WATERMARK, AFTER and FRESH WITHIN in {what} are not supported", query.point.span, hint
        )


def age_allowed(query: ParsedQuery) -> int | None:
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
