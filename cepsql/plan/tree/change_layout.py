"""What of the rows of a table travels to an operator over its changes, and under which names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.operators.pair_conditions import lower_pair_condition
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.properties import CHANGE, IDENTITY
from cepsql.language.tokens import quoted
from cepsql.operators import change_rows
from cepsql.operators.pair_condition import PairColumn
from cepsql.ordered.row_layout import AT_ONCE, Column, OrderColumn, RowLayout
from cepsql.plan.tree.nodes import RankedRows, RetractingFrames, RetractingGroups, TableJoin, takes_rows_away
from cepsql.scalar.tree import Expression

KIND = Column(change_rows.KIND, CHANGE)
HIDDEN = (Column(change_rows.IDENTITY, IDENTITY), KIND)


def ordered_layout(
    node: RankedRows | RetractingFrames, plain: Callable[[str], bool]
) -> tuple[RowLayout, dict[str, str]]:
    """Return the layout of rows that are put in order, and which of its columns each column is, by lower-case name.

    plain: whether values of a column that are equal are alike to the last bit, so that a key need not travel twice.
    """
    places = {item.this.name.lower(): f"o{i}" for i, item in enumerate(node.order)}
    places |= {name.lower(): f"k{i}" for i, name in enumerate(node.keys) if plain(name)}
    read = node.read if isinstance(node, RetractingFrames) else node.columns
    values = [name for name in read if name.lower() not in places]
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


def groups_layout(node: RetractingGroups) -> tuple[RowLayout, dict[str, str]]:
    """Return the layout of rows that are grouped, and which of its columns each aggregated column is."""
    places = {name: f"v{i}" for i, name in enumerate(dict.fromkeys(call.column for _, call in node.calls))}
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(key.name)) for i, key in enumerate(node.keys)),
        AT_ONCE,
        values=(*(Column(place, quoted(name)) for name, place in places.items()), KIND),
    )
    return layout, places


@dataclass(frozen=True)
class TableJoinLayout:
    """The rows of the two sides of a join of tables as they travel.

    layouts:   of both sides, the left first.
    values:    of each side the columns that come out.
    asked:     of each side the columns that only the condition reads.
    condition: what must hold of a pair of rows beside equal keys, over `PairColumn`s; None for nothing.
    """

    layouts: tuple[RowLayout, RowLayout]
    values: tuple[tuple[Column, ...], tuple[Column, ...]]
    asked: tuple[tuple[Column, ...], tuple[Column, ...]]
    condition: Expression | None


def table_join_layout(node: TableJoin, kinds: Sequence[str]) -> TableJoinLayout:
    """Return the layout of a join of tables; `kinds` are the types in which its keys are compared.

    Raises NotSupportedError for a condition that cannot be computed on values of both sides.
    """
    names: tuple[dict[str, str], dict[str, str]] = ({}, {})

    def take(side: str, expression: exp.Expr) -> PairColumn:
        number, sql = int(side == "right"), sql_of(without_tables(expression))
        place = len(node.columns[number]) + len(names[number])
        return PairColumn(number, names[number].setdefault(sql, f"v{place}"))

    condition = None if node.condition is None else lower_pair_condition(node.condition, take, None)
    left, right = (tuple(Column(f"v{i}", quoted(name)) for i, name in enumerate(each)) for each in node.columns)
    asked_left, asked_right = (tuple(Column(name, sql) for sql, name in each.items()) for each in names)
    layouts = (
        _side_layout(node, 0, kinds, (*left, *asked_left)),
        _side_layout(node, 1, kinds, (*right, *asked_right)),
    )
    return TableJoinLayout(layouts, (left, right), (asked_left, asked_right), condition)


def _side_layout(node: TableJoin, side: int, kinds: Sequence[str], values: tuple[Column, ...]) -> RowLayout:
    keys = tuple(Column(f"k{i}", f"CAST(({node.key_sql(i, side)}) AS {kind})") for i, kind in enumerate(kinds))
    return RowLayout(keys, AT_ONCE, values=(*values, *HIDDEN), any_order=True)
