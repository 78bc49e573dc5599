"""The precision and scale of decimals, by Spark's rules."""

from decimal import Decimal

from cepsql.scalar.types import BIGINT, FLOAT, INT, SMALLINT, TINYINT, Type, decimal, is_decimal

MOST_DIGITS = 38
_KEPT_SCALE = 6
_OF_TYPES = {TINYINT: (3, 0), SMALLINT: (5, 0), INT: (10, 0), BIGINT: (20, 0), FLOAT: (14, 7)}


def decimal_of(type: Type) -> Type | None:
    """Return the DECIMAL that holds a DECIMAL or an integer type, None for other types."""
    if is_decimal(type):
        return type
    size = _OF_TYPES.get(type) if type != FLOAT else None
    return decimal(*size) if size else None


def decimal_of_literal(value: Decimal | int) -> Type:
    """Return the type of a constant as it is written.

    >>> str(decimal_of_literal(Decimal("0.001"))), str(decimal_of_literal(Decimal("12.50")))
    ('decimal(3,3)', 'decimal(4,2)')
    """
    digits, power = Decimal(value).as_tuple().digits, exponent(Decimal(value))
    scale = max(0, -power)
    return decimal(max(len(digits) + max(0, power), scale, 1), scale)


def exponent(value: Decimal) -> int:
    """Return the power of ten of the last digit of a finite number.

    >>> exponent(Decimal("12.50")), exponent(Decimal("3E+2"))
    (-2, 2)
    """
    power = value.as_tuple().exponent
    assert isinstance(power, int)
    return power


def arithmetic_type(operation: str, left: Type, right: Type) -> Type:
    """Return the type of add, sub, mul, div, mod or pmod of two decimals."""
    precision, scale = _exact_size(operation, left, right)
    if precision <= MOST_DIGITS:
        return decimal(precision, scale)
    # Digits before the point are dearer than those behind it, of which some are kept all the same.
    return decimal(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), min(scale, _KEPT_SCALE)))


def unlimited_digits(operation: str, left: Type, right: Type) -> int:
    """Return how many digits the result of an operation as in `arithmetic_type` would have without any limit."""
    return _exact_size(operation, left, right)[0]


def _exact_size(operation: str, left: Type, right: Type) -> tuple[int, int]:
    (p, s), (q, t) = (left.precision, left.scale), (right.precision, right.scale)
    match operation:
        case "add" | "sub":
            scale = max(s, t)
            return max(p - s, q - t) + scale + 1, scale
        case "mul":
            return p + q + 1, s + t
        case "div":
            scale = max(_KEPT_SCALE, s + q + 1)
            return p - s + t + scale, scale
    scale = max(s, t)
    return min(p - s, q - t) + scale, scale


def wider_decimal(left: Type, right: Type) -> Type:
    """Return the type that holds two decimals; past 38 digits those before the point are kept."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    if whole + scale <= MOST_DIGITS:
        return decimal(whole + scale, scale)
    return decimal(MOST_DIGITS, max(MOST_DIGITS - whole, 0))


def rounded_type(type: Type, digits: int) -> Type:
    """Return the type of ROUND of a decimal to so many digits behind the point."""
    whole = type.precision - type.scale + 1
    if digits < 0:
        return decimal(min(max(whole, 1 - digits), MOST_DIGITS), 0)
    return decimal(min(whole + min(type.scale, digits), MOST_DIGITS), min(type.scale, digits))


def extended(type: Type, digits: int, scale: int) -> Type:
    """Return a decimal of so many more digits, and so many more of them behind the point."""
    return decimal(min(type.precision + digits, MOST_DIGITS), min(type.scale + scale, MOST_DIGITS))
