"""From untyped expressions to typed ones."""

from collections.abc import Callable, Hashable
from decimal import Decimal

from cepsql.errors import NotSupportedError
from cepsql.scalar.decimals import decimal_of_literal
from cepsql.scalar.expressions import Apply, Call, Constant, Expression, Input, Literal, Node, Null, Session
from cepsql.scalar.registry import REGISTRY, function
from cepsql.scalar.type_rules import convert
from cepsql.scalar.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, UNKNOWN, VOID, Type, parse_type

_OF_VALUES = {bool: BOOLEAN, float: DOUBLE, str: STRING, type(None): VOID}


def typed(expression: Expression, leaf_type: Callable[[Hashable], Type], session: Session) -> Node:
    """Type every node of an expression as Spark does, with Spark's implicit casts.

    leaf_type: returns the type of a leaf. UNKNOWN propagates through operations whose type depends on it.
    Raises NotSupportedError, with a span, for an operation that might not give the same as Spark's on these types.
    """
    match expression:
        case Literal():
            return constant(expression)
        case Null(leaf):
            return Constant(None, leaf_type(leaf))
        case Call(operation, _, target, place):
            operands = _operands(expression, leaf_type, session)
            try:
                if operation in ("cast", "try_cast"):
                    return convert(operation, operands, session, target)
                definition = function(operation)
                if not definition.least <= len(operands) <= definition.most:
                    raise NotSupportedError(f"{operation.upper()} with {len(operands)} arguments")
                if any(node.type == UNKNOWN for node in operands) and operation not in _LENIENT:
                    return Apply(operation, operands, UNKNOWN)
                return definition.rule(operation, operands, session)
            except NotSupportedError as error:
                error.span = error.span or place
                raise
    return Input(expression, leaf_type(expression))


def _operands(call: Call, leaf_type: Callable[[Hashable], Type], session: Session) -> tuple[Node, ...]:
    """Type the arguments of a call; the parameters of a lambda are an element of its array and the element's index."""
    definition = REGISTRY.get(call.operation)
    if definition is None or not definition.of_elements:
        return tuple(typed(argument, leaf_type, session) for argument in call.arguments)
    values = typed(call.arguments[0], leaf_type, session)
    element = values.type.arguments[0] if values.type.name == "array" else UNKNOWN
    kinds = dict(zip(call.arguments[1:-1], (element, INT), strict=False))

    def within(leaf: Hashable) -> Type:
        return kinds[leaf] if leaf in kinds else leaf_type(leaf)

    return values, *(typed(argument, within, session) for argument in call.arguments[1:])


def constant(literal: Literal) -> Constant:
    """Return a literal with its type: a number with a point is a DECIMAL of its own digits, an integer an INT."""
    value = literal.value
    if literal.type:
        return Constant(value, parse_type(literal.type))
    if isinstance(value, Decimal):
        return Constant(value, decimal_of_literal(value))
    if isinstance(value, int) and not isinstance(value, bool):
        if -(2**31) <= value < 2**31:
            return Constant(value, INT)
        if -(2**63) <= value < 2**63:
            return Constant(value, BIGINT)
        return Constant(Decimal(value), decimal_of_literal(value))
    return Constant(value, _OF_VALUES[type(value)])


_LENIENT = {"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "nseq", "isnull", "in"}
"""Operations whose result type does not depend on the types of their operands."""
