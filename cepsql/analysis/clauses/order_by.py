"""The order in which the rows of a stream leave: ORDER BY the event time, then further columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.catalog import ColumnDefinition
from cepsql.language.tokens import quoted
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout


@dataclass(frozen=True)
class RowOrder:
    """Rows of a stream in the order of their event time.

    name:    the table that stands for them in the query.
    columns: of the rows, which come out as they are.
    time:    the column with the event time.
    order:   the further items of ORDER BY, each a column of the rows.
    layout:  the columns that travel; the values v0, v1, ... are `columns`.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    time: str
    order: tuple[exp.Ordered, ...]
    layout: RowLayout


def plan_order(name: str, columns: tuple[ColumnDefinition, ...], time: str, order: Sequence[exp.Ordered]) -> RowOrder:
    """Plan the order of rows with these columns; each item of `order` names one of them."""
    breakers = tuple(
        OrderColumn(f"o{i}", quoted(item.this.name), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
        for i, item in enumerate(order)
    )
    values = tuple(Column(f"v{i}", quoted(column.name)) for i, column in enumerate(columns))
    layout = RowLayout((), Column("t", quoted(time)), breakers, values, by_arrival=True)
    return RowOrder(name, columns, time, tuple(order), layout)
