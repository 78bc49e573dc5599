"""Whether the condition of a join keeps the event times of its two sides within a constant distance."""

from collections.abc import Iterable, Mapping

from sqlglot import exp

from cepsql.analysis.intervals import interval_micros
from cepsql.errors import ProgrammingError

_TURNED: dict[type[exp.Expr], type[exp.Binary]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}
_UPPER, _EQUAL = (exp.LT, exp.LTE), (exp.EQ, exp.NullSafeEQ)


def missing_bounds(conditions: Iterable[exp.Expr], times: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pairs (earlier, later) of sides for which nothing says how much later the second may be.

    conditions: what must all hold, with the table of every column.
    times:      the two sides' aliases with their event-time columns, lower case.
    Known are comparisons of the event times, each more or less a constant interval.
    """
    sides = list(times)
    missing = [(sides[0], sides[1]), (sides[1], sides[0])]
    for condition in conditions:
        for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
            for pair in _bounded(part.unnest(), times):
                if pair in missing:
                    missing.remove(pair)
    return missing


def equates_sides(conditions: Iterable[exp.Expr], sides: Iterable[str]) -> bool:
    """Tell whether the conditions say that a value of one side equals one of the other."""
    sides = set(sides)
    for condition in conditions:
        for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
            part = part.unnest()
            if isinstance(part, _EQUAL):
                left, right = ({c.table.lower() for c in side.find_all(exp.Column)} & sides for side in _sides(part))
                if len(left) == len(right) == 1 and left != right:
                    return True
    return False


def _bounded(part: exp.Expr, times: Mapping[str, str]) -> list[tuple[str, str]]:
    if isinstance(part, exp.And):
        return [pair for inner in part.flatten() for pair in _bounded(inner.unnest(), times)]
    if isinstance(part, exp.Between):
        low, high = exp.GTE(this=part.this, expression=part.args["low"]), part.args["high"]
        return _bounded(low, times) + _bounded(exp.LTE(this=part.this, expression=high), times)
    if isinstance(part, tuple(_TURNED)):
        part = _TURNED[type(part)](this=part.expression, expression=part.this)
    if not isinstance(part, _UPPER + _EQUAL):
        return []
    smaller, greater = (_side(side, times) for side in _sides(part))
    if smaller is None or greater is None or smaller == greater:
        return []
    # smaller <= greater + interval: the first is at most so much later than the second.
    pairs = [(greater, smaller)]
    return [*pairs, (smaller, greater)] if isinstance(part, _EQUAL) else pairs


def _sides(part: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    return part.this, part.expression


def _side(expression: exp.Expr, times: Mapping[str, str]) -> str | None:
    """Return the side whose event time, more or less a constant interval, the expression is."""
    expression = expression.unnest()
    if isinstance(expression, exp.Add | exp.Sub):
        try:
            interval_micros(expression.expression)
        except ProgrammingError:
            return None
        return _side(expression.this, times)
    if isinstance(expression, exp.Column) and times.get(expression.table.lower()) == expression.name.lower():
        return expression.table.lower()
    return None
