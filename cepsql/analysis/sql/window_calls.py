"""Spark's functions of windows of event time, as they stand in GROUP BY."""

from typing import TypeGuard

from sqlglot import exp

WINDOW_CALLS = ("window", "session_window")
"""Their names, by which Spark knows what they give, too: window.start."""


def is_window_call(node: exp.Expr) -> TypeGuard[exp.Anonymous]:
    """Tell whether an expression is a call of one of them."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in WINDOW_CALLS
