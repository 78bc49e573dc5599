"""Where a sqlglot expression stands in the text."""

from sqlglot import exp

from cepsql.errors import Span


def span_of(expression: exp.Expr, default: Span | None = None) -> Span | None:
    """Return the characters that the names, calls and constants in an expression cover, `default` without any."""
    places = [node.meta for node in expression.walk() if "start" in node.meta]
    if not places:
        return default
    return Span(min(place["start"] for place in places), max(place["end"] for place in places) + 1)


def text_of(expression: exp.Expr, sql: str) -> str:
    """Return a clause's expression as it is written in `sql`, or what it means where it has no place there."""
    place = span_of(expression)
    return expression.sql(dialect="spark") if place is None else sql[place.start : place.end]
