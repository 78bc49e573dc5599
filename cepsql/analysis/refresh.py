"""The REFRESH EVERY clause of a table's definition."""

from cepsql.analysis.intervals import interval_of_seconds
from cepsql.language.statements import CreateSource


def defined_refresh(create: CreateSource) -> int | None:
    """Return how often a table is read again, in microseconds, None if its definition does not say.

    Raises ProgrammingError for anything but an interval of a second or more.
    """
    wrong, hint = "a table is read again every second at most", "REFRESH EVERY INTERVAL '1' MINUTE"
    return interval_of_seconds(create.refresh, create.name.span, wrong, hint)
