"""The values of scalar expressions at the last row of a path through a pattern."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.leaf_types import column_types, leaf_types
from cepsql.pattern.measures import measure_table
from cepsql.pattern.ordered_rows import Matches, Partitions
from cepsql.pattern.program import MatchProgram, Measure, Navigation, Scalar
from cepsql.scalar.arrow.column_values import plain_values
from cepsql.scalar.expressions import Literal, leaves
from cepsql.scalar.python import PythonSource, compile_node, execute
from cepsql.scalar.typing import typed


class PathValues:
    """The values that conditions read if the rows from `start` on are mapped to `labels`, up to the row under test.

    number: the value of MATCH_NUMBER().
    """

    def __init__(self, program: MatchProgram, partition: Partitions, start: int, labels: tuple[int, ...], number: int):
        self._program, self._partition = program, partition
        first, begin, length, ordinal = (np.array([value], np.int64) for value in (0, start, len(labels), number))
        self._path = Matches(first, begin, length, ordinal, np.array([True]), np.array(labels, np.int64))

    def has_columns(self, expression: Scalar) -> bool:
        """Tell whether the rows have all columns that an expression reads."""
        names = {getattr(leaf, "column", None) for leaf in leaves(expression)} - {None}
        return names <= set(self._partition.rows.column_names)

    def waits(self, expression: Scalar) -> bool:
        """Tell whether an expression reads a row that has not arrived."""
        if self._partition.bound == END_OF_TIME:
            return False
        ahead = [leaf for leaf in leaves(expression) if isinstance(leaf, Navigation) and leaf.shift > 0]
        numbers = pa.table({"row": np.arange(self._partition.rows.num_rows)})
        places = self._measured(
            replace(self._partition, rows=numbers), [replace(n, column="row", shift=0) for n in ahead]
        )
        rows = [column[0].as_py() for column in places.columns]
        return any(r is not None and r + n.shift >= self._partition.ends[0] for r, n in zip(rows, ahead, strict=True))

    def leaf(self, leaf: Scalar) -> pa.ChunkedArray:
        """Return the value of a leaf that is neither a constant nor a bit, as a column of one row."""
        return self._measured(self._partition, [leaf]).column(0)

    def evaluate(self, expression: Scalar) -> Any:
        """Return the plain Python value of an expression without bits, as conditions compute it; NULL is None."""
        inputs = [leaf for leaf in dict.fromkeys(leaves(expression)) if not isinstance(leaf, Literal)]
        table = self._measured(self._partition, inputs)
        values = plain_values(table, table.column_names)
        types = leaf_types(dict(column_types(self._program, self._partition.rows.schema)))
        source = PythonSource(lambda _, node: f"p{inputs.index(node.leaf)}", self._program.session)
        result = compile_node(typed(expression, types, self._program.session), source)
        parameters = ", ".join(f"p{i}" for i in range(len(inputs)))
        text = "\n".join([f"def value({parameters}):", *source.lines, f"    return {result}"])
        scope = dict(source.globals)
        execute(text, "<part of a condition>", scope)
        return scope["value"](*(values[f"p{i}"][0] for i in range(len(inputs))))

    def _measured(self, partition: Partitions, sources: Iterable[Any]) -> pa.Table:
        measures = tuple(Measure(f"p{i}", source) for i, source in enumerate(sources))
        return measure_table(replace(self._program, keys=(), measures=measures, all_rows=False), partition, self._path)
