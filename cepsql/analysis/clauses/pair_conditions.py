"""Conditions on pairs of rows, lowered to operations that an operator computes on values of both rows."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.sql.constant_intervals import interval_micros, interval_months, interval_type
from cepsql.analysis.sql.fleeting import random_call
from cepsql.analysis.sql.function_calls import spoken_function
from cepsql.analysis.sql.guards import may_fail
from cepsql.analysis.sql.plain_sql import spoken_type, sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import Error, NotSupportedError, Span, answer
from cepsql.scalar.expressions import Call, Expression, Leaf, Literal, Session
from cepsql.scalar.from_sql import literal, operation_form, plainer
from cepsql.scalar.registry import REGISTRY
from cepsql.scalar.types import UNKNOWN
from cepsql.scalar.typing import typed

Take = Callable[[str, exp.Expr], Leaf]
"""Returns what stands for an expression over one side, which Spark computes for each of its rows; it is told the
side's name."""


def lower_pair_condition(condition: exp.Expr, take: Take, place: Span | None) -> Expression:
    """Return a condition on pairs as an expression whose leaves are what `take` gives.

    condition: with the side's name as the table of every column.
    Raises NotSupportedError for what cannot be computed on values of both sides.
    """
    refused = random_call(condition) or condition.find(exp.Query, exp.Subquery)
    if refused is not None:
        construct = spoken_function(refused) if isinstance(refused, exp.Func) else "a subquery"
        raise NotSupportedError(f"{construct} in the condition of an outer join of streams is not supported", place)
    return _lowered(condition, take, place)


def check_pair_condition(condition: exp.Expr, place: Span | None) -> None:
    """Raise NotSupportedError for a condition that cannot be computed, as far as that is known without types."""
    lowered = lower_pair_condition(condition, lambda side, expression: (side, sql_of(expression)), place)
    lenient = answer(lambda: typed(lowered, lambda _: UNKNOWN, Session(ansi=False)))
    if isinstance(lenient, Error):
        typed(lowered, lambda _: UNKNOWN, Session(ansi=True))


def _lowered(node: exp.Expr, take: Take, place: Span | None) -> Expression:
    node = node.unnest()
    sides = {column.table for column in node.find_all(exp.Column)}
    alone = isinstance(node, exp.Column) or _adds_months(node) or not may_fail(node, spoken_type)
    if len(sides) == 1 and alone:
        return take(sides.pop(), node)
    constant = literal(node)
    if constant is not None:
        return constant
    here = span_of(node, place)
    if isinstance(node, exp.Interval):
        return Literal(interval_micros(node, here), interval_type(node))
    if isinstance(node, exp.Cast | exp.TryCast):
        operation = "try_cast" if node.args.get("safe") and isinstance(node, exp.TryCast) else "cast"
        return Call(operation, (_lowered(node.this, take, place),), sql_of(node.to).lower(), here)
    plain = plainer(node)
    if plain is not None:
        return _lowered(plain, take, place)
    form = operation_form(node)
    if form is not None and form[0] in REGISTRY:
        return Call(form[0], tuple(_lowered(part, take, place) for part in form[1]), place=here)
    if len(sides) == 1:
        return take(sides.pop(), node)
    raise NotSupportedError(
        f"{spoken_function(node)} of values of both sides in the condition of an outer join of streams is not "
        "supported",
        here,
        "any function of one side can be used, and many of both; those of conditions in DEFINE",
    )


def _adds_months(node: exp.Expr) -> bool:
    """Tell whether a time is moved by months, for which only Spark knows the calendar."""
    moved = isinstance(node, exp.Add | exp.Sub)
    return moved and any(interval_months(part.unnest()) is not None for part in (node.this, node.expression))
