"""DEFINE conditions in two parts: what rows alone decide, and what needs the match so far."""

from dataclasses import dataclass

import numpy as np

from cepsql.pattern.program import Scalar, reads_row_only
from cepsql.scalar.expressions import Call, leaves


@dataclass(frozen=True)
class RowTests:
    """Where the row-only part of each variable's condition holds; arrays are bool, [variables, rows].

    holds:   true where it holds, and everywhere for a variable without such a part.
    unknown: true where the verdict depends on a row that NEXT reads and that is not known yet; None if nowhere.
    """

    holds: np.ndarray
    unknown: np.ndarray | None


def split(condition: Scalar | None) -> tuple[Scalar | None, Scalar | None]:
    """Split a condition at its top-level ANDs into (row-only part, rest); None means nothing to test.

    A condition counts only if it is true, and AND is true only where both sides are, so the parts can be tested apart.
    """
    row_only: list[Scalar] = []
    rest: list[Scalar] = []
    for part in conjuncts(condition):
        (row_only if all(map(reads_row_only, leaves(part))) else rest).append(part)
    return _conjunction(row_only), _conjunction(rest)


def conjuncts(condition: Scalar | None) -> list[Scalar]:
    """Return the conditions that must all hold for one to hold; none for None."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.operation == "and":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def _conjunction(parts: list[Scalar]) -> Scalar | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Call("and", tuple(parts))
