"""What reads the rows of streams in order, as far as the checks of its input know it."""

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from cepsql.errors import Span


class Reader(Protocol):
    """A clause that becomes an ordered operator: its ORDER BY, and its place in the text."""

    @property
    def order_by(self) -> Sequence[exp.Ordered]: ...

    @property
    def span(self) -> Span: ...
