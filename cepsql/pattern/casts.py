"""CAST between the types of conditions, with the results that Spark gives without ANSI mode."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial

from cepsql.pattern.values import LIMITS, to_decimal, to_float, to_integer, wrap

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_SPACE = "".join(map(chr, range(33))) + "\x7f"
_WHOLE = re.compile(r"([+-]?)(\d*)(\.\d*)?")
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?")
_SPECIAL = re.compile(r"([+-]?)(nan|inf|infinity)", re.IGNORECASE)
_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_SECOND = 1_000_000


def cast_function(given: str, target: str) -> Callable[[object], object] | None:
    """Return the function that casts a value that is not NULL; None where there is none, the value itself included.

    given, target: Spark SQL types, lower case. What cannot be cast gives None.
    """
    if given == "string":
        return _from_string(target)
    if target == "string":
        return _TO_STRING.get(given.split("(")[0])
    if given == "timestamp" and target in ("bigint", "double"):
        return (lambda micros: micros // _SECOND) if target == "bigint" else (lambda micros: micros / _SECOND)
    if given in _INTEGERS and target == "timestamp":
        return lambda seconds: seconds * _SECOND
    if not (given in ("boolean", "float", "double", *_INTEGERS) or given.startswith("decimal")):
        return None
    return _from_number(target)


def _from_number(target: str) -> Callable[[object], object] | None:
    if target == "boolean":
        return lambda value: value != 0
    if target in ("double", "float"):
        return float if target == "double" else to_float
    if target in _INTEGERS:
        return partial(_integer, target)
    return partial(_decimal, target) if target.startswith("decimal") else None


def _integer(target: str, value: Decimal | float) -> int:
    if isinstance(value, float):
        # A float goes to INT or BIGINT first, whose ends it stops at.
        limit = LIMITS["bigint" if target == "bigint" else "int"]
        whole = 0 if value != value else limit - 1 if value >= limit else max(-limit, to_integer(max(value, -limit)))
        return wrap(whole, LIMITS[target])
    return wrap(to_integer(value), LIMITS[target])


def _decimal(target: str, value: object) -> Decimal | None:
    inside = target.removeprefix("decimal").strip("()").split(",")
    precision, scale = (int(inside[0]), int(inside[1])) if len(inside) == 2 else (10, 0)
    return to_decimal(value, precision, scale)


def _from_string(target: str) -> Callable[[str], object] | None:
    if target in _INTEGERS:
        return partial(_parse_integer, LIMITS[target])
    if target in ("double", "float"):
        return _parse_real if target == "double" else lambda text: _single(_parse_real(text))
    if target == "boolean":
        return lambda text: _BOOLEANS.get(text.strip(_SPACE).lower())
    return partial(_parse_decimal, target) if target.startswith("decimal") else None


def _single(value: float | None) -> float | None:
    return None if value is None else to_float(value)


def _parse_integer(limit: int, text: str) -> int | None:
    found = _WHOLE.fullmatch(text.strip(_SPACE))
    if found is None or not (found[2] or found[3]):
        return None
    value = int(f"{found[1]}{found[2] or '0'}")
    return value if -limit <= value < limit else None


def _parse_real(text: str) -> float | None:
    text = text.strip(_SPACE)
    special = _SPECIAL.fullmatch(text)
    if special is not None:
        return float(text)
    return float(text.rstrip("dDfF")) if _REAL.fullmatch(text) else None


def _parse_decimal(target: str, text: str) -> Decimal | None:
    text = text.strip(_SPACE)
    if not _REAL.fullmatch(text) or text[-1] in "dDfF":
        return None
    try:
        return _decimal(target, Decimal(text))
    except InvalidOperation:
        return None


def _day_text(days: int) -> str | None:
    try:
        return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


_TO_STRING: dict[str, Callable[[object], str | None]] = {
    **dict.fromkeys(_INTEGERS, str),
    "boolean": lambda value: "true" if value else "false",
    "decimal": lambda value: f"{value:f}",
    "date": _day_text,
}
