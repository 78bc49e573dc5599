"""Evaluate expressions over Arrow columns with Spark's rules for NULL, NaN, overflow and division by zero."""

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError
from cepsql.scalar.times import parse_timestamp
from cepsql.scalar.zone import Zone
from cepsql.scan.node import Apply, Constant, Node, Read
from cepsql.scan.types import arrow_type

Value: TypeAlias = pa.Array | pa.Scalar
"""A value for each row, or one for all."""


def evaluate(node: Node, columns: Mapping[str, pa.Array], rows: int, zone: Zone) -> pa.Array:
    """Return the values of an expression, of the Arrow type of its Spark type, one for each of the rows.

    columns: the columns that it reads.
    zone:    the session's time zone.
    Raises OperationalError where Spark fails, too: an instant beyond 64 bits.
    """
    with np.errstate(all="ignore"):
        return _all_rows(_value(node, columns, zone), rows)


def _value(node: Node, columns: Mapping[str, pa.Array], zone: Zone) -> Value:
    match node:
        case Read(column):
            return columns[column]
        case Constant(value, type):
            if type == "timestamp" and value is not None:
                value = parse_timestamp(value, zone)
            return pa.scalar(value, arrow_type(type))
        case Apply(operation, arguments, type):
            return _OPERATIONS[operation](arrow_type(type), *(_value(a, columns, zone) for a in arguments))


def _all_rows(value: Value, rows: int) -> pa.Array:
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def _equal(_: pa.DataType, a: Value, b: Value) -> Value:
    result = pc.equal(a, b)
    return pc.or_(result, pc.and_(pc.is_nan(a), pc.is_nan(b))) if _may_be_nan(a) and _may_be_nan(b) else result


def _less(_: pa.DataType, a: Value, b: Value) -> Value:
    """NaN is greater than every other number."""
    result = pc.less(a, b)
    return pc.or_(result, pc.and_not(pc.is_nan(b), pc.is_nan(a))) if _may_be_nan(b) else result


def _less_equal(_: pa.DataType, a: Value, b: Value) -> Value:
    result = pc.less_equal(a, b)
    return pc.or_(result, pc.is_nan(b)) if _may_be_nan(b) else result


def _may_be_nan(value: Value) -> bool:
    if not pa.types.is_floating(value.type):
        return False
    return not (isinstance(value, pa.Scalar) and value.is_valid and value.as_py() == value.as_py())


def _negated(function: Callable) -> Callable:
    return lambda type, *values: pc.invert(function(type, *values))


def _swapped(function: Callable) -> Callable:
    return lambda type, a, b: function(type, b, a)


def _null_safe_equal(type: pa.DataType, a: Value, b: Value) -> Value:
    both_null = pc.and_(pc.is_null(a), pc.is_null(b))
    return pc.or_(pc.fill_null(_equal(type, a, b), False), both_null)


def _versus_decimal(comparison: str) -> Callable:
    """Compare integers or DECIMALs with a constant, given as text, exactly."""

    def kernel(_: pa.DataType, a: Value, text: Value) -> Value:
        scale = a.type.scale if pa.types.is_decimal(a.type) else 0
        bound = Decimal(text.as_py()).scaleb(scale)
        if comparison in ("less", "greater_equal"):
            whole = int(bound.to_integral_value(ROUND_CEILING))
        else:
            whole = int(bound.to_integral_value(ROUND_FLOOR))
        if comparison in ("equal", "not_equal") and whole != bound:
            whole = 2**200
        wide = pa.decimal128(38, scale) if pa.types.is_decimal(a.type) else pa.int64()
        if abs(whole) < (10**38 if pa.types.is_decimal(wide) else 2**63):
            limit = Decimal(whole).scaleb(-scale) if pa.types.is_decimal(wide) else whole
            return getattr(pc, comparison)(pc.cast(a, wide), pa.scalar(limit, wide))
        outcome = {"equal": False, "not_equal": True}.get(comparison, (whole > 0) == comparison.startswith("less"))
        return pc.if_else(pc.is_valid(a), outcome, None)

    return kernel


def _one_of(_: pa.DataType, a: Value, *values: Value) -> Value:
    known = pa.array([v.as_py() for v in values if v.is_valid], a.type)
    found = pc.is_in(a, value_set=known)
    if len(known) < len(values):
        found = pc.if_else(found, True, pa.scalar(None, pa.bool_()))
    return pc.if_else(pc.is_valid(a), found, pa.scalar(None, pa.bool_()))


def _divide(_: pa.DataType, a: Value, b: Value) -> Value:
    return pc.divide(a, pc.if_else(pc.equal(b, 0.0), pa.scalar(None, pa.float64()), b))


