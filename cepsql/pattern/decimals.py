"""The precision and scale of decimal results, by Spark's rules."""

from decimal import Decimal

_OF_INTEGERS = {"tinyint": (3, 0), "smallint": (5, 0), "int": (10, 0), "bigint": (20, 0)}
_MOST, _KEPT_SCALE = 38, 6


def decimal_size(type: str | None, literal: object = None) -> tuple[int, int] | None:
    """Return precision and scale of a decimal or integer type, or of a literal number; None if they are not known."""
    if isinstance(literal, Decimal | int):
        _, digits, exponent = Decimal(literal).as_tuple()
        scale = max(0, -exponent)
        return max(len(digits) + max(0, exponent), scale, 1), scale
    if type is not None and type.startswith("decimal("):
        precision, scale = type[8:-1].split(",")
        return int(precision), int(scale)
    return _OF_INTEGERS.get(type)


def decimal_result(operation: str, left: tuple[int, int], right: tuple[int, int]) -> str:
    """Return the type of add, sub, mul, div or mod of two decimals of these precisions and scales."""
    (p, s), (q, t) = left, right
    match operation:
        case "add" | "sub":
            scale = max(s, t)
            precision = max(p - s, q - t) + scale + 1
        case "mul":
            precision, scale = p + q + 1, s + t
        case "div":
            scale = max(_KEPT_SCALE, s + q + 1)
            precision = p - s + t + scale
        case _:
            scale = max(s, t)
            precision = min(p - s, q - t) + scale
    if precision <= _MOST:
        return f"decimal({precision},{scale})"
    # Digits before the point are dearer than those behind it, of which some are kept all the same.
    return f"decimal({_MOST},{max(_MOST - (precision - scale), min(scale, _KEPT_SCALE))})"


def rounded_result(size: tuple[int, int], digits: int) -> str:
    """Return the type of ROUND of a decimal to so many digits behind the point."""
    precision, scale = size
    whole = precision - scale + 1
    if digits < 0:
        return f"decimal({min(max(whole, 1 - digits), _MOST)},0)"
    return f"decimal({min(whole + min(scale, digits), _MOST)},{min(scale, digits)})"
