"""Type rules: the type of each operation's result, and the types to which its operands are cast."""

from collections.abc import Callable

from cepsql.errors import NotSupportedError
from cepsql.scalar import array_rules
from cepsql.scalar.coercion import (
    cast,
    common_type,
    compared_type,
    counted_decimal,
    implicit_cast,
    literal_decimal,
    number_type,
    refused,
)
from cepsql.scalar.decimals import arithmetic_type, decimal_of, rounded_type
from cepsql.scalar.expressions import Apply, Constant, Node, Session
from cepsql.scalar.regexes import re2_regex
from cepsql.scalar.time_rules import of_times
from cepsql.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATETIMES,
    DOUBLE,
    FRACTIONS,
    INT,
    INTEGERS,
    STRING,
    UNKNOWN,
    VOID,
    Type,
    is_decimal,
    is_number,
    parse_type,
)

Rule = Callable[[str, tuple[Node, ...], Session], Node]
"""(operation, typed operands, session) -> the typed operation; raises NotSupportedError for unsupported operands."""

_COMPARABLE = {
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "binary", "date",
    "timestamp", "timestamp_ntz", "interval", "void", "unknown",
}  # fmt: skip


def connect(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """AND, OR, NOT."""
    return Apply(operation, tuple(_boolean(node, operation, session) for node in operands), BOOLEAN)


def compare(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """=, <>, <, <=, >, >= and <=>."""
    left, right = operands
    if UNKNOWN in (left.type, right.type):
        return Apply(operation, operands, BOOLEAN)
    if operation in ("eq", "ne") and left.type.name == right.type.name == "array":
        equal = array_rules.equal("array_equal", operands, session)
        return equal if operation == "eq" else Apply("not", (equal,), BOOLEAN)
    kind = compared_type(left, right, session)
    mixed = BOOLEAN in (left.type, right.type) and left.type != right.type and kind != VOID
    if kind is None or kind.name not in _COMPARABLE or (mixed and is_number(kind) and operation not in _EQUALITIES):
        raise refused(operation, operands)
    if is_decimal(kind):
        return Apply(operation, tuple(_exactly(node, kind, session) for node in operands), BOOLEAN)
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), BOOLEAN)


_EQUALITIES = ("eq", "ne", "nseq")


def _exactly(node: Node, kind: Type, session: Session) -> Node:
    """Return a side of a comparison of decimals, cast only if its value may not fit: decimals compare without a
    cast."""
    decimal = literal_decimal(node)
    if decimal is None or kind.scale < decimal.scale or kind.precision - kind.scale < decimal.precision - decimal.scale:
        return cast(node, kind, session)
    return node


def one_of(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """IN: all sides have one type."""
    if any(node.type == UNKNOWN for node in operands):
        return Apply(operation, operands, BOOLEAN)
    kind = common_type((node.type for node in operands), session)
    if kind is None or kind.name not in _COMPARABLE:
        raise refused(operation, operands)
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), BOOLEAN)


def choose(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """COALESCE."""
    kind = common_type((node.type for node in operands), session)
    if kind is None:
        raise refused(operation, operands)
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), kind)


def extreme(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """GREATEST and LEAST."""
    kind = common_type((node.type for node in operands), session, texts=False)
    if kind is None or kind.name not in _COMPARABLE:
        raise refused(operation, operands)
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), kind)


