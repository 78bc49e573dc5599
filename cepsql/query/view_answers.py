"""Queries over views that are answered without Spark."""

import pyarrow as pa

from cepsql.errors import in_text
from cepsql.query.planned_query import PlannedQuery
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.views.reading import Reading, in_zone, reading


def how_read(planned: PlannedQuery) -> tuple[Reading | None, str | None]:
    """Return how a query over views is answered without Spark, or why Spark answers it."""
    try:
        return reading(planned.plan, planned.host.reading_rules()), None
    except Unlike as unlike:
        return None, str(unlike)


def answer_of_views(planned: PlannedQuery, how: Reading) -> pa.Table | None:
    """Return the rows of a query over views; None if only Spark can find them, which sometimes only the rows show."""
    zone = planned.host.zone_name()
    if zone is None:
        return None
    try:
        with in_text(planned.plan.text):
            planned.host.wait_for_views(planned.plan)
            return in_zone(how.table(), zone)
    except Unlike:
        return None
