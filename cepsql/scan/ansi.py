"""What ANSI mode checks, or computes in another type, so that Arrow does not give what Spark would."""

from collections.abc import Iterable

from cepsql.scan.node import Apply, Constant, Node
from cepsql.scan.types import INTEGERS, NUMBERS

_OVERFLOWING = {"add": "a sum", "sub": "a difference", "mul": "a product", "neg": "a negation", "abs": "ABS"}
_DIVIDING = {"div": "a division", "intdiv": "a division", "mod": "a remainder"}


def ansi_obstacle(nodes: Iterable[Node]) -> str | None:
    """Return which of these expressions may be an error or another value in ANSI mode, None if there is none.

    Integers that may overflow, divisors that may be 0, and numbers made narrower are errors there; integers beside a
    FLOAT become DOUBLE instead of FLOAT.
    """
    return next(filter(None, map(_checked, nodes)), None)


def _checked(node: Node) -> str | None:
    if not isinstance(node, Apply):
        return None
    return ansi_obstacle(node.arguments) or _checked_here(node)


def _checked_here(node: Apply) -> str | None:
    if node.operation in _OVERFLOWING and node.type in INTEGERS:
        return f"{_OVERFLOWING[node.operation]} of type {node.type.upper()}"
    if node.operation in _DIVIDING:
        divisor = node.arguments[1]
        # The least BIGINT divided by -1 overflows.
        harmless = isinstance(divisor, Constant) and divisor.value not in (0, -1)
        return None if harmless else _DIVIDING[node.operation]
    if node.operation == "cast" and not _keeps(node.arguments[0].type, node.type):
        return f"{node.arguments[0].type.upper()} as {node.type.upper()}"
    return None


def _keeps(source: str, target: str) -> bool:
    """Tell whether ANSI mode converts all values so, and as they are converted without it."""
    if "boolean" in (source, target):
        return True
    kinds = list(NUMBERS)
    return target != "float" and kinds.index(source) <= kinds.index(target)