def _whole_divide(type: pa.DataType, a: Value, b: Value) -> Value:
    """The quotient of BIGINTs towards zero; the least one by -1 is itself again."""
    negative = pc.equal(b, -1)
    quotient = pc.divide(a, pc.if_else(pc.or_(pc.equal(b, 0), negative), pa.scalar(None, type), b))
    return pc.if_else(pc.fill_null(negative, False), pc.negate(a), quotient)


def _modulo(type: pa.DataType, a: Value, b: Value) -> Value:
    """The remainder with the sign of the dividend."""
    rows = next((len(v) for v in (a, b) if isinstance(v, pa.Array)), 1)
    x, y = _all_rows(a, rows), _all_rows(b, rows)
    null = pc.or_(pc.or_(pc.is_null(x), pc.is_null(y)), pc.equal(pc.fill_null(y, 0), 0)).to_numpy(zero_copy_only=False)
    divisor = np.where(null, 1, y.fill_null(1).to_numpy()).astype(type.to_pandas_dtype())
    return pa.array(np.fmod(x.fill_null(0).to_numpy(), divisor), type, mask=null)


def _case(type: pa.DataType, *arguments: Value) -> Value:
    result = arguments[-1]
    for condition, value in zip(arguments[-3::-2], arguments[-2::-2], strict=True):
        result = pc.if_else(pc.fill_null(condition, False), value, result)
    return result


def _cast(type: pa.DataType, a: Value) -> Value:
    if pa.types.is_boolean(type):
        return pc.not_equal(a, pa.scalar(0, a.type))
    if pa.types.is_floating(a.type) and pa.types.is_integer(type):
        return _truncated(type, a)
    return pc.cast(a, type, safe=False)


def _truncated(type: pa.DataType, a: Value) -> Value:
    """Java's conversion: towards zero, NaN is 0, what is too great is the greatest INT or BIGINT, then bits are cut."""
    values = _all_rows(a, 1)
    numbers = np.nan_to_num(values.fill_null(0).to_numpy().astype(np.float64), nan=0.0)
    bits = 64 if type == pa.int64() else 32
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    inside = (numbers > low) & (numbers < high)
    whole = np.where(inside, numbers, 0).astype(np.int64)
    whole = np.where(inside, whole, np.where(numbers >= high, high, low))
    result = pa.array(whole.astype(type.to_pandas_dtype()), mask=values.is_null().to_numpy(zero_copy_only=False))
    return result[0] if isinstance(a, pa.Scalar) else result


def _instant(factor: int) -> Callable:
    def kernel(type: pa.DataType, a: Value) -> Value:
        try:
            return pc.cast(pc.multiply_checked(pc.cast(a, pa.int64()), pa.scalar(factor, pa.int64())), type)
        except pa.ArrowInvalid as error:
            raise OperationalError("a number of seconds is beyond what a TIMESTAMP can hold") from error

    return kernel


def _micros(_: pa.DataType, a: Value) -> Value:
    return pc.cast(a, pa.int64())


def _day_micros(_: pa.DataType, a: Value) -> Value:
    return pc.multiply(pc.cast(pc.cast(a, pa.int32()), pa.int64()), pa.scalar(86_400_000_000, pa.int64()))


def _text_test(function: Callable) -> Callable:
    return lambda _, a, pattern: function(a, pattern.as_py())


def _plain(function: Callable) -> Callable:
    return lambda _, *values: function(*values)


_OPERATIONS: dict[str, Callable] = {
    "and": _plain(pc.and_kleene),
    "or": _plain(pc.or_kleene),
    "not": _plain(pc.invert),
    "isnull": _plain(pc.is_null),
    "eq": _equal,
    "ne": _negated(_equal),
    "lt": _less,
    "le": _less_equal,
    "gt": _swapped(_less),
    "ge": _swapped(_less_equal),
    "nseq": _null_safe_equal,
    "eq decimal": _versus_decimal("equal"),
    "ne decimal": _versus_decimal("not_equal"),
    "lt decimal": _versus_decimal("less"),
    "le decimal": _versus_decimal("less_equal"),
    "gt decimal": _versus_decimal("greater"),
    "ge decimal": _versus_decimal("greater_equal"),
    "in": _one_of,
    "add": _plain(pc.add),
    "sub": _plain(pc.subtract),
    "mul": _plain(pc.multiply),
    "neg": _plain(pc.negate),
    "abs": _plain(pc.abs),
    "div": _divide,
    "intdiv": _whole_divide,
    "mod": _modulo,
    "coalesce": _plain(pc.coalesce),
    "case": _case,
    "cast": _cast,
    "timestamp_seconds": _instant(1_000_000),
    "timestamp_millis": _instant(1_000),
    "timestamp_micros": _instant(1),
    "micros": _micros,
    "day_micros": _day_micros,
    "length": _plain(pc.utf8_length),
    "starts_with": _text_test(pc.starts_with),
    "ends_with": _text_test(pc.ends_with),
    "contains": _text_test(pc.match_substring),
    "like": _text_test(pc.match_substring_regex),
}
