"""Parts of which aggregates are put together."""

from sqlglot import exp


def where(condition: exp.Expr | None, value: exp.Expr) -> exp.Expr:
    """Return a value where a condition holds, NULL elsewhere."""
    return value if condition is None else exp.case().when(condition.copy(), value.copy())


def filtered(call: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    return call if condition is None else exp.Filter(this=call, expression=exp.Where(this=condition.copy()))
