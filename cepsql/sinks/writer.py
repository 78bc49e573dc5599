"""Who writes to a sink, and which batch it is."""

from dataclasses import dataclass

from cepsql.catalog import Sink
from cepsql.errors import OperationalError


@dataclass(frozen=True)
class WriterIdentity:
    """A query that writes.

    query:      its name.
    epoch:      grows with each owner of the query: what an earlier one still writes is refused where the sink can.
    checkpoint: what its checkpoint is known by, which numbers the batches: with another one they begin again.
    """

    query: str
    epoch: int
    checkpoint: str = ""


@dataclass(frozen=True)
class Batch:
    """A micro-batch of a writer; one that comes again after a failure is equal to the first."""

    writer: WriterIdentity
    number: int

    @property
    def key(self) -> str:
        """A text that no other batch has, and that stays the same when this one comes again."""
        return f"{self.writer.query}/{self.writer.checkpoint}/{self.number}"


def fenced(sink: Sink, writer: WriterIdentity) -> OperationalError:
    """Return the error of a writer whose query is written by a later owner now."""
    return OperationalError(
        f"query {writer.query} is written to sink {sink.name} by another process now, which took over from this one",
        hint="nothing was written; only one process may run a query",
    )
