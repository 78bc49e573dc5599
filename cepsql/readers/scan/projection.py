"""How Arrow columns become the rows of an operator, as frozen, picklable data for workers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.readers.scan.layout import FileLayout
from cepsql.readers.scan.murmur import is_hashed, spark_hashes
from cepsql.scalar.arrow.arrow_expressions import evaluate
from cepsql.scalar.arrow.column_values import arrow_type
from cepsql.scalar.expressions import Apply, Input, Node, Session, nodes
from cepsql.scalar.types import STRING

_KEY = re.compile(r"k\d+")

ROW_IDENTITY = "row identity"
"""A function in queries below operators: the identity of a table's row, computed from columns."""


@dataclass(frozen=True)
class Projection:
    """How the rows of a layout are computed from columns; picklable.

    session:    the rules and the time zone of the session.
    where:      the condition on the rows of the operator, or None.
    values:     the columns of the operator's rows by name: k*, t, o*, v*.
    predicates: the bits of the mask.
    """

    session: Session
    where: Node | None
    values: tuple[tuple[str, Node], ...]
    predicates: tuple[Node, ...]

    @property
    def inputs(self) -> frozenset[Input]:
        """The columns that the projection reads."""
        made = [*(node for _, node in self.values), *self.predicates, *([] if self.where is None else [self.where])]
        return frozenset().union(*map(inputs_of, made))

    @property
    def keys(self) -> dict[str, Node]:
        """The key columns, by name."""
        return {name: node for name, node in self.values if _KEY.fullmatch(name)}

    @property
    def key_types(self) -> tuple[pa.DataType, ...]:
        """The types of the keys."""
        return tuple(arrow_type(node.type) for node in self.keys.values())

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows, with m at the end if there are predicates."""
        fields = [(name, arrow_type(node.type)) for name, node in self.values]
        return pa.schema([*fields, *([("m", pa.int64())] if self.predicates else [])])

    def rows(self, columns: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
        """Return the rows that a number of values of the columns make."""
        if self.where is not None:
            passing = pc.fill_null(evaluate(self.where, columns, rows, self.session), False)
            columns = {name: column.filter(passing) for name, column in columns.items()}
            rows = pc.sum(passing).as_py() or 0
        evaluated: dict[Node, pa.Array] = {}
        arrays = [self._evaluated(node, columns, rows, evaluated) for _, node in self.values]
        if self.predicates:
            arrays.append(_mask([evaluate(node, columns, rows, self.session) for node in self.predicates], rows))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _evaluated(
        self, node: Node, columns: Mapping[str, pa.Array], rows: int, evaluated: dict[Node, pa.Array]
    ) -> pa.Array:
        """Return the values of an expression; `evaluated` caches the values of expressions."""
        if node not in evaluated and isinstance(node, Apply) and node.operation == ROW_IDENTITY:
            parts = [part for part in node.arguments if is_hashed(part.type)]
            evaluated[node] = _identities([self._evaluated(part, columns, rows, evaluated) for part in parts], rows)
        elif node not in evaluated:
            evaluated[node] = evaluate(node, columns, rows, self.session)
        return evaluated[node]


def row_identity(columns: Sequence[Node]) -> Node:
    """Return the identity of rows that are added to a table: a short text, equal for rows with equal values in these
    columns, and for few others. Operators compare the values of rows with the same identity."""
    return Apply(ROW_IDENTITY, tuple(columns), STRING)


def inputs_of(node: Node) -> frozenset[Input]:
    """Return the columns that an expression reads."""
    return frozenset(part for part in nodes(node) if isinstance(part, Input))


@dataclass(frozen=True)
class ArrowScan:
    """All that a task needs to read files, or records, into the rows of an operator; picklable.

    by_arrival: the rows have their positions in the input.
    time:       the event time of the stream in microseconds, None if it has none of type TIMESTAMP.
    """

    layout: FileLayout
    projection: Projection
    by_arrival: bool = False
    time: Node | None = None

    def with_seen(self) -> "ArrowScan":
        """Return the scan with the event time of rows in `seen`."""
        assert self.time is not None
        projection = replace(self.projection, values=(*self.projection.values, ("seen", self.time)))
        wanted = self.layout.wanted | {column.leaf for column in inputs_of(self.time)}
        return replace(self, layout=replace(self.layout, wanted=wanted), projection=projection)


def _identities(columns: list[pa.Array], rows: int) -> pa.Array:
    if not columns:
        return pa.repeat("", rows)
    return pa.array(spark_hashes(columns, rows)).cast(pa.string())


def _mask(verdicts: list[pa.Array], rows: int) -> pa.Array:
    """Return BIGINTs with bit i set where verdict i is true."""
    narrow = np.min_scalar_type(2 ** len(verdicts) - 1)
    mask = np.zeros(rows, narrow)
    for bit, verdict in enumerate(verdicts):
        true = (verdict.fill_null(False) if verdict.null_count else verdict).to_numpy(zero_copy_only=False)
        mask |= true.astype(narrow) << narrow.type(bit)
    return pa.array(mask.astype(np.int64))
