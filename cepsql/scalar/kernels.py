"""Scalar operations over whole columns, with Spark's rules for NULL and NaN."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.base.calendar import DAY
from cepsql.scalar.expressions import Apply, Session
from cepsql.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DATETIMES,
    FLOAT,
    FRACTIONS,
    INTEGERS,
    TIMESTAMP,
    Type,
    is_decimal,
)
from cepsql.scalar.values import LIMITS

_SAFE = 2.0**62
_MOST_DAYS = 100_000_000


class Unvectorised(Exception):
    """These values or this operation have no form here: evaluate row by row."""


Mask: TypeAlias = np.ndarray | np.bool_
"""A boolean for each row, or one for all."""


@dataclass(frozen=True)
class Vector:
    """A value for each row, or one for all (0 dimensions).

    values:  NumPy int64, float64 or bool, or an Arrow array or scalar of strings, binaries or decimals; anything
             where not valid.
    valid:   bool: not NULL.
    unknown: bool: could be anything, because it depends on a row that has not come; None if nowhere.
    """

    values: Any
    valid: Mask
    unknown: Mask | None = None

    @property
    def true(self) -> Mask:
        """Where a boolean is known to be true."""
        return self.values & self.valid & _known(self)

    @property
    def false(self) -> Mask:
        """Where a boolean is known to be false."""
        return ~self.values & self.valid & _known(self)


def apply(node: Apply, arguments: list[Vector], session: Session) -> Vector:
    """Apply a typed operation to the values of its arguments.

    Raises Unvectorised.
    """
    kernel = _KERNELS.get(node.operation)
    if kernel is None or is_decimal(node.type):
        raise Unvectorised(node.operation)
    type = node.type
    if session.ansi and node.operation in _CHECKED:
        type = _checked_type(node, arguments)
    with np.errstate(all="ignore"):
        if kernel is _cast:
            result = _cast(node.arguments[0].type, type, session, *arguments)
        else:
            result = kernel(type, *arguments)
    if type != node.type and np.any(
        result.valid & (np.abs(result.values.astype(np.float64)) >= LIMITS[node.type.name])
    ):
        raise Unvectorised("beyond the range of a type")
    return result


def _checked_type(node: Apply, arguments: list[Vector]) -> Type:
    """Return the type to compute in what may fail in ANSI mode: results beyond a narrower one can be told.

    Which rows are evaluated at all, and so do fail, is known where they are taken one by one.
    Raises Unvectorised where one may fail.
    """
    given = [argument.type for argument in node.arguments]
    if node.operation in ("div", "mod"):
        divisor = arguments[1]
        if np.any(divisor.valid & (_number(divisor) == 0)):
            raise Unvectorised("a division by zero")
        return node.type
    if node.type in INTEGERS and all(type in INTEGERS for type in given):
        return BIGINT
    harmless = node.type in FRACTIONS or node.type.name == "interval" or {*given, node.type} <= {*DATETIMES}
    if node.operation == "cast" and not harmless:
        raise Unvectorised("a cast that may fail")
    return node.type


def vector_of(array: pa.Array) -> Vector:
    """Make a vector of a column; times, dates and durations become integers (microseconds, days)."""
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    elif pa.types.is_duration(array.type):
        array = array.cast(pa.duration("us")).cast(pa.int64())
    elif pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else np.ones(len(array), bool)
    if pa.types.is_boolean(array.type):
        return Vector(array.fill_null(False).to_numpy(zero_copy_only=False), valid)
    if pa.types.is_integer(array.type):
        return Vector(array.fill_null(0).to_numpy().astype(np.int64, copy=False), valid)
    if pa.types.is_floating(array.type):
        return Vector(array.fill_null(0).to_numpy().astype(np.float64, copy=False), valid)
    return Vector(array, valid)


def constant(value: object) -> Vector:
    """Make a vector of one value for all rows."""
    if value is None:
        return Vector(np.False_, np.False_)
    if isinstance(value, bool | int | float):
        if isinstance(value, int) and abs(value) >= 2**63:
            raise Unvectorised(repr(value))
        return Vector(np.asarray(value), np.True_)
    return Vector(pa.scalar(value), np.True_)


def _known(vector: Vector) -> Mask:
    return np.True_ if vector.unknown is None else ~vector.unknown


def _either(vectors: tuple[Vector, ...]) -> Mask | None:
    """Return where a value is unknown because one of those that it is computed from is."""
    masks = [vector.unknown for vector in vectors if vector.unknown is not None]
    return np.logical_or.reduce(np.broadcast_arrays(*masks)) if masks else None


def _strict(vectors: tuple[Vector, ...], values: Any, valid: Mask = np.True_) -> Vector:
    """Make a result that is NULL where an argument is."""
    for vector in vectors:
        valid = valid & vector.valid
    return Vector(values, valid, _either(vectors))


def _and(type: Type, *vectors: Vector) -> Vector:
    false = np.logical_or.reduce(np.broadcast_arrays(*(v.false for v in vectors)))
    return _connected(vectors, false, np.False_)


def _or(type: Type, *vectors: Vector) -> Vector:
    true = np.logical_or.reduce(np.broadcast_arrays(*(v.true for v in vectors)))
    return _connected(vectors, true, np.True_)


def _connected(vectors: tuple[Vector, ...], decided: np.ndarray, decisive: np.bool_) -> Vector:
    """Make AND or OR of where one argument decides it; NULL only counts where nothing is unknown."""
    unknown = _either(vectors)
    valid = decided | np.logical_and.reduce(np.broadcast_arrays(*(v.valid for v in vectors)))
    return Vector(decided == decisive, valid, None if unknown is None else unknown & ~decided)


def _not(type: Type, a: Vector) -> Vector:
    return Vector(~a.values, a.valid, a.unknown)


def _compare(operation: str) -> Callable:
    def kernel(type: Type, a: Vector, b: Vector) -> Vector:
        return _strict((a, b), _comparison(operation, a, b))

    return kernel


def _comparison(operation: str, a: Vector, b: Vector) -> Any:
    if operation in ("gt", "ge"):
        return _comparison({"gt": "lt", "ge": "le"}[operation], b, a)
    if operation == "ne":
        return ~_comparison("eq", a, b)
    if not _is_numpy(a) or not _is_numpy(b):
        return _arrow_comparison({"eq": pc.equal, "lt": pc.less, "le": pc.less_equal}[operation], a, b)
    x, y = a.values, b.values
    if operation == "eq":
        result = x == y
        return result | (np.isnan(x) & np.isnan(y)) if _may_be_nan(a) and _may_be_nan(b) else result
    result = x < y if operation == "lt" else x <= y
    if not _may_be_nan(b):
        return result
    return result | (np.isnan(y) & ~np.isnan(x)) if operation == "lt" else result | np.isnan(y)


def _arrow_comparison(compare: Callable, a: Vector, b: Vector) -> Mask:
    """Compare strings or binaries by bytes, decimals by value."""
    for vector in (a, b):
        # A NULL constant has no type of its own.
        if vector.valid is np.False_:
            return np.False_
    if _is_numpy(a) or _is_numpy(b):
        raise Unvectorised("a comparison of different types")
    try:
        result = compare(a.values, b.values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise Unvectorised(str(error)) from error
    if isinstance(result, pa.Scalar):
        return np.asarray(bool(result.as_py()))
    return result.fill_null(False).to_numpy(zero_copy_only=False)


def _is_numpy(vector: Vector) -> bool:
    return not isinstance(vector.values, pa.Array | pa.Scalar)


def _may_be_nan(vector: Vector) -> bool:
    return vector.values.dtype.kind == "f"


def _null_safe_equal(type: Type, a: Vector, b: Vector) -> Vector:
    both = a.valid & b.valid
    values = (_comparison("eq", a, b) & both) | (~a.valid & ~b.valid)
    return Vector(values, np.True_, _either((a, b)))


def _arithmetic(function: Callable) -> Callable:
    def kernel(type: Type, *vectors: Vector) -> Vector:
        values = [_number(vector) for vector in vectors]
        result = function(*values)
        if result.dtype.kind != "f":
            _refuse_overflow(function(*(value.astype(np.float64) for value in values)))
        return _narrow(type, _strict(vectors, result))

    return kernel


def _refuse_overflow(estimate: np.ndarray) -> None:
    """Leave to exact integers what comes near the end of 64 bits."""
    if np.any(np.abs(estimate) >= _SAFE):
        raise Unvectorised("overflow")


def _number(vector: Vector) -> np.ndarray:
    """Return values that arithmetic is defined on; a NULL constant counts as zero."""
    if not _is_numpy(vector):
        raise Unvectorised("arithmetic on other than integers and doubles")
    return vector.values.astype(np.int64) if vector.values.dtype.kind == "b" else vector.values


def _divide(type: Type, a: Vector, b: Vector) -> Vector:
    x, y = _number(a).astype(np.float64), _number(b).astype(np.float64)
    return _narrow(type, _strict((a, b), x / y, y != 0))


def _modulo(type: Type, a: Vector, b: Vector) -> Vector:
    x, y = _number(a), _number(b)
    nonzero = y != 0
    return _narrow(type, _strict((a, b), np.fmod(x, np.where(nonzero, y, 1)), nonzero))


def _is_null(type: Type, a: Vector) -> Vector:
    return Vector(~a.valid, np.True_, a.unknown)


def _coalesce(type: Type, *vectors: Vector) -> Vector:
    result = vectors[-1]
    for vector in reversed(vectors[:-1]):
        result = _choose(vector.valid, vector, result, vector.unknown)
    return _narrow(type, result)


def _case(type: Type, *arguments: Vector) -> Vector:
    result = arguments[-1] if len(arguments) % 2 else constant(None)
    conditions, values = arguments[:-1:2], arguments[1::2]
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        result = _choose(condition.true, value, result, condition.unknown)
    return _narrow(type, result)


def _choose(where: Mask, a: Vector, b: Vector, doubt: Mask | None) -> Vector:
    """Take a's value where `where` is true, else b's; unknown where the one taken is, or `doubt` is true."""
    values = np.where(where, _number_or_boolean(a), _number_or_boolean(b))
    valid = np.where(where, a.valid, b.valid)
    unknown = None
    if doubt is not None or a.unknown is not None or b.unknown is not None:
        unknown = np.where(where, _mask(a.unknown), _mask(b.unknown)) | _mask(doubt)
    return Vector(values, valid, unknown)


def _number_or_boolean(vector: Vector) -> np.ndarray:
    if not _is_numpy(vector):
        raise Unvectorised("a choice among other than integers, doubles and booleans")
    return vector.values


def _mask(unknown: Mask | None) -> Mask:
    return np.False_ if unknown is None else unknown


def _extreme(operation: str) -> Callable:
    def kernel(type: Type, *vectors: Vector) -> Vector:
        result = vectors[0]
        for vector in vectors[1:]:
            beyond = _comparison(operation, vector, result)
            result = _choose(vector.valid & (~result.valid | beyond), vector, result, None)
        return _narrow(type, Vector(result.values, result.valid, _either(vectors)))

    return kernel


def _cast(given: Type, type: Type, session: Session, a: Vector) -> Vector:
    if given.name == type.name == "interval":
        return a
    if given in DATETIMES and type in DATETIMES:
        return Vector(_between_times(given, type, session, a.values), a.valid, a.unknown)
    if given not in (BOOLEAN, *INTEGERS, *FRACTIONS):
        raise Unvectorised(f"cast from {given}")
    values = _number(a)
    if type == BOOLEAN:
        return Vector(values != 0, a.valid, a.unknown)
    if type in FRACTIONS:
        # An integer is rounded once, not to a double first.
        rounded = values.astype(np.float32) if type == FLOAT else values
        return Vector(rounded.astype(np.float64), a.valid, a.unknown)
    if type not in INTEGERS:
        raise Unvectorised(f"cast to {type}")
    if values.dtype.kind == "f":
        limit = 2.0**63 if type == BIGINT else 2.0**31
        if not np.all(((values > -limit) & (values < limit)) | ~a.valid):
            raise Unvectorised("a number beyond the ends of an integer type")
        return _narrow(type, Vector(np.where(a.valid, values, 0).astype(np.int64), a.valid, a.unknown))
    return _narrow(type, Vector(values, a.valid, a.unknown))


def _between_times(given: Type, type: Type, session: Session, values: np.ndarray) -> np.ndarray:
    """Return dates (days), instants and local times (microseconds) as one another."""
    if given == DATE:
        if np.any(np.abs(values) > _MOST_DAYS):
            raise Unvectorised("a date beyond the ends of a timestamp")
        local = values.astype(np.int64) * DAY
        return session.zone.instants(np.atleast_1d(local)).reshape(local.shape) if type == TIMESTAMP else local
    local = values
    if given == TIMESTAMP:
        local = session.zone.clocks(np.atleast_1d(values)).reshape(values.shape)
    if type == DATE:
        return local // DAY
    return session.zone.instants(np.atleast_1d(local)).reshape(local.shape) if type == TIMESTAMP else local


def _between_days(type: Type, a: Vector, b: Vector) -> Vector:
    days = a.values.astype(np.int64) - b.values
    if np.any(np.abs(days) > _MOST_DAYS):
        raise Unvectorised("more days than an interval can hold")
    return _strict((a, b), days * DAY)


def _one_of(type: Type, value: Vector, *members: Vector) -> Vector:
    return _or(type, *(_strict((value, member), _comparison("eq", value, member)) for member in members))


def _narrow(type: Type, vector: Vector) -> Vector:
    """Bring values to the type: single precision for float, the low bits for an integer."""
    values = vector.values
    if type in FRACTIONS and values.dtype.kind != "f":
        values = values.astype(np.float64)
    if type == FLOAT:
        return Vector(values.astype(np.float32).astype(np.float64), vector.valid, vector.unknown)
    limit = LIMITS.get(type.name, 2**63)
    if limit < 2**63:
        values = (values + limit) % (2 * limit) - limit
    return Vector(values, vector.valid, vector.unknown)


_CHECKED = {"add", "sub", "mul", "neg", "abs", "div", "mod", "cast"}
"""What may fail in ANSI mode."""

_KERNELS: dict[str, Callable] = {
    "and": _and,
    "or": _or,
    "not": _not,
    **{name: _compare(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "nseq": _null_safe_equal,
    "add": _arithmetic(np.add),
    "sub": _arithmetic(np.subtract),
    "mul": _arithmetic(np.multiply),
    "neg": _arithmetic(np.negative),
    "abs": _arithmetic(np.abs),
    "div": _divide,
    "mod": _modulo,
    "isnull": _is_null,
    "coalesce": _coalesce,
    "case": _case,
    "greatest": _extreme("gt"),
    "least": _extreme("lt"),
    "cast": _cast,
    "in": _one_of,
    "between days": _between_days,
}
