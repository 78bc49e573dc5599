"""Expressions over the columns of one row, whose meaning in Arrow is Spark's: frozen, picklable data."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Read:
    """The value of a column of the file."""

    column: str
    type: str


@dataclass(frozen=True)
class Constant:
    """A value of a type, None for NULL; a TIMESTAMP is its text, since the time zone of the session decides."""

    value: Any
    type: str


@dataclass(frozen=True)
class Apply:
    """An operation of `cepsql.scan.evaluate` on arguments of the types that it wants."""

    operation: str
    arguments: tuple["Node", ...]
    type: str


Node = Read | Constant | Apply


def columns_read(node: Node) -> set[str]:
    """Return the columns of the file that an expression reads."""
    if isinstance(node, Apply):
        return set().union(*(columns_read(argument) for argument in node.arguments))
    return {node.column} if isinstance(node, Read) else set()
