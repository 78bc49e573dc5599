"""What of the rows of a table travels to an operator over its changes, and under which names."""

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.language.tokens import quoted
from cepsql.operators.changing import change_rows
from cepsql.ordered.row_layout import AT_ONCE, Column, OrderColumn, RowLayout
from cepsql.plan.tree.nodes import Node, takes_rows_away

KIND = Column(change_rows.KIND, CHANGE)
HIDDEN = (Column(change_rows.IDENTITY, IDENTITY), KIND)


class OrderedPartitions(Protocol):
    """An operator over partitions of a table, whose rows it puts in order; `read` are the columns that it takes."""

    @property
    def inputs(self) -> tuple[Node, ...]: ...

    @property
    def keys(self) -> tuple[str, ...]: ...

    @property
    def order(self) -> tuple[exp.Ordered, ...]: ...

    @property
    def read(self) -> tuple[str, ...]: ...


def ordered_layout(node: OrderedPartitions, plain: Callable[[str], bool]) -> tuple[RowLayout, dict[str, str]]:
    """Return the layout of rows that are put in order, and which of its columns each column is, by lower-case name.

    plain: whether values of a column that are equal are alike to the last bit, so that a key need not travel twice.
    """
    places = {item.this.name.lower(): f"o{i}" for i, item in enumerate(node.order)}
    places |= {name.lower(): f"k{i}" for i, name in enumerate(node.keys) if plain(name)}
    values = [name for name in node.read if name.lower() not in places]
    places |= {name.lower(): f"v{i}" for i, name in enumerate(values)}
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(name)) for i, name in enumerate(node.keys)),
        AT_ONCE,
        tuple(
            OrderColumn(
                f"o{i}", quoted(item.this.name), bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
            )
            for i, item in enumerate(node.order)
        ),
        (
            *(Column(f"v{i}", quoted(name)) for i, name in enumerate(values)),
            *(HIDDEN if any(map(takes_rows_away, node.inputs)) else ()),
        ),
    )
    return layout, places
