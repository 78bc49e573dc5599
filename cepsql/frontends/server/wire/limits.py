"""What a server gives at most."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a server gives at most.

    rows:        in an answer.
    seconds:     that a read may take.
    reads:       that run at once; four times as many wait, and further ones are refused.
    connections: at once.
    bytes:       of a statement.
    """

    rows: int = 100_000
    seconds: float = 30.0
    reads: int = 4
    connections: int = 100
    bytes: int = 1_000_000
