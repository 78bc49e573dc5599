"""The row pattern as a tree of frozen nodes, and its text form."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """One row that satisfies the condition of the variable `name`."""

    name: str


@dataclass(frozen=True)
class Empty:
    """`()`: no row."""


@dataclass(frozen=True)
class Concat:
    """The parts, one after another."""

    parts: tuple["Pattern", ...]


@dataclass(frozen=True)
class Alternate:
    """One of the parts; earlier parts are preferred."""

    parts: tuple["Pattern", ...]


@dataclass(frozen=True)
class Repeat:
    """`part` from `low` to `high` times (None: no limit); greedy prefers more."""

    part: "Pattern"
    low: int
    high: int | None
    greedy: bool = True


@dataclass(frozen=True)
class Permute:
    """All parts in any order; orders are preferred lexicographically by argument."""

    parts: tuple["Pattern", ...]


@dataclass(frozen=True)
class Exclude:
    """`{- part -}`: matched, but left out of ALL ROWS output."""

    part: "Pattern"


@dataclass(frozen=True)
class Anchor:
    """`^` (start of the partition) or `$` (its end)."""

    end: bool


Pattern = Variable | Empty | Concat | Alternate | Repeat | Permute | Exclude | Anchor


def variables(pattern: Pattern) -> tuple[str, ...]:
    """Return the primary variables in order of first appearance.

    >>> variables(Concat((Variable("A"), Repeat(Variable("B"), 0, None), Variable("A"))))
    ('A', 'B')
    """
    return tuple(dict.fromkeys(node.name for node in walk(pattern) if isinstance(node, Variable)))


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the direct parts of a node."""
    match pattern:
        case Concat(parts) | Alternate(parts) | Permute(parts):
            return parts
        case Repeat(part) | Exclude(part):
            return (part,)
    return ()


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the node and all below it, left to right."""
    yield pattern
    for child in children(pattern):
        yield from walk(child)


def dump(pattern: Pattern) -> str:
    """Write the pattern in the syntax of PATTERN, without its outer parentheses.

    >>> dump(Concat((Variable("A"), Repeat(Alternate((Variable("B"), Empty())), 2, None, False))))
    'A (B | ()){2,}?'
    """
    match pattern:
        case Variable(name):
            return name if name.isidentifier() else f'"{name}"'
        case Empty():
            return "()"
        case Anchor(end):
            return "$" if end else "^"
        case Concat(parts):
            return " ".join(f"({dump(p)})" if isinstance(p, Concat | Alternate) else dump(p) for p in parts)
        case Alternate(parts):
            return " | ".join(f"({dump(p)})" if isinstance(p, Alternate) else dump(p) for p in parts)
        case Permute(parts):
            return f"PERMUTE({', '.join(map(dump, parts))})"
        case Exclude(part):
            return f"{{- {dump(part)} -}}"
        case Repeat(part, low, high, greedy):
            inner = f"({dump(part)})" if isinstance(part, Concat | Alternate | Repeat) else dump(part)
            return inner + quantifier(low, high) + ("" if greedy else "?")


def quantifier(low: int, high: int | None) -> str:
    """Write a greedy quantifier; {1,1} is written out."""
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    if short:
        return short
    if low == high:
        return f"{{{low}}}"
    return f"{{{low},{'' if high is None else high}}}"
