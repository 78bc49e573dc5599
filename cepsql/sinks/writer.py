"""Who writes to a sink, and which batch it is."""

from dataclasses import dataclass


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
