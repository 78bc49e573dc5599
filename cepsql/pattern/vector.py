"""Row-only conditions over whole columns."""

from typing import Any

import numpy as np
import pyarrow as pa

from cepsql.base.cached_property import cached_property
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.conditions import RowTests, conjuncts, split
from cepsql.pattern.leaf_types import column_types, leaf_types
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import Bit, MatchProgram, Navigation, Scalar
from cepsql.scalar.expressions import Apply, Constant, Input, Node, Parameter, leaves
from cepsql.scalar.kernels import Unvectorised, Vector, apply, constant, vector_of
from cepsql.scalar.python import PythonSource, compile_node, execute
from cepsql.scalar.typing import typed


def test_rows(program: MatchProgram, partitions: Partitions) -> RowTests:
    """Evaluate the row-only part of every variable's condition for all rows at once.

    Only TRUE counts. A verdict that hangs on a row beyond those that may be read, while more may come, is unknown; rows
    that may not be read themselves get verdicts without meaning. What has no vectorised form runs row by row.
    Raises NotSupportedError for an operation that has neither.
    """
    rows = _RowVectors(partitions, program)
    holds = np.ones((len(program.variables), partitions.rows.num_rows), bool)
    possible = holds.copy() if _looks_ahead(program) and partitions.bound < END_OF_TIME else None
    for variable, condition in enumerate(program.conditions):
        for part in conjuncts(split(condition)[0]):
            verdict = rows.verdict(part)
            holds[variable] &= verdict.true
            if possible is not None:
                possible[variable] &= verdict.true if verdict.unknown is None else verdict.true | verdict.unknown
    return RowTests(holds, None if possible is None else possible & ~holds)


# Not a test, whatever pytest thinks of the name.
test_rows.__test__ = False  # type: ignore[attr-defined]  # A function takes any attribute.


class _RowVectors:
    """The columns of the rows, and of their neighbours, as vectors that are made once."""

    def __init__(self, partitions: Partitions, program: MatchProgram):
        self.table, self.session = partitions.rows, program.session
        self._types = dict(column_types(program, partitions.rows.schema))
        self._partitions = partitions
        self._read: dict[tuple[str, int], Vector] = {}
        self._verdicts: dict[Scalar, Vector] = {}

    @cached_property
    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        """For each row, where its partition begins and where its readable rows end."""
        sizes = np.diff(self._partitions.starts)
        return np.repeat(self._partitions.starts[:-1], sizes), np.repeat(self._partitions.ends, sizes)

    def verdict(self, condition: Scalar) -> Vector:
        """Return where a condition holds."""
        if condition not in self._verdicts:
            node = typed(condition, leaf_types(self._types), self.session)
            try:
                self._verdicts[condition] = _evaluate(node, self)
            except Unvectorised:
                self._verdicts[condition] = _row_by_row(node, self)
        return self._verdicts[condition]

    def read(self, leaf: Bit | Navigation) -> Vector:
        """Return what a leaf reads."""
        if isinstance(leaf, Bit):
            return Vector(self._column("m", 0).values & (1 << leaf.index) != 0, np.True_)
        return self._column(leaf.column, leaf.shift)

    def _column(self, name: str, shift: int) -> Vector:
        if (name, shift) not in self._read:
            if shift:
                self._read[name, shift] = self._shifted(self._column(name, 0), shift)
            else:
                self._read[name, shift] = vector_of(_one_chunk(self.table.column(name)))
        return self._read[name, shift]

    def _shifted(self, vector: Vector, shift: int) -> Vector:
        """Return the values of the rows `shift` rows away."""
        begin, end = self._limits
        other = np.arange(shift, shift + len(begin))
        inside = (other >= begin) & (other < end)
        unknown = other >= end if shift > 0 and self._partitions.bound < END_OF_TIME else None
        source = np.where(inside, other, 0)
        if isinstance(vector.values, pa.Array):
            values = vector.values.take(pa.array(source, mask=~inside))
        else:
            values = vector.values[source]
        valid: Any = vector.valid
        return Vector(values, valid[source] & inside, unknown)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _looks_ahead(program: MatchProgram) -> bool:
    parts = (split(condition)[0] for condition in program.conditions)
    return any(isinstance(leaf, Navigation) and leaf.shift > 0 for part in parts for leaf in leaves(part))


def _evaluate(node: Node, rows: _RowVectors) -> Vector:
    match node:
        case Constant(value):
            return constant(value)
        case Input(Parameter(name)):
            raise Unvectorised(name)
        case Apply(_, arguments):
            return apply(node, [_evaluate(argument, rows) for argument in arguments], rows.session)
    return rows.read(node.leaf)


def _row_by_row(condition: Node, rows: _RowVectors) -> Vector:
    """Evaluate a condition with the function that `cepsql.scalar.python` writes for it."""
    inputs: dict[Bit | Navigation, str] = {}
    source = PythonSource(lambda _, node: inputs.setdefault(node.leaf, f"input{len(inputs)}"), rows.session)
    result = compile_node(condition, source)
    text = "\n".join([f"def holds({', '.join(inputs.values())}):", *source.lines, f"    return {result}"])
    scope = dict(source.globals)
    execute(text, "<condition of a row pattern>", scope)
    vectors = [rows.read(leaf) for leaf in inputs]
    verdicts = map(scope["holds"], *map(_as_list, vectors)) if vectors else [scope["holds"]()] * rows.table.num_rows
    values = np.fromiter((verdict is True for verdict in verdicts), bool, rows.table.num_rows)
    unknown = [vector.unknown for vector in vectors if vector.unknown is not None]
    return Vector(values, np.True_, np.logical_or.reduce(unknown) if unknown else None)


def _as_list(vector: Vector) -> list:
    if isinstance(vector.values, pa.Array):
        return vector.values.to_pylist()
    if vector.valid.all():
        return vector.values.tolist()
    valid: Any = vector.valid.tolist()
    return [value if known else None for value, known in zip(vector.values.tolist(), valid, strict=True)]
