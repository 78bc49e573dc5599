"""Decimals in Arrow columns: compared and multiplied exactly, and beside integers."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from cepsql.scalar.arrow.column_values import Value, arrow_type
from cepsql.scalar.decimals import MOST_DIGITS, decimal_of, decimal_of_literal, unlimited_digits
from cepsql.scalar.expressions import Apply, Constant, Node
from cepsql.scalar.types import INTEGERS, Type, decimal, is_decimal

MOST_EXACT_DIGITS = 76
"""Of what Arrow computes with; a DECIMAL has half of that."""

_DIVIDED_DIGITS = 9
"""By a greater power of ten than this, which takes more than 32 bits, Arrow divides some wide decimals wrongly."""

# Python's own context keeps 28 digits only.
_EXACT = Context(prec=120)
_MIRRORED = {
    "equal": "equal", "not_equal": "not_equal", "less": "greater", "less_equal": "greater_equal",
    "greater": "less", "greater_equal": "less_equal",
}  # fmt: skip


def compare_decimals(node: Apply, comparison: str, a: Value, b: Value) -> Value:
    """Compare integers and decimals exactly."""
    if isinstance(a, pa.Array) and isinstance(b, pa.Scalar) and b.is_valid:
        return _versus_constant(comparison, a, Decimal(b.as_py()))
    if isinstance(b, pa.Array) and isinstance(a, pa.Scalar) and a.is_valid:
        return _versus_constant(_MIRRORED[comparison], b, Decimal(a.as_py()))
    common = compared_decimal(node)
    assert common is not None
    wide = arrow_type(common)
    left, right = (pc.cast(as_decimal(side, value), wide) for side, value in zip(node.arguments, (a, b), strict=True))
    return getattr(pc, comparison)(left, right)


def compared_decimal(node: Apply) -> Type | None:
    """Return a decimal that holds both sides of a comparison, None if there is none."""
    sizes = [size for size in map(decimal_size, node.arguments) if size is not None]
    whole = max((size.precision - size.scale for size in sizes), default=0)
    scale = max((size.scale for size in sizes), default=0)
    return decimal(whole + scale, scale) if len(sizes) == len(node.arguments) and whole + scale <= 38 else None


def decimal_size(node: Node) -> Type | None:
    """Return the decimal that holds the values of whole numbers and decimals, None for others."""
    if isinstance(node, Constant) and node.type in INTEGERS and node.value is not None:
        return decimal_of_literal(node.value)
    return decimal_of(node.type)


def as_decimal(node: Node, value: Value) -> Value:
    """Return whole numbers as the decimals that they count as; decimals stay what they are."""
    if is_decimal(node.type):
        return value
    size = decimal_size(node)
    assert size is not None
    if isinstance(value, pa.Scalar):
        return pa.scalar(None if value.as_py() is None else Decimal(value.as_py()), arrow_type(size))
    return pc.cast(value, arrow_type(size))


def is_rounded(node: Apply) -> bool:
    """Tell whether the exact result of an operation on decimals may have more digits than a DECIMAL."""
    left, right = map(decimal_size, node.arguments)
    return left is not None and right is not None and unlimited_digits(node.operation, left, right) > MOST_DIGITS


def rounded_product(node: Apply, a: Value, b: Value) -> Value:
    """Multiply where the exact product may have too many digits: it is rounded half up, and NULL if too many stand
    before the point."""
    sizes = (decimal_size(argument) for argument in node.arguments)
    wide = (pa.decimal256(size.precision, size.scale) for size in sizes if size is not None)
    sides = [as_decimal(argument, value) for argument, value in zip(node.arguments, (a, b), strict=True)]
    short = _short_product(node.type, *sides)
    if short is not None:
        return short
    product = pc.multiply(*(pc.cast(side, kind) for side, kind in zip(sides, wide, strict=True)))
    # What stands behind the first digit that goes decides nothing.
    while product.type.scale - node.type.scale > _DIVIDED_DIGITS:
        size = product.type.precision - _DIVIDED_DIGITS, product.type.scale - _DIVIDED_DIGITS
        product = pc.cast(product, pa.decimal256(*size), safe=False)
    rounded = pc.round(product, node.type.scale, "half_towards_infinity")
    whole = node.type.precision - node.type.scale
    if rounded.type.precision - rounded.type.scale > whole:
        fits = pc.less(pc.abs(rounded), pa.scalar(_EXACT.scaleb(Decimal(1), whole), rounded.type))
        rounded = pc.if_else(fits, rounded, pa.scalar(None, rounded.type))
    return pc.cast(rounded, arrow_type(node.type))


def _short_product(type: Type, a: Value, b: Value) -> pa.Array | None:
    """Return a product of columns whose values have so few digits that nothing is rounded, None for others: with half
    the width Arrow takes a fraction of the time."""
    if not (isinstance(a, pa.Array) and isinstance(b, pa.Array)) or a.type.scale + b.type.scale != type.scale:
        return None
    digits = _most_digits(a), _most_digits(b)
    if sum(digits) >= type.precision:
        return None
    return pc.cast(pc.multiply(*(_with_digits(*one) for one in zip((a, b), digits, strict=True))), arrow_type(type))


def _most_digits(column: pa.Array) -> int:
    """Return how many digits the values of a column of decimals have at most."""
    bounds = [value for value in pc.min_max(column).as_py().values() if value is not None]
    return max((len(str(abs(int(_EXACT.scaleb(value, column.type.scale))))) for value in bounds), default=1)


def _with_digits(column: pa.Array, digits: int) -> pa.Array:
    kind = pa.decimal128(digits, column.type.scale)
    return pa.Array.from_buffers(kind, len(column), column.buffers(), column.null_count, column.offset)


def _versus_constant(comparison: str, a: pa.Array, constant: Decimal) -> Value:
    """Compare with a constant in the units of the column, so that only few values are converted."""
    scale = a.type.scale if pa.types.is_decimal(a.type) else 0
    bound = _EXACT.scaleb(constant, scale)
    if comparison in ("less", "greater_equal"):
        whole = int(bound.to_integral_value(ROUND_CEILING))
    else:
        whole = int(bound.to_integral_value(ROUND_FLOOR))
    if comparison in ("equal", "not_equal") and whole != bound:
        whole = 2**200
    wide = pa.decimal128(38, scale) if pa.types.is_decimal(a.type) else pa.int64()
    if abs(whole) < (10**38 if pa.types.is_decimal(wide) else 2**63):
        limit = _EXACT.scaleb(Decimal(whole), -scale) if pa.types.is_decimal(wide) else whole
        return getattr(pc, comparison)(pc.cast(a, wide), pa.scalar(limit, wide))
    outcome = {"equal": False, "not_equal": True}.get(comparison, (whole > 0) == comparison.startswith("less"))
    return pc.if_else(pc.is_valid(a), outcome, None)
