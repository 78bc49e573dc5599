"""Functions that give another value each time, or at another time."""

from sqlglot import exp

_RANDOM = (exp.Rand, exp.Randn, exp.Randstr, exp.Shuffle, exp.Uniform, exp.Uuid)
_RANDOM_CALLS = ("RANDOM", "MONOTONICALLY_INCREASING_ID", "SPARK_PARTITION_ID", "INPUT_FILE_NAME")
_CLOCKS = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp)
_CLOCK_CALLS = ("NOW", "CURDATE")


def random_call(expression: exp.Expr) -> exp.Expr | None:
    """Return a call that may give another value for the same row; None if there is none."""
    return next((node for node in expression.walk() if _is(node, _RANDOM, _RANDOM_CALLS)), None)


def is_fleeting(node: exp.Expr) -> bool:
    """Tell whether an expression is itself a call that gives another value each time, the clock included."""
    return _is(node, _RANDOM + _CLOCKS, _RANDOM_CALLS + _CLOCK_CALLS)


def _is(node: exp.Expr, kinds: tuple[type[exp.Expr], ...], names: tuple[str, ...]) -> bool:
    return isinstance(node, kinds) or (isinstance(node, exp.Anonymous) and node.name.upper() in names)
