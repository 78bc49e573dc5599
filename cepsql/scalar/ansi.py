"""Which operations may be an error in ANSI mode."""

from cepsql.scalar.tree import Apply, Constant
from cepsql.scalar.types import FRACTIONS, INTEGERS

_OVERFLOWING = {"add": "a sum", "sub": "a difference", "mul": "a product", "neg": "a negation", "abs": "ABS"}
_DIVIDING = {"div": "a division", "intdiv": "a division", "mod": "a remainder"}
_WIDENING = (*INTEGERS, *FRACTIONS)


def may_fail(node: Apply) -> str | None:
    """Return in words what of an operation of numbers may be an error in ANSI mode, None if nothing may.

    Integers that may overflow, divisors that may be 0, and numbers made narrower may be.
    """
    if node.operation in _OVERFLOWING and node.type in INTEGERS:
        return f"{_OVERFLOWING[node.operation]} of type {str(node.type).upper()}"
    if node.operation in _DIVIDING:
        divisor = node.arguments[1]
        # The least BIGINT divided by -1 overflows.
        harmless = isinstance(divisor, Constant) and divisor.value not in (0, -1)
        return None if harmless else _DIVIDING[node.operation]
    if node.operation == "cast" and node.type in INTEGERS and node.arguments[0].type in _WIDENING:
        given = node.arguments[0].type
        narrower = _WIDENING.index(node.type) < _WIDENING.index(given)
        return f"{str(given).upper()} as {str(node.type).upper()}" if narrower else None
    return None
