"""A condition on pairs of rows, computed as Spark would."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.plain_columns import take_rows
from cepsql.scalar.arrow.arrow_expressions import arrow_obstacle, evaluate
from cepsql.scalar.arrow.column_values import arrow_type, plain_values
from cepsql.scalar.expressions import Input, Leaf, Node, Session, nodes
from cepsql.scalar.python import compile_rows

_PIECE = 2**18
"""Of so many pairs at a time the values are laid side by side."""


@dataclass(frozen=True)
class PairColumn:
    """A column of one of the two rows of a pair: 0 is the left row, 1 the right one."""

    side: int
    name: str


@dataclass(frozen=True)
class PairCondition:
    """A condition that a pair of rows must fulfil; NULL counts as false.

    node:    a typed expression whose inputs are `PairColumn`s.
    session: by whose rules it is computed.
    """

    node: Node
    session: Session

    def holds(self, left: pa.Table, one: np.ndarray, right: pa.Table, other: np.ndarray) -> np.ndarray:
        """Tell for which pairs the condition is true (bool).

        one, other: the places of the rows of each pair in `left` and in `right`, which have one chunk a column.
        Raises DataError where Spark fails, too.
        """
        pieces = [slice(begin, begin + _PIECE) for begin in range(0, len(one), _PIECE)]
        holds = [self._holds(left, one[piece], right, other[piece]) for piece in pieces]
        return np.concatenate(holds) if holds else np.zeros(0, bool)

    def _holds(self, left: pa.Table, one: np.ndarray, right: pa.Table, other: np.ndarray) -> np.ndarray:
        sides = []
        for number, (table, places) in enumerate(((left, one), (right, other))):
            names = sorted({leaf.name for leaf in self._leaves if leaf.side == number})
            sides.append(take_rows(table.select(names), places) if names else pa.table({}))
        if self._by_arrow:
            truth = evaluate(self.node, self._arrow_columns(sides), len(one), self.session)
            return pc.fill_null(truth, False).to_numpy(zero_copy_only=False)
        values = [plain_values(table, table.column_names) for table in sides]
        tests = compile_rows(self.node, self._leaves, self.session)
        results = tests([values[leaf.side][leaf.name] for leaf in self._leaves], len(one))
        return np.fromiter((test is True for test in results), bool, len(one))

    @property
    def _by_arrow(self) -> bool:
        plain = all(part.type.name != "interval" for part in nodes(self.node))
        return plain and arrow_obstacle(self.node, self.session) is None

    @property
    def _leaves(self) -> tuple[PairColumn, ...]:
        return tuple(dict.fromkeys(part.leaf for part in nodes(self.node) if isinstance(part, Input)))

    def _arrow_columns(self, sides: Sequence[pa.Table]) -> dict[Leaf, pa.Array]:
        inputs = {part.leaf: part.type for part in nodes(self.node) if isinstance(part, Input)}
        return {leaf: sides[leaf.side][leaf.name].chunk(0).cast(arrow_type(type)) for leaf, type in inputs.items()}


def chosen_pairs(
    condition: PairCondition | None, left: pa.Table, one: np.ndarray, right: pa.Table, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return those pairs for which a condition holds, all if there is none; arguments as of `PairCondition.holds`."""
    if condition is None:
        return one, other
    holds = condition.holds(left, one, right, other)
    return one[holds], other[holds]
