"""Scalar expressions: as they are asked for, without types, and typed, with Spark's full type at every node."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cepsql.errors import Span
from cepsql.scalar.types import Type
from cepsql.scalar.zone import UTC, Zone

Leaf = Any
"""What an expression reads, as whoever builds it says: a hashable value."""


@dataclass(frozen=True)
class Session:
    """What Spark's rules depend on.

    ansi: spark.sql.ansi.enabled: overflow, division by zero and casts that fail are errors instead of NULL.
    zone: the session's time zone.
    """

    ansi: bool = False
    zone: Zone = field(default=UTC, repr=False)


STANDARD_SESSION = Session()
"""As cepsql starts Spark, in UTC."""


@dataclass(frozen=True)
class Literal:
    """A constant; `type` is its Spark SQL type where the value does not tell it, as for an interval."""

    value: Any
    type: str = ""


@dataclass(frozen=True)
class Call:
    """An operation of `cepsql.scalar.registry` on expressions, which are literals, calls or leaves of any kind.

    target: the Spark SQL type that a cast is to; other operations have none.
    place:  where it stands in the statement, for errors.
    """

    operation: str
    arguments: tuple["Expression", ...]
    target: str = ""
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Null:
    """NULL of the type of a leaf."""

    leaf: Leaf


@dataclass(frozen=True)
class Parameter:
    """What a function is called with for each element of an array, as `v` in `transform(a, v -> v + 1)`.

    The call has its parameters behind the array, and the function's body last.
    """

    name: str


Expression = Literal | Null | Call | Parameter | Leaf


@dataclass(frozen=True)
class Input:
    """A typed leaf."""

    leaf: Leaf
    type: Type


@dataclass(frozen=True)
class Constant:
    """A typed constant: times and intervals in microseconds, DATE in days, DECIMAL as decimal.Decimal, NULL as None."""

    value: Any
    type: Type


@dataclass(frozen=True)
class Apply:
    """An operation on arguments of the types that it wants: coercions are casts, which are operations too."""

    operation: str
    arguments: tuple["Node", ...]
    type: Type


Node = Input | Constant | Apply


def leaves(expression: Expression | None) -> Iterator[Leaf]:
    """Yield the leaves and literals of an expression, left to right, without parameters."""
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from leaves(argument)
    elif expression is not None and not isinstance(expression, Parameter):
        yield expression


def nodes(node: Node) -> Iterator[Node]:
    """Yield a typed expression and all that it is made of."""
    yield node
    if isinstance(node, Apply):
        for argument in node.arguments:
            yield from nodes(argument)
