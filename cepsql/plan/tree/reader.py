"""What reads the rows of streams in order, as far as the checks of its input know it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from cepsql.errors import Error, Span
from cepsql.plan.tree.nodes import Sql


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


def followed_by(column: str, rows: Sql, checked: Checked, place: Span, spoken: str) -> Sql | None:
    """Return rows of a stream followed by a column as their event time, None if they cannot be."""
    order = exp.Ordered(this=exp.column(exp.to_identifier(column, quoted=True)), nulls_first=True)
    with suppress(Error):
        asked = checked(RowsInOrder((order,), place), rows, spoken)
        mark = asked.properties.watermark
        if mark is not None and mark.column.lower() == column.lower():
            return asked
    return None
