"""What reads the rows of streams in order, as far as the checks of its input know it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from cepsql.errors import Span
from cepsql.plan.nodes import Sql


class Reader(Protocol):
    """A clause that becomes an ordered operator: its ORDER BY, and its place in the text."""

    @property
    def order_by(self) -> Sequence[exp.Ordered]: ...

    @property
    def span(self) -> Span: ...


@dataclass(frozen=True)
class RowsInOrder:
    """What reads rows in the order of their event time and is no clause of its own."""

    order_by: tuple[exp.Ordered, ...]
    span: Span


@dataclass(frozen=True)
class RowsAsTheyCome:
    """What reads rows whenever they come, so that it asks for no event time; `order_by` is empty."""

    span: Span
    order_by: tuple[exp.Ordered, ...] = ()


Checked = Callable[[Reader, Sql, str], Sql]
"""Returns the input of an operator as it can be read in order, or raises what is wrong with it."""
