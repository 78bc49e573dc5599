"""Evaluate typed expressions over Arrow columns with exactly Spark's results."""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.scalar.arrow.arrow_doubts import doubtful, one_by_one
from cepsql.scalar.arrow.arrow_kernels import ARROW_KERNELS, kernel_of
from cepsql.scalar.arrow.column_values import Value, all_rows, arrow_type
from cepsql.scalar.expressions import Apply, Constant, Input, Leaf, Node, Session
from cepsql.scalar.typed_sql import spark_sql


def arrow_obstacle(node: Node, session: Session) -> str | None:
    """Return the SQL of a subexpression that Arrow does not compute as Spark does, None without one."""
    if not isinstance(node, Apply):
        return None
    for argument in node.arguments:
        obstacle = arrow_obstacle(argument, session)
        if obstacle:
            return obstacle
    return spark_sql(node) if kernel_of(node) is None else None


def evaluate(node: Node, columns: Mapping[Leaf, pa.Array], rows: int, session: Session) -> pa.Array:
    """Return the values of an expression, one for each row, in the Arrow type of its Spark type.

    node:    an expression without `arrow_obstacle`, whose inputs are keys of `columns`.
    columns: the columns that it reads.
    Raises OperationalError where Spark fails in both modes, such as for an instant beyond 64 bits; in ANSI mode
    DataError where Spark raises an error.
    """
    doubts: list[Value] = []
    with np.errstate(all="ignore"):
        values = all_rows(_value(node, lambda leaf: columns[leaf.leaf], session, doubts), rows)
    if not doubts:
        return values
    asked = np.logical_or.reduce([_is_true(all_rows(doubt, rows)) for doubt in doubts])
    if not asked.any():
        return values
    exact = one_by_one(node, columns, np.flatnonzero(asked), session)
    return pc.replace_with_mask(values, pa.array(asked), exact)


def _is_true(doubt: pa.Array) -> np.ndarray:
    return pc.fill_null(doubt, False).to_numpy(zero_copy_only=False)


def _value(node: Node, read: Callable[[Input], pa.Array], session: Session, doubts: list[Value]) -> Value:
    """Return the values of an expression as without ANSI mode; in ANSI mode, append the rows that may be an error to
    `doubts`."""
    match node:
        case Constant(value, type):
            return pa.scalar(value, arrow_type(type))
        case Apply(operation, arguments):
            values = [_value(argument, read, session, doubts) for argument in arguments]
            doubt = doubtful(node, values) if session.ansi else None
            if doubt is not None:
                doubts.append(doubt)
            return ARROW_KERNELS[operation].compute(node, session, *values)
    return read(node)
