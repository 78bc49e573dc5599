"""Where a sqlglot expression stands in the text."""

from sqlglot import exp

from cepsql.errors import Span


def span_of(expression: exp.Expr, default: Span | None = None) -> Span | None:
    """Return the characters that the names, calls and constants in an expression cover, `default` without any."""
    # Reading `meta` gives every node notes of its own, which copies of the tree would copy.
    placed = [node for node in expression.walk() if node.meta_get("start") is not None]
    if not placed:
        return default
    return Span(min(node.meta["start"] for node in placed), max(node.meta["end"] for node in placed) + 1)


def text_of(expression: exp.Expr, sql: str) -> str:
    """Return a clause's expression as it is written in `sql`, or what it means where it has no place there."""
    place = span_of(expression)
    return expression.sql(dialect="spark") if place is None else sql[place.start : place.end]
