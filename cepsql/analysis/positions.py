"""Where a sqlglot expression stands in the text."""

from sqlglot import exp

from cepsql.errors import Span


def span_of(expression: exp.Expr, default: Span | None = None) -> Span | None:
    """Return the characters that the names, calls and constants in an expression cover, `default` without any."""
    places = [node.meta for node in expression.walk() if "start" in node.meta]
    if not places:
        return default
    return Span(min(place["start"] for place in places), max(place["end"] for place in places) + 1)
