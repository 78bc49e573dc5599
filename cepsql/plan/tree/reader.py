"""What readers of rows need of them: their demands, and how they are asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from cepsql.errors import Error, Span
from cepsql.plan.tree.nodes import Sql


class Reader(Protocol):
    """What reads rows in the order of a time: a clause that becomes an operator; its ORDER BY, and its place."""

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


class Checked(Protocol):
    """Gives the input of an operator as its reader needs it; `reader_name` is what messages call the reader."""

    def __call__(self, reader: Reader, rows: Sql, reader_name: str) -> Sql:
        """Return the input; raises why there is none."""

    def answer(self, reader: Reader, rows: Sql, reader_name: str) -> Sql | Error:
        """Return the input, or why there is none."""

    def followed_by(self, column: str, rows: Sql, place: Span, reader_name: str) -> Sql | None:
        """Return rows of a stream followed by a column as their event time, None if they cannot be."""


def is_followed_by(rows: Sql, column: str) -> bool:
    """Tell whether rows have a column as their event time."""
    mark = rows.properties.watermark
    return mark is not None and mark.column.lower() == column.lower()
