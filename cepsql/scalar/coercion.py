"""Spark's implicit coercions of operands and arguments, with and without ANSI mode."""

from collections.abc import Iterable
from contextlib import suppress

from cepsql.errors import DataError, NotSupportedError
from cepsql.scalar.casts import cast_function, has_cast
from cepsql.scalar.decimals import decimal_of, decimal_of_literal, wider_decimal
from cepsql.scalar.expressions import Apply, Constant, Node, Session
from cepsql.scalar.times import is_named, means_today
from cepsql.scalar.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATETIMES,
    DOUBLE,
    FRACTIONS,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    VOID,
    Type,
    array_of,
    is_decimal,
    is_number,
)

_WIDENING = (*INTEGERS, *FRACTIONS)
_SIGNS = {
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "nseq": "<=>", "add": "+", "sub": "-",
    "mul": "*", "div": "/", "mod": "%", "neg": "-",
}  # fmt: skip
"""The names of operators in messages."""


def cast(node: Node, type: Type, session: Session, operation: str = "cast") -> Node:
    """Return a node cast to another type by CAST or TRY_CAST; a constant is folded.

    Raises NotSupportedError if the cast might not give the same as Spark's.
    """
    if type in (node.type, UNKNOWN) or node.type in (UNKNOWN, array_of(UNKNOWN)):
        return node
    if node.type == VOID:
        return Constant(None, type)
    # In ANSI mode Spark casts through doubles here.
    inexact = session.ansi and is_decimal(node.type) and node.type.precision > 18 and type in INTEGERS
    if inexact or not has_cast(node.type, type):
        raise NotSupportedError(f"CAST of {display_name(node.type)} to {display_name(type)}")
    if isinstance(node, Constant) and node.type == STRING and type in DATETIMES and is_named(node.value or ""):
        raise NotSupportedError(f"'{node.value}' as a {display_name(type)}", hint="write the time itself")
    if isinstance(node, Constant) and node.value is not None and operation == "cast" and not _moves(node, type):
        # A cast that fails must fail only where it is evaluated.
        with suppress(DataError):
            return Constant(cast_function(node.type, type, session)(node.value), type)
    return Apply(operation, (node,), type)


def _moves(node: Constant, type: Type) -> bool:
    """Tell whether a constant means another value tomorrow."""
    return node.type == STRING and type == TIMESTAMP and means_today(node.value)


def common_type(types: Iterable[Type], session: Session, texts: bool = True) -> Type | None:
    """Return the common type of COALESCE, CASE, IF and IN over values of these types, None if Spark refuses them.

    texts: whether other types may become strings; not in GREATEST and LEAST.
    """
    # Spark takes strings first, so that the order of types does not matter.
    ordered = sorted(dict.fromkeys(types), key=lambda type: type != STRING)
    common: Type | None = VOID
    for type in ordered:
        common = common and _wider(common, type, session, texts)
    return common


def literal_decimal(node: Node) -> Type | None:
    """Return the DECIMAL type of a whole number or DECIMAL beside a DECIMAL; a constant has just its own digits, but
    not one of TINYINT."""
    if isinstance(node, Constant) and node.type in INTEGERS and node.type != TINYINT and node.value is not None:
        return decimal_of_literal(node.value)
    return decimal_of(node.type)


def counted_decimal(node: Node) -> Type:
    """Return `literal_decimal` of a node that must be a whole number or DECIMAL."""
    decimal = literal_decimal(node)
    assert decimal is not None
    return decimal


def compared_type(left: Node, right: Node, session: Session) -> Type | None:
    """Return the type in which two values are compared, None if Spark refuses to compare them."""
    a, b = left.type, right.type
    if a == b or VOID in (a, b):
        return b if a == VOID else a
    if is_number(a) and is_number(b):
        return number_type(left, right, session)
    if BOOLEAN in (a, b) and (is_number(a) or is_number(b)):
        return None if session.ansi else b if a == BOOLEAN else a
    if STRING in (a, b):
        other = b if a == STRING else a
        if session.ansi:
            return _beside_text(other)
        return (
            DOUBLE
            if is_decimal(other) and other.scale
            else other
            if other.name not in ("array", "map", "interval")
            else None
        )
    return _wider(a, b, session, texts=False)


def number_type(left: Node, right: Node, session: Session) -> Type:
    """Return the common type of two numbers."""
    a, b = left.type, right.type
    if is_decimal(a) or is_decimal(b):
        if a in FRACTIONS or b in FRACTIONS:
            return DOUBLE
        return wider_decimal(counted_decimal(left), counted_decimal(right))
    return _wider_number(a, b, session)


def implicit_cast(node: Node, type: Type, session: Session, where: str) -> Node:
    """Return an argument cast to the type of a function's parameter.

    Raises NotSupportedError if Spark refuses to convert it, or the cast is not supported.
    """
    source = node.type
    if source in (type, VOID, UNKNOWN):
        return cast(node, type, session)
    if _converts(source, type):
        return cast(node, type, session)
    raise NotSupportedError(f"{where} of {display_name(source)} values", hint="cast them")


def refused(operation: str, operands: Iterable[Node]) -> NotSupportedError:
    """Return the error for an operation that does not accept operands of these types."""
    kinds = " and ".join(display_name(node.type) for node in operands)
    sign = _SIGNS.get(operation, operation.upper())
    return NotSupportedError(f"{sign} of {kinds}", hint="cast the values to other types")


def display_name(type: Type) -> str:
    """Return the name of a type for messages."""
    return str(type).upper()


def _wider(a: Type, b: Type, session: Session, texts: bool) -> Type | None:
    if a == b or VOID in (a, b):
        return b if a == VOID else a
    if is_number(a) and is_number(b):
        if is_decimal(a) or is_decimal(b):
            left, right = decimal_of(a), decimal_of(b)
            return DOUBLE if left is None or right is None else wider_decimal(left, right)
        return _wider_number(a, b, session)
    if a in DATETIMES and b in DATETIMES:
        return TIMESTAMP if TIMESTAMP in (a, b) else TIMESTAMP_NTZ
    if a.name == b.name == "interval":
        return Type("interval", min(a.precision, b.precision), max(a.scale, b.scale))
    if a.name == b.name == "array":
        element = _wider(a.arguments[0], b.arguments[0], session, texts)
        return element and array_of(element)
    if STRING in (a, b):
        other = b if a == STRING else a
        if session.ansi:
            return _beside_text(other) if texts else None
        plain = is_number(other) or other in DATETIMES
        return STRING if texts and plain else None
    return None


def _wider_number(a: Type, b: Type, session: Session) -> Type:
    if session.ansi and (a in INTEGERS) != (b in INTEGERS):
        return DOUBLE
    return max(a, b, key=_WIDENING.index)


def _beside_text(other: Type) -> Type | None:
    """Return the common type of a string and another type in ANSI mode."""
    if other in INTEGERS:
        return BIGINT
    if is_number(other):
        return DOUBLE
    return other if other in (BOOLEAN, BINARY, *DATETIMES) else None


def _converts(source: Type, type: Type) -> bool:
    """Tell whether Spark converts an argument of one type to another."""
    if type == STRING:
        return is_number(source) or source in DATETIMES or source in (BOOLEAN, BINARY)
    if is_number(type):
        return is_number(source) or source == STRING
    if type in DATETIMES:
        return source in DATETIMES or source == STRING
    return type == BINARY and source == STRING
