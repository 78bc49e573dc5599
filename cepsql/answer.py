"""What a statement that is no query says."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What a statement that is no query says: rows of a small table, or a message, or both, or a text for a file."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple, ...] = ()
    message: str = ""
    text: str = ""
