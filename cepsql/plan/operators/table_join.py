"""The join of two tables by equal keys, in a plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from sqlglot import exp

from cepsql.analysis.clauses.pair_conditions import lower_pair_condition
from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.catalog import ColumnDefinition
from cepsql.language.tokens import quoted
from cepsql.operators.pairing.interval_join import JoinKind
from cepsql.operators.pairing.pair_condition import PairColumn
from cepsql.operators.pairing.pair_rows import LEFT, RIGHT
from cepsql.ordered.row_layout import AT_ONCE, Column, RowLayout
from cepsql.plan.operators.stream_join import key_columns
from cepsql.plan.tree.change_layout import HIDDEN
from cepsql.plan.tree.nodes import ChangeOperator, Node, only_adds
from cepsql.plan.tree.scans import key_types
from cepsql.scalar.expressions import Expression, Session


@dataclass(frozen=True)
class TableJoin(ChangeOperator):
    """An ordered operator: the join of two tables by equal keys.

    inputs:  changes of the left one and of the right one.
    keys:    pairs of expressions over the columns of the left and of the right that must be equal.
    columns: the columns of the left and of the right that come out, after LEFT or RIGHT.
    condition: what a pair must fulfil beside, over the columns of `left` and `right`; None for nothing.
    null_safe: the numbers of the keys whose NULLs are equal.
    identified: something reads the identities of its rows.
    """

    timed = False
    compares = True

    name: str
    inputs: tuple[Node, ...]
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    kind: JoinKind
    condition: exp.Expr | None = None
    null_safe: frozenset[int] = frozenset()
    markers: bool = False
    identified: bool = True
    sides: ClassVar[tuple[int, ...]] = (0, 1)

    @property
    def single(self) -> bool:
        """Whether only the left side comes out."""
        return self.kind in (JoinKind.SEMI, JoinKind.ANTI)

    @property
    def only_adds(self) -> bool:
        """Whether it is a join whose rows stay when more come."""
        return self.kind in (JoinKind.INNER, JoinKind.SEMI)

    def asks_identities(self, asked: bool) -> bool:
        """Tell whether it reads the identities of its inputs: for those of its own rows, and to find what is taken
        away."""
        return asked or not all(map(only_adds, self.inputs))

    def without_identities(self) -> Self:
        """Return the join with no identities of its rows."""
        return self.changed(identified=False)

    @cached_property
    def properties(self) -> Properties:
        """What is known of the changes."""
        return self._changing(
            ColumnDefinition(prefix + column.name.lower(), column.type)
            for side, prefix in enumerate((LEFT,) if self.single else (LEFT, RIGHT))
            for column in self.inputs[side].properties.columns
            if column.name.lower() in self.columns[side]
        )

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        equal = [[canonical_sql(one), canonical_sql(other)] for one, other in self.keys]
        return {
            "join of tables": self.kind,
            "keys": equal,
            "columns": [list(names) for names in self.columns],
            **({"condition": canonical_sql(self.condition)} if self.condition is not None else {}),
            **({"equal NULLs": sorted(self.null_safe)} if self.null_safe else {}),
        }

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        equal = " AND ".join(
            f"{sql_of(one)} {'<=>' if number in self.null_safe else '='} {sql_of(other)}"
            for number, (one, other) in enumerate(self.keys)
        )
        asked = [] if self.condition is None else [f"  further condition on pairs: {sql_of(self.condition)}"]
        state = "the rows of both tables" + ("" if self.condition is None else ", with how many rows each meets")
        return [f"Join of tables  {self.kind}", f"  on: {equal}", *asked, f"  state: {state}"]

    def side_of(self, number: int) -> int:
        """Return which side an input belongs to."""
        return self.sides[number]

    def layouts(self, session: Session) -> list[RowLayout]:
        """Return the columns that travel, of each input; raises Unlike for keys whose types only Spark knows."""
        return list(table_join_layout(self, key_types(self.keys, self.inputs, self.sides, session)).layouts)


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
        number, sql = int(side == "right"), sql_of(without_tables(expression), keep=False)
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
    return RowLayout(key_columns(node.keys, side, kinds), AT_ONCE, values=(*values, *HIDDEN), any_order=True)