def case(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """CASE and IF: condition, value, condition, value, ..., otherwise."""
    values = (*operands[1::2], operands[-1])
    kind = common_type((node.type for node in values), session)
    if kind is None:
        raise refused(operation, values)
    last = len(operands) - 1
    converted = [
        cast(node, kind, session) if i % 2 or i == last else _boolean(node, operation, session)
        for i, node in enumerate(operands)
    ]
    return Apply(operation, tuple(converted), kind)


def is_null(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """IS NULL."""
    return Apply(operation, operands, BOOLEAN)


def arithmetic(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """+, -, *, / and % of numbers, times and intervals."""
    kinds = {node.type for node in operands}
    if any(kind in DATETIMES or kind.name == "interval" for kind in kinds):
        return of_times(operation, operands, session)
    left, right = _texts_as_numbers(operands, session)
    left, right = (_number(node, operation, operands, session) for node in (left, right))
    if left.type == right.type == VOID:
        left = right = cast(left, DOUBLE, session)
    left, right = (cast(a, b.type, session) if a.type == VOID else a for a, b in ((left, right), (right, left)))
    return _of_numbers(operation, left, right, session)


def negate(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """- and ABS."""
    (node,) = operands
    if node.type.name != "interval":
        node = _number(node, operation, operands, session)
        node = cast(node, DOUBLE, session) if node.type == VOID else node
    if isinstance(node, Constant) and is_number(node.type) and operation == "neg" and _negatable(node):
        return Constant(-node.value, node.type)
    return Apply(operation, (node,), node.type)


def _negatable(node: Constant) -> bool:
    return node.value is not None and node.value != 0


def convert(operation: str, operands: tuple[Node, ...], session: Session, target: str) -> Node:
    """CAST and TRY_CAST to a type given by name."""
    kind = parse_type(target)
    if kind == UNKNOWN:
        raise NotSupportedError(f"CAST to {target.upper()}")
    return cast(operands[0], kind, session, operation)


def positive_modulo(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """PMOD."""
    return arithmetic(operation, operands, session)


def divide_whole(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """DIV: of integers and decimals, as a BIGINT."""
    if any(node.type in FRACTIONS or decimal_of(node.type) is None for node in operands):
        raise refused(operation, operands)
    if not any(is_decimal(node.type) for node in operands):
        operands = tuple(cast(node, BIGINT, session) for node in operands)
    return Apply(operation, operands, BIGINT)


def bits(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """&, |, ^ and ~ of integers."""
    if any(node.type not in INTEGERS for node in operands):
        raise refused(operation, operands)
    kind = max((node.type for node in operands), key=INTEGERS.index)
    return Apply(operation, tuple(cast(node, kind, session) for node in operands), kind)


def shift(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """Shifts of INT and BIGINT."""
    value, distance = operands
    if value.type not in INTEGERS:
        raise refused(operation, operands)
    kind = BIGINT if value.type == BIGINT else INT
    size = Constant(64 if kind == BIGINT else 32, INT)
    distance = implicit_cast(distance, INT, session, operation.upper())
    return Apply(operation, (cast(value, kind, session), distance, size), kind)


def round_to(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """ROUND and BROUND to a constant number of digits."""
    value, digits = operands if len(operands) == 2 else (*operands, Constant(0, INT))
    value = _number(value, operation, operands, session)
    if (
        not isinstance(digits, Constant)
        or digits.type not in INTEGERS[:3]
        or digits.value is None
        or value.type == VOID
    ):
        raise refused(operation, operands)
    kind = rounded_type(value.type, digits.value) if is_decimal(value.type) else value.type
    return Apply(operation, (value, digits), kind)


def whole(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """FLOOR and CEIL."""
    if len(operands) > 1:
        raise refused(operation, operands)
    (value,) = operands
    if is_decimal(value.type):
        return Apply(operation, (value,), rounded_type(value.type, 0))
    kind = BIGINT if value.type in INTEGERS else DOUBLE
    if session.ansi and kind == DOUBLE:
        raise refused(operation, operands)
    return Apply(operation, (implicit_cast(value, kind, session, operation.upper()),), BIGINT)


def not_a_number_or(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """NANVL."""
    kind = operands[0].type if operands[0].type == operands[1].type and operands[0].type in FRACTIONS else DOUBLE
    return Apply(operation, tuple(implicit_cast(node, kind, session, "NANVL") for node in operands), kind)


def join_texts(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """CONCAT and REVERSE of strings, or of arrays."""
    if any(node.type.name == "array" for node in operands):
        if operation == "reverse":
            return array_rules.of_array("array_reverse", operands, session)
        return array_rules.of_arrays("array_concat", operands, session)
    if any(node.type.name in ("binary", "map") for node in operands):
        raise refused(operation, operands)
    return Apply(operation, tuple(implicit_cast(node, STRING, session, operation.upper()) for node in operands), STRING)


def like(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """LIKE and ILIKE, with an optional escape character."""
    for escape in operands[2:]:
        if not isinstance(escape, Constant) or escape.type != STRING or len(escape.value or "") != 1:
            raise refused(operation, operands)
    texts = tuple(implicit_cast(node, STRING, session, operation.upper()) for node in operands)
    return Apply(operation, texts, BOOLEAN)


_REGEXES = (
    "a constant without lookaround, backreferences, flags other than (?i), possessive quantifiers, and repetition of "
    "what may be empty"
)


def regular_expression(operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """RLIKE, REGEXP_EXTRACT and REGEXP_REPLACE by a constant pattern with the same matches in RE2 as in Java."""
    text, pattern, *others = operands
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        raise NotSupportedError(f"{operation.upper()} by a pattern that is no constant", hint=_REGEXES)
    regex = re2_regex(pattern.value)
    if regex is None:
        raise NotSupportedError(f"{operation.upper()} by the pattern '{pattern.value}'", hint=_REGEXES)
    constants = [other.value if isinstance(other, Constant) else None for other in others]
    match operation, constants:
        case "regexp_extract", [int(group)]:
            is_supported = 0 <= group <= regex.groups
        case "regexp_replace", [str(replacement)]:
            is_supported = not (regex.empty or regex.ends or set(replacement) & {"$", "\\"})
        case _:
            is_supported = operation == "rlike"
    if not is_supported:
        raise refused(operation, operands)
    text = implicit_cast(text, STRING, session, operation.upper())
    return Apply(operation, (text, pattern, *others), BOOLEAN if operation == "rlike" else STRING)


def _boolean(node: Node, operation: str, session: Session) -> Node:
    if node.type not in (BOOLEAN, VOID, UNKNOWN):
        raise refused(operation, (node,))
    return cast(node, BOOLEAN, session)


def _texts_as_numbers(operands: tuple[Node, ...], session: Session) -> tuple[Node, ...]:
    """Return operands of arithmetic; in ANSI mode a string becomes a BIGINT or DOUBLE, depending on the other side."""
    kinds = [node.type for node in operands]
    if not session.ansi or kinds.count(STRING) != 1:
        return operands
    left, right = operands
    target = compared_type(left, right, session)
    return operands if target is None else tuple(cast(n, target, session) if n.type == STRING else n for n in operands)


def _number(node: Node, operation: str, operands: tuple[Node, ...], session: Session) -> Node:
    """Return an operand of arithmetic; without ANSI mode a string becomes a DOUBLE."""
    if node.type == STRING and not session.ansi:
        return cast(node, DOUBLE, session)
    if is_number(node.type) or node.type == VOID:
        return node
    raise refused(operation, operands)


def _of_numbers(operation: str, left: Node, right: Node, session: Session) -> Node:
    decimals = is_decimal(left.type) or is_decimal(right.type)
    if decimals and not {left.type, right.type} & {*FRACTIONS}:
        kind = arithmetic_type(operation, counted_decimal(left), counted_decimal(right))
        return Apply(operation, (left, right), kind)
    kind = DOUBLE if operation == "div" else number_type(left, right, session)
    return Apply(operation, (cast(left, kind, session), cast(right, kind, session)), kind)
