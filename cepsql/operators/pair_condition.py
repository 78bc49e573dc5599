"""A condition on pairs of rows, computed as Spark would."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.columns import take_rows
from cepsql.scalar.arrow import arrow_obstacle, evaluate
from cepsql.scalar.columns import arrow_type, plain_values
from cepsql.scalar.python import Source, compile_node, execute
from cepsql.scalar.tree import Input, Leaf, Node, Session, nodes


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
        sides = []
        for number, (table, places) in enumerate(((left, one), (right, other))):
            names = sorted({leaf.name for leaf in self._leaves if leaf.side == number})
            sides.append(take_rows(table.select(names), places) if names else pa.table({}))
        if self._by_arrow:
            found = evaluate(self.node, self._arrow_columns(sides), len(one), self.session)
            return pc.fill_null(found, False).to_numpy(zero_copy_only=False)
        columns = {
            f"{number}_{name}": values
            for number, table in enumerate(sides)
            for name, values in plain_values(table, table.column_names).items()
        }
        return np.fromiter((test is True for test in self._tests(columns, len(one))), bool, len(one))

    @property
    def _by_arrow(self) -> bool:
        plain = all(part.type.name != "interval" for part in nodes(self.node))
        return plain and arrow_obstacle(self.node, self.session) is None

    @property
    def _leaves(self) -> set[PairColumn]:
        return {part.leaf for part in nodes(self.node) if isinstance(part, Input)}

    def _arrow_columns(self, sides: Sequence[pa.Table]) -> dict[Leaf, pa.Array]:
        inputs = {part.leaf: part.type for part in nodes(self.node) if isinstance(part, Input)}
        return {leaf: sides[leaf.side][leaf.name].chunk(0).cast(arrow_type(type)) for leaf, type in inputs.items()}

    @cached_property
    def _tests(self) -> Callable[[Mapping[str, Sequence], int], Sequence[bool | None]]:
        """Return a function of columns by number of the side and name, and of how many pairs there are."""
        source = Source(lambda _, leaf: f"c{leaf.leaf.side}_{leaf.leaf.name}[i]", self.session)
        source.depth = 2
        result = compile_node(self.node, source)
        columns = sorted({f"{leaf.side}_{leaf.name}" for leaf in self._leaves})
        text = "\n".join(
            ["def tests(columns, count):"]
            + [f"    c{name} = columns[{name!r}]" for name in columns]
            + ["    found = []", "    for i in range(count):"]
            + source.lines
            + [f"        found.append({result})", "    return found"]
        )
        scope = dict(source.globals)
        execute(text, "<condition of a join>", scope)
        return scope["tests"]
