"""Evaluate typed expressions over Arrow columns, where that gives exactly what Spark gives."""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from cepsql.scalar.ansi import may_fail
from cepsql.scalar.arrow_kernels import ARROW_KERNELS
from cepsql.scalar.columns import Value, all_rows, arrow_type
from cepsql.scalar.spark_sql import spark_sql
from cepsql.scalar.tree import Apply, Constant, Input, Leaf, Node, Session


def arrow_obstacle(node: Node, session: Session) -> str | None:
    """Return what of a typed expression Arrow does not compute as Spark does, None if there is nothing."""
    if not isinstance(node, Apply):
        return None
    for argument in node.arguments:
        found = arrow_obstacle(argument, session)
        if found:
            return found
    kernel = ARROW_KERNELS.get(node.operation)
    if kernel is None or not kernel.takes(node):
        return spark_sql(node)
    failing = may_fail(node) if session.ansi else None
    return failing and f"{failing}, which may be an error in ANSI mode"


def evaluate(node: Node, columns: Mapping[Leaf, pa.Array], rows: int, session: Session) -> pa.Array:
    """Return the values of an expression, of the Arrow type of its Spark type, one for each of the rows.

    node:    one without `arrow_obstacle`, whose inputs are keys of `columns`.
    columns: the columns that it reads.
    Raises OperationalError where Spark fails, too: an instant beyond 64 bits.
    """
    with np.errstate(all="ignore"):
        return all_rows(_value(node, lambda leaf: columns[leaf.leaf], session), rows)


def _value(node: Node, read: Callable[[Input], pa.Array], session: Session) -> Value:
    match node:
        case Constant(value, type):
            return pa.scalar(value, arrow_type(type))
        case Apply(operation, arguments):
            values = [_value(argument, read, session) for argument in arguments]
            return ARROW_KERNELS[operation].compute(node, session, *values)
    return read(node)
