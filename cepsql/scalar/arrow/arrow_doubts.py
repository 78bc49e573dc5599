"""The rows in which an operation over Arrow columns may be an error in ANSI mode, and their values one by one.

A kernel computes as Spark does without ANSI mode. Whether a row is an error depends on the expression around the
operation: CASE and AND do not evaluate all of their arguments.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.scalar.arrow.arrow_decimals import is_rounded, rounded_product
from cepsql.scalar.arrow.column_values import Value, arrow_type, plain_values
from cepsql.scalar.expressions import Apply, Constant, Input, Leaf, Node, Session, nodes
from cepsql.scalar.python import compile_rows
from cepsql.scalar.types import FRACTIONS, INTEGERS, is_decimal
from cepsql.scalar.values import LIMITS

_CHECKED = {"add": pc.add_checked, "sub": pc.subtract_checked, "mul": pc.multiply_checked}


def doubtful(node: Apply, values: list[Value]) -> Value | None:
    """Return the rows in which an operation may be an error in ANSI mode, where NULL means no error; None if in no
    row."""
    if node.operation in _CHECKED and node.type in INTEGERS:
        try:
            _CHECKED[node.operation](*values)
        except pa.ArrowInvalid:
            return pa.scalar(True)
    elif node.operation in ("neg", "abs") and node.type in INTEGERS:
        return _least(node, *values)
    elif node.operation == "mul" and is_decimal(node.type) and is_rounded(node):
        return _overflown(node, *values)
    elif _is_harmless(node):
        return None
    elif node.operation in ("div", "mod"):
        return pc.equal(values[1], 0)
    elif node.operation == "intdiv":
        return _divided_whole(node, *values)
    elif node.operation == "cast" and node.type in INTEGERS and node.arguments[0].type in (*INTEGERS, *FRACTIONS):
        return _narrowed(node, *values)
    return None


def one_by_one(node: Node, columns: Mapping[Leaf, pa.Array], places: np.ndarray, session: Session) -> pa.Array:
    """Return the values of an expression in some rows, in the Arrow type of its Spark type.

    Raises DataError where Spark raises an error.
    """
    leaves = tuple(dict.fromkeys(part.leaf for part in nodes(node) if isinstance(part, Input)))
    table = pa.table([columns[leaf].take(pa.array(places)) for leaf in leaves], list(map(str, range(len(leaves)))))
    values_by_name = plain_values(table, table.column_names)
    values = compile_rows(node, leaves, session)([values_by_name[name] for name in table.column_names], len(places))
    kind = arrow_type(node.type)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return pa.array(values, pa.int64() if pa.types.is_timestamp(kind) else pa.int32()).view(kind)
    return pa.array(values, kind)


def _is_harmless(node: Apply) -> bool:
    """Tell whether an operation divides by a constant that cannot cause an error."""
    divisor = node.arguments[-1]
    dividing = node.operation in ("div", "mod", "intdiv")
    return dividing and isinstance(divisor, Constant) and divisor.value not in (0, -1)


def _least(node: Apply, a: Value) -> Value:
    """The least integer has no negation."""
    return pc.equal(a, pa.scalar(-LIMITS[node.type.name], a.type))


def _overflown(node: Apply, a: Value, b: Value) -> Value:
    """A product of NULLs is NULL, too, and no error."""
    return pc.and_(pc.is_null(rounded_product(node, a, b)), pc.and_(pc.is_valid(a), pc.is_valid(b)))


def _divided_whole(node: Apply, a: Value, b: Value) -> Value:
    return pc.or_kleene(pc.equal(b, 0), pc.and_kleene(pc.equal(b, -1), _least(node, a)))


def _narrowed(node: Apply, a: Value) -> Value | None:
    source, limit = node.arguments[0].type, LIMITS[node.type.name]
    if source in INTEGERS:
        if LIMITS[source.name] <= limit:
            return None
        return pc.or_(pc.less(a, -limit), pc.greater_equal(a, limit))
    # NaN is in no range; values between -limit - 1 and -limit are decided one by one.
    return pc.invert(pc.and_(pc.greater(a, float(-limit)), pc.less(a, float(limit))))
