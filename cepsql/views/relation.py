"""Rows in memory whose columns SQL names by table and column, and what Arrow computes over them as Spark does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from cepsql.ordered.ordinal import ordinals
from cepsql.ordered.plain_columns import one_chunk
from cepsql.readers.scan.row_expressions import Unlike, compile_tree
from cepsql.scalar.arrow.arrow_expressions import evaluate
from cepsql.scalar.expressions import Apply, Input, Node, Session, nodes
from cepsql.scalar.types import BOOLEAN, FRACTIONS, TIMESTAMP, Type

_WITHOUT_ZONE = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "nseq",
    "in",
    "and",
    "or",
    "not",
    "isnull",
    "isnotnull",
    "coalesce",
)
"""Operations on instants that do not depend on the time zone."""


@dataclass(frozen=True)
class RelationColumn:
    """A column of a relation: the table that SQL calls it by, its name, its values and their Spark type."""

    table: str
    name: str
    values: pa.Array
    type: Type


@dataclass(frozen=True)
class Rules:
    """Spark's rules for computing expressions; `zoned`: the time zone is known."""

    session: Session
    zoned: bool


@dataclass(frozen=True)
class Relation:
    """Rows, as columns."""

    columns: tuple[RelationColumn, ...]
    rows: int

    def place(self, column: exp.Column) -> int:
        """Return the place of the column that a name refers to; raises Unlike if it is ambiguous or unknown."""
        table, name = column.table.lower(), column.name.lower()
        places = [
            place
            for place, candidate in enumerate(self.columns)
            if candidate.name == name and (not table or candidate.table == table)
        ]
        if len(places) != 1:
            raise Unlike(column.sql(dialect="spark"))
        return places[0]

    def value(self, tree: exp.Expr, rules: Rules) -> tuple[pa.Array, Type]:
        """Return the values of an expression, and their type; raises Unlike if Arrow cannot compute it."""
        if isinstance(tree, exp.Column):
            named = self.columns[self.place(tree)]
            return named.values, named.type
        if tree.find(exp.Query) is not None:
            raise Unlike("a subquery in an expression")
        renamed = tree.copy().transform(self._renamed)
        inputs: dict[str, Node] = {f"c{n}": Input(f"c{n}", column.type) for n, column in enumerate(self.columns)}
        node = compile_tree(renamed, inputs, rules.session)
        if not rules.zoned and any(map(_reads_clock, nodes(node))):
            raise Unlike(f"{tree.sql(dialect='spark')} depends on the time zone")
        arrays = {f"c{n}": column.values for n, column in enumerate(self.columns)}
        return evaluate(node, arrays, self.rows, rules.session), node.type

    def filtered(self, tree: exp.Expr, rules: Rules) -> "Relation":
        """Return the rows for which a condition is true."""
        verdict, kind = self.value(tree, rules)
        if kind != BOOLEAN:
            raise Unlike(f"a {str(kind).upper()} as condition")
        return self.taken(np.flatnonzero(pc.fill_null(verdict, False).to_numpy(zero_copy_only=False)))

    def taken(self, places: np.ndarray) -> "Relation":
        """Return the rows at these places."""
        chosen = pa.array(places, pa.int64())
        columns = (RelationColumn(c.table, c.name, c.values.take(chosen), c.type) for c in self.columns)
        return Relation(tuple(columns), len(places))

    def called(self, table: str) -> "Relation":
        """Return the rows of a subquery under its alias."""
        columns = (RelationColumn(table.lower(), column.name, column.values, column.type) for column in self.columns)
        return Relation(tuple(columns), self.rows)

    def _renamed(self, node: exp.Expr) -> exp.Expr:
        return exp.column(f"c{self.place(node)}") if isinstance(node, exp.Column) else node


def _reads_clock(node: Node) -> bool:
    if not isinstance(node, Apply):
        return False
    timed = [part.type == TIMESTAMP for part in (node, *node.arguments)]
    return any(timed) and node.operation not in _WITHOUT_ZONE


def ordered(keys: Sequence[tuple[pa.Array, bool, bool]], rows: int) -> np.ndarray:
    """Return the places of rows in Spark's order by keys: values, whether descending and NULL first."""
    codes: list[np.ndarray] = []
    for values, descending, nulls_first in keys:
        null = values.is_null().to_numpy(zero_copy_only=False)
        numbers = np.where(null, 0, ordinals(values, equal_zeros=True))
        codes += [null != nulls_first, ~numbers if descending else numbers]
    # numpy sorts by the last key first.
    return np.lexsort(codes[::-1]) if codes else np.arange(rows)


def joined(left: Relation, right: Relation, on: exp.Expr, outer: bool, rules: Rules) -> Relation:
    """Return the equi-join of two relations; `outer` keeps unmatched rows of the left one."""
    both = Relation((*left.columns, *right.columns), 0)
    width = len(left.columns)
    pairs, others = [], []
    for part in on.flatten() if isinstance(on, exp.And) else [on]:
        part = part.unnest()
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
            places = sorted((both.place(part.this), both.place(part.expression)))
            if places[0] < width <= places[1]:
                pairs.append((places[0], places[1] - width))
                continue
        others.append(part)
    if not pairs:
        raise Unlike("a join without equal columns")
    if others and outer:
        raise Unlike(f"{others[0].sql(dialect='spark')} in the condition of an outer join")
    for a, b in pairs:
        if left.columns[a].type != right.columns[b].type or left.columns[a].type in FRACTIONS:
            raise Unlike(f"a join by columns of the types {left.columns[a].type} and {right.columns[b].type}")
    sides = [
        pa.table({f"k{n}": side.columns[pair[at]].values for n, pair in enumerate(pairs)} | {
            f"{name}": pa.array(np.arange(side.rows), pa.int64())
        })
        for at, (side, name) in enumerate(((left, "l"), (right, "r")))
    ]  # fmt: skip
    keys = [f"k{n}" for n in range(len(pairs))]
    met = sides[0].join(sides[1], keys, join_type="left outer" if outer else "inner", use_threads=False)
    lefts, rights = one_chunk(met["l"]), one_chunk(met["r"])
    columns = [RelationColumn(c.table, c.name, c.values.take(lefts), c.type) for c in left.columns]
    columns += [RelationColumn(c.table, c.name, c.values.take(rights), c.type) for c in right.columns]
    relation = Relation(tuple(columns), len(lefts))
    for part in others:
        relation = relation.filtered(part, rules)
    return relation
