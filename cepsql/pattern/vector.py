"""Row-only conditions over whole columns."""

import numpy as np
import pyarrow as pa

from cepsql.base.cached_property import cached_property
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.conditions import RowTests, conjuncts, split
from cepsql.pattern.leaf_types import column_types, leaf_types
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import Bit, MatchProgram, Navigation, Scalar
from cepsql.scalar.arrow.column_values import plain_values
from cepsql.scalar.arrow.masked_values import Masked, Unvectorised, masked_values
from cepsql.scalar.expressions import Input, Node, Parameter, leaves
from cepsql.scalar.python import PythonSource, compile_node, execute
from cepsql.scalar.typing import typed


def test_rows(program: MatchProgram, partitions: Partitions) -> RowTests:
    """Evaluate the row-only part of every variable's condition for all rows at once.

    Only TRUE counts. A verdict that depends on a later row that may still arrive is unknown; verdicts of rows that may
    not be read are meaningless. Conditions without a vectorised form run row by row.
    Raises NotSupportedError for an operation that has neither form.
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


# Not a test for pytest, despite its name.
test_rows.__test__ = False  # type: ignore[attr-defined]  # A function takes any attribute.


class _RowVectors:
    """The cached columns of the rows and of their neighbours."""

    def __init__(self, partitions: Partitions, program: MatchProgram):
        self.table, self.session = partitions.rows, program.session
        self._types = dict(column_types(program, partitions.rows.schema))
        self._partitions = partitions
        self._columns: dict[tuple[str, int], Masked] = {}
        self._verdicts: dict[Scalar, Masked] = {}

    @cached_property
    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        """For each row, the begin of its partition and the end of its readable rows."""
        sizes = np.diff(self._partitions.starts)
        return np.repeat(self._partitions.starts[:-1], sizes), np.repeat(self._partitions.ends, sizes)

    def verdict(self, condition: Scalar) -> Masked:
        """Return where a condition holds."""
        if condition not in self._verdicts:
            node = typed(condition, leaf_types(self._types), self.session)
            try:
                self._verdicts[condition] = masked_values(node, self._input, self.session)
            except Unvectorised:
                self._verdicts[condition] = _row_by_row(node, self)
        return self._verdicts[condition]

    def read(self, leaf: Bit | Navigation) -> Masked:
        """Return the values of a leaf."""
        if isinstance(leaf, Bit):
            return Masked(pa.array(self.table.column("m").to_numpy() & (1 << leaf.index) != 0))
        return self._column(leaf.column, leaf.shift)

    def _input(self, node: Input) -> Masked:
        if isinstance(node.leaf, Parameter):
            raise Unvectorised(node.leaf.name)
        return self.read(node.leaf)

    def _column(self, name: str, shift: int) -> Masked:
        if (name, shift) not in self._columns:
            if shift:
                self._columns[name, shift] = self._shifted(self._column(name, 0), shift)
            else:
                self._columns[name, shift] = Masked(_computable(_one_chunk(self.table.column(name))))
        return self._columns[name, shift]

    def _shifted(self, column: Masked, shift: int) -> Masked:
        """Return the values of the rows `shift` rows away."""
        begin, end = self._limits
        other = np.arange(shift, shift + len(begin))
        inside = (other >= begin) & (other < end)
        unknown = other >= end if shift > 0 and self._partitions.bound < END_OF_TIME else None
        return Masked(column.value.take(pa.array(np.where(inside, other, 0), mask=~inside)), unknown)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _computable(column: pa.Array) -> pa.Array:
    """Return times and intervals in microseconds."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz))
    return column.cast(pa.duration("us")) if pa.types.is_duration(kind) else column


def _looks_ahead(program: MatchProgram) -> bool:
    parts = (split(condition)[0] for condition in program.conditions)
    return any(isinstance(leaf, Navigation) and leaf.shift > 0 for part in parts for leaf in leaves(part))


def _row_by_row(condition: Node, rows: _RowVectors) -> Masked:
    """Evaluate a condition with the function that `cepsql.scalar.python` writes for it."""
    inputs: dict[Bit | Navigation, str] = {}
    source = PythonSource(lambda _, node: inputs.setdefault(node.leaf, f"input{len(inputs)}"), rows.session)
    result = compile_node(condition, source)
    text = "\n".join([f"def holds({', '.join(inputs.values())}):", *source.lines, f"    return {result}"])
    scope = dict(source.globals)
    execute(text, "<condition of a row pattern>", scope)
    columns = [rows.read(leaf) for leaf in inputs]
    values_by_name = plain_values(pa.table([column.value for column in columns], [*inputs.values()]), inputs.values())
    verdicts = (
        map(scope["holds"], *values_by_name.values()) if values_by_name else [scope["holds"]()] * rows.table.num_rows
    )
    values = np.fromiter((verdict is True for verdict in verdicts), bool, rows.table.num_rows)
    unknown = [column.unknown for column in columns if column.unknown is not None]
    return Masked(pa.array(values), np.logical_or.reduce(unknown) if unknown else None)
