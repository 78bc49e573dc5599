"""The refusal of a writer that another one has taken over from."""

from cepsql.catalog import Sink
from cepsql.errors import OperationalError
from cepsql.sinks.writer import WriterIdentity


def fenced(sink: Sink, writer: WriterIdentity) -> OperationalError:
    """Return the error of a writer whose query is written by a later owner now."""
    return OperationalError(
        f"query {writer.query} is written to sink {sink.name} by another process now, which took over from this one",
        hint="nothing was written; only one process may run a query",
    )
