"""Scalar operations over Arrow columns, with Spark's rules for NULL, NaN, overflow and division by zero."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.errors import OperationalError
from cepsql.scalar.arrow.arrow_casts import always_castable, cast_column, castable
from cepsql.scalar.arrow.arrow_decimals import (
    MOST_EXACT_DIGITS,
    as_decimal,
    compare_decimals,
    compared_decimal,
    decimal_size,
    is_rounded,
    rounded_product,
)
from cepsql.scalar.arrow.arrow_texts import (
    changed_case,
    extracted,
    is_slice,
    is_split,
    joined,
    matched,
    of_regex,
    of_texts,
    replaced,
    replaced_matches,
    sliced,
    split,
    then_constants,
    trimmed,
)
from cepsql.scalar.arrow.arrow_times import days_between, is_interval, is_of_times, of_times
from cepsql.scalar.arrow.column_values import Value, all_rows, arrow_type, one_for_all
from cepsql.scalar.decimals import MOST_DIGITS, unlimited_digits
from cepsql.scalar.expressions import Apply, Constant, Node, Session
from cepsql.scalar.functions import PARTS_OF_DAYS, PARTS_OF_TIMES
from cepsql.scalar.time_patterns import smallest, writer
from cepsql.scalar.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATETIMES,
    DOUBLE,
    FRACTIONS,
    INTEGERS,
    STRING,
    TIMESTAMP,
    Type,
    is_decimal,
)

_NUMBERS = (*INTEGERS, *FRACTIONS)
_PLAIN = (BOOLEAN, *_NUMBERS, STRING, *DATETIMES)
_NEGATED_EXACTLY = 34


@dataclass(frozen=True)
class Kernel:
    """An operation over columns.

    compute: (operation, session, values of its arguments) -> its values.
    takes:   tells whether the results are exactly Spark's on arguments of these types.
    """

    compute: Callable[..., Value]
    takes: Callable[[Apply], bool]


def _types(node: Apply) -> list[Type]:
    return [argument.type for argument in node.arguments]


def _any(node: Apply) -> bool:
    return True


def _of_numbers(node: Apply) -> bool:
    return node.type in _NUMBERS and all(type == node.type for type in _types(node))


def _with_constant(node: Apply) -> bool:
    """Tell whether the second of two texts is the same for all rows."""
    pattern = node.arguments[-1]
    return len(node.arguments) == 2 and of_texts(node) and isinstance(pattern, Constant) and pattern.value is not None


def _like_constant(node: Apply) -> bool:
    return _with_constant(node) and "\\" not in str(_constant(node.arguments[1]))


def _constant(node: Node) -> Any:
    assert isinstance(node, Constant)
    return node.value


def _comparable(node: Apply) -> bool:
    kinds = _types(node)
    if any(map(is_decimal, kinds)):
        return compared_decimal(node) is not None
    if all(map(is_interval, kinds)):
        return True
    return all(kind == kinds[0] for kind in kinds) and kinds[0] in (*_PLAIN, BINARY)


def _one_of_comparable(node: Apply) -> bool:
    return all(type == node.arguments[0].type for type in _types(node)) and _comparable(node)


def _choice(node: Apply) -> bool:
    return node.type in _PLAIN or is_decimal(node.type) or is_interval(node.type)


def _comparison(compare: Callable, versus: str) -> Callable:
    """Return a comparison: `compare` for most types, by the name `versus` for decimals."""

    def kernel(node: Apply, session: Session, a: Value, b: Value) -> Value:
        if pa.types.is_decimal(a.type) or pa.types.is_decimal(b.type):
            return compare_decimals(node, versus, a, b)
        return compare(a, b)

    return kernel


def _equal(a: Value, b: Value) -> Value:
    result = pc.equal(a, b)
    return pc.or_(result, pc.and_(pc.is_nan(a), pc.is_nan(b))) if _may_be_nan(a) and _may_be_nan(b) else result


def _less(a: Value, b: Value) -> Value:
    """NaN is greater than every other number."""
    result = pc.less(a, b)
    return pc.or_(result, pc.and_not(pc.is_nan(b), pc.is_nan(a))) if _may_be_nan(b) else result


def _less_equal(a: Value, b: Value) -> Value:
    result = pc.less_equal(a, b)
    return pc.or_(result, pc.is_nan(b)) if _may_be_nan(b) else result


def _may_be_nan(value: Value) -> bool:
    if not pa.types.is_floating(value.type):
        return False
    return not (isinstance(value, pa.Scalar) and value.is_valid and value.as_py() == value.as_py())


def _null_safe_equal(node: Apply, session: Session, a: Value, b: Value) -> Value:
    both_null = pc.and_(pc.is_null(a), pc.is_null(b))
    return pc.or_(pc.fill_null(_EQUAL(node, session, a, b), False), both_null)


_EQUAL = _comparison(_equal, "equal")


def _one_of(node: Apply, session: Session, a: Value, *members: Value) -> Value:
    if node.arguments[0].type in FRACTIONS or not all(isinstance(member, Constant) for member in node.arguments[1:]):
        pairs = (Apply("eq", (node.arguments[0], member), BOOLEAN) for member in node.arguments[1:])
        verdicts = [_EQUAL(pair, session, a, member) for pair, member in zip(pairs, members, strict=True)]
        result = verdicts[0]
        for verdict in verdicts[1:]:
            result = pc.or_kleene(result, verdict)
        return result
    constants = [_constant(member) for member in node.arguments[1:]]
    value_set = pa.array([value for value in constants if value is not None], a.type)
    is_member = pc.is_in(a, value_set=value_set)
    if len(value_set) < len(constants):
        is_member = pc.if_else(is_member, True, pa.scalar(None, pa.bool_()))
    return pc.if_else(pc.is_valid(a), is_member, pa.scalar(None, pa.bool_()))


def _folded(function: Callable) -> Callable:
    """Apply a function of two values to any number of them."""

    def kernel(node: Apply, session: Session, *values: Value) -> Value:
        result = values[0]
        for value in values[1:]:
            result = function(result, value)
        return result

    return kernel


def _arithmetic_takes(node: Apply) -> bool:
    if is_decimal(node.type):
        left, right = map(decimal_size, node.arguments)
        if left is None or right is None:
            return False
        # Below the limit of digits nothing is rounded, and nothing overflows.
        most = MOST_EXACT_DIGITS if node.operation == "mul" else MOST_DIGITS
        return unlimited_digits(node.operation, left, right) <= most
    return _of_numbers(node) or (node.operation != "mul" and is_of_times(node))


def _arithmetic(function: Callable, checked: Callable) -> Callable:
    of_intervals = of_times(checked)

    def kernel(node: Apply, session: Session, a: Value, b: Value) -> Value:
        if not _of_numbers(node) and not is_decimal(node.type):
            return of_intervals(node, session, a, b)
        if not is_decimal(node.type):
            return function(a, b)
        if is_rounded(node):
            return rounded_product(node, a, b)
        sides = zip(node.arguments, (a, b), strict=True)
        return pc.cast(function(*(as_decimal(argument, value) for argument, value in sides)), arrow_type(node.type))

    return kernel


def _negatable(node: Apply) -> bool:
    # Spark rounds the negation of a longer decimal.
    return node.type.precision <= _NEGATED_EXACTLY if is_decimal(node.type) else _of_numbers(node)


def _divide(node: Apply, session: Session, a: Value, b: Value) -> Value:
    return pc.divide(a, pc.if_else(pc.equal(b, 0.0), pa.scalar(None, pa.float64()), b))


def _whole_divide(node: Apply, session: Session, a: Value, b: Value) -> Value:
    """Divide BIGINTs towards zero; the least BIGINT divided by -1 wraps around to itself."""
    negative = pc.equal(b, -1)
    none = pa.scalar(None, pa.int64())
    quotient = pc.divide(a, pc.if_else(pc.or_(pc.equal(b, 0), negative), none, b))
    return pc.if_else(pc.fill_null(negative, False), pc.negate(a), quotient)


def _modulo(node: Apply, session: Session, a: Value, b: Value) -> Value:
    """Return the remainder, with the sign of the dividend."""
    rows = next((len(v) for v in (a, b) if isinstance(v, pa.Array)), 1)
    x, y = all_rows(a, rows), all_rows(b, rows)
    null = pc.or_(pc.or_(pc.is_null(x), pc.is_null(y)), pc.equal(pc.fill_null(y, 0), 0)).to_numpy(zero_copy_only=False)
    kind = arrow_type(node.type)
    divisor = np.where(null, 1, y.fill_null(1).to_numpy()).astype(kind.to_pandas_dtype())
    result = pa.array(np.fmod(x.fill_null(0).to_numpy(), divisor), kind, mask=null)
    return one_for_all(result, a, b)


def _whole(toward: Callable[[np.ndarray], np.ndarray]) -> Kernel:
    """Return the kernel of FLOOR or CEIL of DOUBLE: NaN becomes 0, and the result saturates as a BIGINT."""

    def kernel(node: Apply, session: Session, a: Value) -> Value:
        column = all_rows(a, 1)
        numbers = toward(np.nan_to_num(column.fill_null(0).to_numpy(zero_copy_only=False), nan=0.0))
        inside = np.abs(numbers) < 2.0**63
        ends = np.where(numbers > 0, np.int64(2**63 - 1), np.int64(-(2**63)))
        whole = np.where(inside, np.where(inside, numbers, 0).astype(np.int64), ends)
        return one_for_all(pa.array(whole, mask=np.asarray(column.is_null())), a)

    return Kernel(kernel, lambda node: len(node.arguments) == 1 and node.arguments[0].type == DOUBLE)


def _case(node: Apply, session: Session, *arguments: Value) -> Value:
    result = arguments[-1]
    for condition, value in zip(arguments[-3::-2], arguments[-2::-2], strict=True):
        result = pc.if_else(pc.fill_null(condition, False), value, result)
    return result


def _extreme(greater: bool) -> Callable:
    def better(a: Value, b: Value) -> Value:
        """Return the greater or smaller one; NULL loses to a value."""
        beyond = _less(a, b) if greater else _less(b, a)
        return pc.if_else(pc.or_(pc.is_null(a), pc.fill_null(beyond, False)), pc.if_else(pc.is_null(b), a, b), a)

    return _folded(better)


def _instant(factor: int) -> Callable:
    def kernel(node: Apply, session: Session, a: Value) -> Value:
        try:
            return pc.cast(pc.multiply_checked(a, pa.scalar(factor, pa.int64())), arrow_type(TIMESTAMP))
        except pa.ArrowInvalid as error:
            raise OperationalError("a number of seconds is beyond what a TIMESTAMP can hold") from error

    return kernel


def _text_test(function: Callable) -> Callable:
    return lambda node, session, text, pattern: function(text, pattern.as_py())


def _like(node: Apply, session: Session, text: Value, pattern: Value) -> Value:
    parts = [{"%": ".*", "_": "."}.get(part) or re.escape(part) for part in re.split("([%_])", pattern.as_py())]
    return pc.match_substring_regex(text, f"(?s)\\A{''.join(parts)}\\z")


def _part(function: Callable[[np.ndarray], np.ndarray]) -> Kernel:
    """Return the kernel of a part of a date or of a local time, such as its year."""

    def kernel(node: Apply, session: Session, a: Value) -> Value:
        column = all_rows(a, 1)
        null = np.asarray(column.is_null())
        numbers = column.view(pa.int32() if pa.types.is_date32(column.type) else pa.int64()).fill_null(0)
        parts = pa.array(function(numbers.to_numpy().astype(np.int64)).astype(np.int32), mask=null)
        return one_for_all(parts.view(arrow_type(node.type)), a)

    return Kernel(kernel, _any)


def _date_format(node: Apply, session: Session, a: Value, pattern: Value) -> Value:
    column, text = all_rows(a, 1), pattern.as_py()
    size = smallest(text)
    units = pa.array(column.view(pa.int64()).fill_null(0).to_numpy() // size, mask=np.asarray(column.is_null()))
    encoded, write = units.dictionary_encode(), writer(text)
    texts = pa.array([write(unit * size) for unit in encoded.dictionary.to_pylist()], pa.string())
    return one_for_all(texts.take(encoded.indices), a)


def _plain(function: Callable) -> Callable:
    return lambda node, session, *values: function(*values)


def _number_of(type: pa.DataType) -> Kernel:
    return Kernel(lambda node, session, a: pc.cast(a, type), _any)


ARROW_KERNELS: dict[str, Kernel] = {
    "and": Kernel(_folded(pc.and_kleene), _any),
    "or": Kernel(_folded(pc.or_kleene), _any),
    "not": Kernel(_plain(pc.invert), _any),
    "isnull": Kernel(_plain(pc.is_null), _any),
    "eq": Kernel(_EQUAL, _comparable),
    "ne": Kernel(_comparison(lambda a, b: pc.invert(_equal(a, b)), "not_equal"), _comparable),
    "lt": Kernel(_comparison(_less, "less"), _comparable),
    "le": Kernel(_comparison(_less_equal, "less_equal"), _comparable),
    "gt": Kernel(_comparison(lambda a, b: _less(b, a), "greater"), _comparable),
    "ge": Kernel(_comparison(lambda a, b: _less_equal(b, a), "greater_equal"), _comparable),
    "nseq": Kernel(_null_safe_equal, _comparable),
    "in": Kernel(_one_of, _one_of_comparable),
    "add": Kernel(_arithmetic(pc.add, pc.add_checked), _arithmetic_takes),
    "sub": Kernel(_arithmetic(pc.subtract, pc.subtract_checked), _arithmetic_takes),
    "mul": Kernel(_arithmetic(pc.multiply, pc.multiply_checked), _arithmetic_takes),
    "between days": Kernel(days_between, _any),
    "neg": Kernel(_plain(pc.negate), _negatable),
    "abs": Kernel(_plain(pc.abs), _negatable),
    "div": Kernel(_divide, lambda node: node.type == DOUBLE and _of_numbers(node)),
    "intdiv": Kernel(_whole_divide, lambda node: all(type == BIGINT for type in _types(node))),
    "mod": Kernel(_modulo, _of_numbers),
    "floor": _whole(np.floor),
    "ceil": _whole(np.ceil),
    "coalesce": Kernel(_plain(pc.coalesce), _choice),
    "case": Kernel(_case, _choice),
    "greatest": Kernel(_extreme(True), _choice),
    "least": Kernel(_extreme(False), _choice),
    "cast": Kernel(cast_column, castable),
    "try_cast": Kernel(cast_column, always_castable),
    "timestamp_seconds": Kernel(_instant(1_000_000), _any),
    "timestamp_millis": Kernel(_instant(1_000), _any),
    "timestamp_micros": Kernel(_instant(1), _any),
    "unix_micros": _number_of(pa.int64()),
    "unix_date": _number_of(pa.int32()),
    "date_from_unix_date": _number_of(pa.date32()),
    **{name: _part(function) for name, function in (PARTS_OF_DAYS | PARTS_OF_TIMES).items()},
    "date_format": Kernel(_date_format, _any),
    "length": Kernel(_plain(pc.utf8_length), of_texts),
    **dict.fromkeys(("upper", "lower"), Kernel(changed_case, of_texts)),
    "concat": Kernel(joined, of_texts),
    **dict.fromkeys(("substring", "left"), Kernel(sliced, is_slice)),
    "replace": Kernel(replaced, then_constants),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), Kernel(trimmed, then_constants)),
    "split_part": Kernel(split, is_split),
    "startswith": Kernel(_text_test(pc.starts_with), _with_constant),
    "endswith": Kernel(_text_test(pc.ends_with), _with_constant),
    "contains": Kernel(_text_test(pc.match_substring), _with_constant),
    "like": Kernel(_like, _like_constant),
    "rlike": Kernel(matched, of_regex),
    "regexp_extract": Kernel(extracted, of_regex),
    "regexp_replace": Kernel(replaced_matches, of_regex),
}
"""By the operation's name."""


def kernel_of(node: Apply) -> Kernel | None:
    """Return the kernel that computes an operation exactly as Spark does, None without one."""
    kernel = ARROW_KERNELS.get(node.operation)
    return kernel if kernel is not None and kernel.takes(node) else None
