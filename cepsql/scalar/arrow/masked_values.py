"""Arrow columns with unknown values: those that depend on rows that have not arrived."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError
from cepsql.scalar.arrow.arrow_doubts import doubtful
from cepsql.scalar.arrow.arrow_kernels import kernel_of
from cepsql.scalar.arrow.column_values import Value, arrow_type
from cepsql.scalar.expressions import Apply, Constant, Input, Node, Session


class Unvectorised(Exception):
    """These values or this operation are not supported here: evaluate row by row."""


@dataclass(frozen=True)
class Masked:
    """A value for each row, or one for all.

    unknown: bool, for each row: whether `value` is meaningless there; None if nowhere.
    """

    value: Value
    unknown: np.ndarray | None = None

    @property
    def true(self) -> Any:
        """Where a boolean is certainly true: bool, for each row or one for all."""
        return self._unless_unknown(_flags(self.value, False))

    @property
    def false(self) -> Any:
        """Where a boolean is certainly false."""
        return self._unless_unknown(~_flags(self.value, True))

    def _unless_unknown(self, flags: Any) -> Any:
        return flags if self.unknown is None else flags & ~self.unknown


def masked_values(node: Node, read: Callable[[Input], Masked], session: Session) -> Masked:
    """Return the values of a typed expression.

    read: returns the value of a leaf; raises Unvectorised for a leaf that is no column.
    Raises Unvectorised for an operation that Arrow does not compute as Spark does, and if a row may be an error in
    ANSI mode: only row by row is it known which rows are evaluated, and fail.
    """
    match node:
        case Constant(value, type):
            try:
                return Masked(pa.scalar(value, arrow_type(type)))
            except (KeyError, pa.ArrowInvalid, OverflowError) as error:
                raise Unvectorised(str(type)) from error
        case Apply(_, arguments):
            return _applied(node, [masked_values(argument, read, session) for argument in arguments], session)
    return read(node)


def _applied(node: Apply, arguments: Sequence[Masked], session: Session) -> Masked:
    kernel = kernel_of(node)
    if kernel is None:
        raise Unvectorised(node.operation)
    values = [argument.value for argument in arguments]
    try:
        with np.errstate(all="ignore"):
            if session.ansi and _has_true(doubtful(node, values)):
                raise Unvectorised("what may be an error")
            value = kernel.compute(node, session, *values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OperationalError) as error:
        raise Unvectorised(str(error)) from error
    if all(argument.unknown is None for argument in arguments):
        return Masked(value)
    return Masked(value, _UNKNOWN.get(node.operation, _any_unknown)(arguments))


def _has_true(doubt: Value | None) -> bool:
    if doubt is None:
        return False
    return bool((pc.any(doubt) if isinstance(doubt, pa.Array) else doubt).as_py())


def _flags(value: Value, null: bool) -> Any:
    """Return booleans as a NumPy array, with `null` for NULL."""
    if isinstance(value, pa.Scalar):
        return np.bool_(value.as_py() if value.is_valid else null)
    if pa.types.is_null(value.type):
        return np.bool_(null)
    return (pc.fill_null(value, null) if value.null_count else value).to_numpy(zero_copy_only=False)


def _any_unknown(arguments: Sequence[Masked]) -> np.ndarray:
    return reduce(np.logical_or, (one.unknown for one in arguments if one.unknown is not None))


def _unless_decided(arguments: Sequence[Masked], decided: Callable[[Masked], Any]) -> np.ndarray:
    """Return where AND or OR is unknown: not where one argument decides."""
    return _any_unknown(arguments) & ~reduce(np.logical_or, map(decided, arguments))


def _of_choice(chosen: Any, first: Masked, doubt: np.ndarray | None, other: Any) -> Any:
    """Return where a choice is unknown: where the chosen value or the condition is."""
    unknown = np.where(chosen, _mask(first), other)
    return unknown if doubt is None else unknown | doubt


def _of_case(arguments: Sequence[Masked]) -> np.ndarray:
    unknown: Any = _mask(arguments[-1]) if len(arguments) % 2 else np.False_
    for condition, value in zip(arguments[-3::-2], arguments[-2::-2], strict=True):
        unknown = _of_choice(condition.true, value, condition.unknown, unknown)
    return unknown


def _of_first(arguments: Sequence[Masked]) -> np.ndarray:
    unknown: Any = _mask(arguments[-1])
    for argument in reversed(arguments[:-1]):
        unknown = _of_choice(_flags(pc.is_valid(argument.value), False), argument, argument.unknown, unknown)
    return unknown


def _mask(masked: Masked) -> Any:
    return np.False_ if masked.unknown is None else masked.unknown


_UNKNOWN: dict[str, Callable[[Sequence[Masked]], np.ndarray]] = {
    "and": lambda arguments: _unless_decided(arguments, lambda one: one.false),
    "or": lambda arguments: _unless_decided(arguments, lambda one: one.true),
    "case": _of_case,
    "coalesce": _of_first,
}
"""Where the result is unknown, for operations that do not need all of their arguments."""
