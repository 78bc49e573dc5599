"""Calls of CURRENT_WATERMARK, which asks for the watermark at which a row came."""

from sqlglot import exp

NAME = "CURRENT_WATERMARK"


def is_watermark_call(call: exp.Expr) -> bool:
    """Tell whether an expression is CURRENT_WATERMARK(...)."""
    return isinstance(call, exp.Anonymous) and call.name.upper() == NAME


def asks_watermarks(expression: exp.Expr) -> bool:
    """Tell whether CURRENT_WATERMARK(...) stands in an expression."""
    return any(map(is_watermark_call, expression.find_all(exp.Anonymous)))
