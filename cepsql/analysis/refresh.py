"""The REFRESH EVERY clause of a table's definition."""

from cepsql.analysis.intervals import interval_micros
from cepsql.analysis.positions import span_of
from cepsql.errors import ProgrammingError
from cepsql.language.statements import CreateSource

_SECOND = 1_000_000


def defined_refresh(create: CreateSource) -> int | None:
    """Return how often a table is read again, in microseconds, None if its definition does not say.

    Raises ProgrammingError for anything but an interval of a second or more.
    """
    if create.refresh is None:
        return None
    span = span_of(create.refresh, create.name.span)
    micros = interval_micros(create.refresh, span)
    if micros < _SECOND:
        raise ProgrammingError("a table is read again every second at most", span, "REFRESH EVERY INTERVAL '1' MINUTE")
    return micros
